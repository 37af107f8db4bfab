"""The effect of a change on a sink, with its reason and its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from airflow_provider_ckpt.documents.as_document import Documented

Effect = Literal["exact", "duplicated", "skipped", "unknown", "stops"]


#: What a change can do to a sink, from the best to the worst: nothing wrong; rows that come twice; rows that are lost;
#: nobody knows which; the query itself stops, because the sink skips a batch whose state Spark then does not write.
EFFECTS: tuple[Effect, ...] = ("exact", "duplicated", "skipped", "unknown", "stops")


@dataclass(frozen=True, slots=True)
class SinkEffect(Documented):
    """Effect on the rows in the sink when the plan was applied and the query continues."""

    sink: Annotated[str, "type and location of the sink"]
    effect: Annotated[Effect, "`exact`, `duplicated`, `skipped`, `unknown` or `stops`"]
    reason: Annotated[str, "why"]
    remedy: Annotated[str, "what makes the effect exact; may be empty"] = ""
