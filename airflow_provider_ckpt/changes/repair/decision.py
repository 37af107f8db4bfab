"""Decisions of a person about batches whose files cannot be proven: the files that they get, or none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.compaction import COMPACT_INTERVAL
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.fields import shown
from airflow_provider_ckpt.untrusted.spans import Span, batches_text

_BATCH = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions, by batch.

    Args:
        adopted: Batches that get data files; the names of them, or none for all that may be theirs.
        emptied: Batches that get no file.
        interval: How many batches are between two compactions, where the query sets that.
    """

    adopted: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    emptied: frozenset[int] = frozenset()
    interval: int = COMPACT_INTERVAL

    @property
    def batches(self) -> frozenset[int]:
        """Everything that was decided about."""
        return self.emptied.union(self.adopted)

    def of_spans(self, spans: Iterable[Span]) -> Decisions:
        """The same of batches that are decided about together, each by the last of them.

        Raises PlanError for two that contradict each other.
        """
        last = {batch: span for span in spans for batch in self.batches if span.first <= batch <= span.last}
        adopted: dict[int, tuple[str, ...]] = {}
        for batch, names in sorted(self.adopted.items()):
            taker = last[batch].last if batch in last else batch
            before = adopted.get(taker, names)
            adopted[taker] = (*before, *(name for name in names if name not in before)) if before and names else ()
        emptied = frozenset(last[batch].last if batch in last else batch for batch in self.emptied)
        if both := sorted(emptied & adopted.keys()):
            span = next(span for span in last.values() if span.last == both[0])
            raise PlanError(
                f"{batches_text(span.first, span.last)} are decided about together, because the checkpoint does not "
                "have their entries any more: they cannot be both adopted and empty.",
                batch_id=both[0],
                hint="Nothing was done. Give one of the two.",
            )
        return Decisions(adopted, emptied, self.interval)

    @property
    def text(self) -> str:
        """The decisions as a plan keeps them; empty without any."""
        if self == Decisions():
            return ""
        adopted = {str(batch): list(names) for batch, names in sorted(self.adopted.items())}
        fields = {"adopt": adopted, "empty": sorted(self.emptied), "interval": self.interval}
        return json.dumps(fields, sort_keys=True)


def parse_decisions(adopt: Iterable[str], empty: Iterable[str], interval: int | None = None) -> Decisions:
    """Read ``BATCH`` or ``BATCH=NAME`` of what is adopted, and ``BATCH`` of what is empty. Raises ValueError."""
    adopted: dict[int, list[str]] = {}
    for text in adopt:
        number, equals, name = text.partition("=")
        batch = _batch(number, text)
        names = adopted.setdefault(batch, [])
        if equals and not name.strip("/ "):
            raise ValueError(f"{shown(text)} names no file; give BATCH or BATCH=NAME")
        if name and name in names:
            raise ValueError(f"{shown(text)} is given twice")
        names += [name] if name else []
    emptied = frozenset(_batch(text, text) for text in empty)
    if both := emptied & adopted.keys():
        raise ValueError(f"batch {min(both)} is both adopted and empty; give one of the two")
    return Decisions({batch: tuple(names) for batch, names in adopted.items()}, emptied, interval or COMPACT_INTERVAL)


def _batch(number: str, text: str) -> int:
    if not _BATCH.fullmatch(number):
        raise ValueError(f"{shown(text)} is no batch; give BATCH or BATCH=NAME")
    return int(number)


def decisions_of(text: str) -> Decisions:
    """The decisions that :attr:`Decisions.text` wrote. Raises PlanError."""
    if not text:
        return Decisions()
    try:
        value = parse_json(text)
        adopted = {int(batch): tuple(map(str, names)) for batch, names in value["adopt"].items()}
        found = Decisions(adopted, frozenset(int(batch) for batch in value["empty"]), int(value["interval"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        found = None
    if found is None or found.text != text or found.interval < 1:
        raise PlanError(f"not a plan: {shown(text)} are no decisions about batches of a sink.")
    return found
