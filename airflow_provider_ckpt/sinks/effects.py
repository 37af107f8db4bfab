"""The effect of a change on a sink, with its reason and its remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from airflow_provider_ckpt.documents.as_document import Documented

Effect = Literal["exact", "duplicated", "skipped", "unknown", "stops"]


#: What a change can do to a sink, from the best to the worst: nothing wrong; rows that come twice; rows that are lost;
#: nobody knows which; the query itself stops, because the sink skips a batch whose state Spark then does not write.
EFFECTS: tuple[Effect, ...] = ("exact", "duplicated", "skipped", "unknown", "stops")


#: What somebody accepts with an effect.
COSTS: Mapping[Effect, str] = {
    "duplicated": "rows come twice",
    "skipped": "rows are lost",
    "unknown": "nobody knows whether rows are lost or come twice",
    "stops": "rows are lost, and the query then stops for good",
}
#: Options of a change that a remedy names, with the value that they want.
_OPTIONS = {"--trim-sink-log": (), "--sink": ("TYPE[:URI]",)}
_OPTION = re.compile("|".join(rf"(?<![\w-]){option}(?![\w-])" for option in _OPTIONS))


@dataclass(frozen=True, slots=True)
class SinkEffect(Documented):
    """Effect on the rows in the sink when the plan was applied and the query continues."""

    sink: Annotated[str, "type and location of the sink"]
    effect: Annotated[Effect, "`exact`, `duplicated`, `skipped`, `unknown` or `stops`"]
    reason: Annotated[str, "why"]
    remedy: Annotated[str, "what makes the effect exact; may be empty"] = ""

    @property
    def option(self) -> tuple[str, ...]:
        """The option of the change that is the remedy, with words in capitals for its value; empty where none is."""
        found = _OPTION.search(self.remedy)
        return () if found is None or self.effect == "exact" else (found[0], *_OPTIONS[found[0]])
