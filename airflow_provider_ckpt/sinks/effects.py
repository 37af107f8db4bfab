"""The effect of a change on a sink, with its reason and its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.changes import SinkEffectFields

Effect = Literal["exact", "duplicated", "skipped", "unknown", "stops"]


#: What a change can do to a sink, from the best to the worst: nothing wrong; rows that come twice; rows that are lost;
#: nobody knows which; the query itself stops, because the sink skips a batch whose state Spark then does not write.
EFFECTS: tuple[Effect, ...] = ("exact", "duplicated", "skipped", "unknown", "stops")


@dataclass(frozen=True, slots=True)
class SinkEffect:
    """Effect on the rows in the sink when the plan was applied and the query continues.

    Args:
        sink: Kind and location.
        effect: ``exact``, ``skipped`` (re-run batches are dropped: data loss), ``duplicated``, ``unknown`` or
            ``stops`` (re-run batches are dropped and leave no state, so the query cannot go on after them).
        reason: Why.
        remedy: What makes the effect exact; may be empty.
    """

    sink: str
    effect: Effect
    reason: str
    remedy: str = ""

    def to_dict(self) -> SinkEffectFields:
        """JSON-ready."""
        return {"sink": self.sink, "effect": self.effect, "reason": self.reason, "remedy": self.remedy}
