"""Thresholds of a query: what was measured against each, and what could not be measured, which is never a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.query.query_file import Alert
from airflow_provider_ckpt.sources.lag import NOT_KNOWN, SourceLag
from airflow_provider_ckpt.times import LONGEST_MS, duration_text


@dataclass(frozen=True, slots=True)
class Threshold(Documented):
    """A threshold that the query file declares, and what was measured."""

    key: Annotated[str, "key of the file: `behind`, `delay`, `age` or `rows`"]
    most: Annotated[int, "threshold: milliseconds, of `rows` a number"]
    measured: Annotated[int | None, "what was measured, in the same unit; null when it is not known"] = None
    unit: Annotated[str, "`ms`, or what `rows` counts of this source, such as `offsets`"] = "ms"
    source_id: Annotated[str | None, "source that is furthest from the end, of `behind` and `rows`"] = None
    why: Annotated[str | None, "why it is not known; null when it was measured"] = None
    origin: Annotated[str | None, "file and line that declare it, such as `ckpt.yaml line 12`"] = None

    @property
    def passed(self) -> Annotated[bool, "whether the measured value is greater; false as well when it is not known"]:
        """True if more was measured than the query may have."""
        return self.measured is not None and self.measured > self.most

    @property
    def holds(self) -> bool:
        """True if it was measured, and is not passed."""
        return self.measured is not None and not self.passed

    @property
    def text(self) -> Annotated[str, "the same as a sentence, without the name of the query and a full stop"]:
        """What was measured, the threshold, and where it is declared."""
        of = _SUBJECTS[self.key] + ("" if self.source_id is None else f" in source {self.source_id}")
        threshold = f"alert.{self.key}{f' ({self.origin})' if self.origin else ''} is {_value(self.most, self.key)}"
        if self.measured is None:
            return f"{of} is not known, and {threshold}: {self.why}"
        return f"{of} is {_value(self.measured, self.key, self.unit)}, and {threshold}"

    @property
    def short(self) -> str:
        """The same in few words, such as ``age 2 h, at most 60 min``."""
        measured = "not known" if self.measured is None else _value(self.measured, self.key, self.unit)
        return f"{self.key} {measured}, at most {_value(self.most, self.key)}"


#: Why nobody knows how far a query of such sources is behind.
NO_END = "none of its sources has an end that can be asked for"
_SUBJECTS = {
    "behind": "the age of the oldest unread data",
    "delay": "the delay of the watermark",
    "age": "the age of the newest commit",
    "rows": "the unread data",
}


def _value(value: int, key: str, unit: str = "") -> str:
    if key != "rows":
        return duration_text(max(0, value))
    return f"{value:,}{f' {unit}' if unit else ''}"


@dataclass(frozen=True, slots=True)
class Measures:
    """What is measured of a query.

    Args:
        sources: How far it is behind each source; None when none is declared.
        commit_age_ms: Age of its newest commit; None when it is not known.
        delay_ms: Delay of its watermark; None when it is not known.
        why: Why nothing could be measured; empty when it could.
        sources_why: Why nothing is known of the sources; empty when they were asked.
        commit_why: Why the age of its newest commit is not known; empty for a storage that does not tell.
        is_committed: False before its first commit.
    """

    sources: Sequence[SourceLag] | None = None
    commit_age_ms: int | None = None
    delay_ms: int | None = None
    why: str = ""
    is_committed: bool = True
    sources_why: str = ""
    commit_why: str = ""


def judge_thresholds(alert: Alert, measures: Measures, origins: Mapping[str, str]) -> tuple[Threshold, ...]:
    """Each declared threshold with what was measured.

    Args:
        alert: The thresholds.
        measures: What was measured.
        origins: Where each is declared, by its key.
    """
    return tuple(
        Threshold(key, most, **_measured(key, most, measures), origin=origins.get(key))
        for key, most in alert.items().items()
    )


def _measured(key: str, most: int, measures: Measures) -> dict[str, Any]:
    if measures.why:
        return {"why": measures.why}
    if key in ("behind", "rows") and measures.sources is None and measures.sources_why:
        return {"why": measures.sources_why}
    if key == "behind":
        return _of_sources(measures.sources, _age, most)
    if key == "rows":
        return _of_sources(measures.sources, _count, most)
    if not measures.is_committed:
        return {"why": "no batch is committed"}
    if key == "age":
        value, why = (
            measures.commit_age_ms,
            measures.commit_why or "the storage does not tell when the batch was committed",
        )
    else:
        value, why = measures.delay_ms, "the newest committed batch has no watermark"
    return {"why": why} if value is None else {"measured": value}


#: What is measured of a source: a number and its unit, or the reason why it is not known.
_Measure = Callable[[SourceLag], tuple[int | None, str]]


def _of_sources(sources: Sequence[SourceLag] | None, measure: _Measure, most: int) -> dict[str, Any]:
    """The greatest value of all sources. What is passed by one source is passed; else each must be known."""
    if sources is None:
        return {"why": "its sources are not declared with what they read from"}
    known, unknown = list[tuple[int, str, str]](), list[tuple[str, str]]()
    for source, why in _asked(sources):
        value, unit = (None, why) if why else measure(source)
        if value is None:
            unknown.append((source.source_id, unit))
        else:
            known.append((value, unit, source.source_id))
            if source.is_partial:
                unknown.append((source.source_id, "more is unread than was counted"))
    worst = max(known, default=None, key=lambda item: item[0])
    if worst is not None and (worst[0] > most or not unknown):
        return {"measured": worst[0], "unit": worst[1], "source_id": worst[2]}
    if unknown:
        return {"source_id": unknown[0][0], "why": unknown[0][1]}
    return {"why": NO_END}


def behind_of(sources: Sequence[SourceLag] | None) -> int | None:
    """Age of the oldest unread data of all sources, milliseconds: 0 when all is read, None when it is not known."""
    measured: int | None = _of_sources(sources, _age, LONGEST_MS).get("measured")
    return measured


def _asked(sources: Sequence[SourceLag]) -> Iterator[tuple[SourceLag, str]]:
    """The sources that have an end, and why nothing of them can be measured; empty when it can."""
    for source in sources:
        if source.source_type is None or not source.is_known:
            yield source, why_not_known(source)
        elif source.lost:
            yield source, f"{source.lost:,} unread {source.unit} are gone"
        elif source.total is not None:
            yield source, ""


def why_not_known(source: SourceLag) -> str:
    """Why nobody knows how far a query is behind a source, without a full stop."""
    if not source.notes:
        return "nobody can tell where the query is in it"
    return source.notes[0].removeprefix(NOT_KNOWN).rstrip(".")


def _age(source: SourceLag) -> tuple[int | None, str]:
    if not source.total:
        return 0, "ms"
    return (None, "the age of its unread data is not known") if source.age_ms is None else (source.age_ms, "ms")


def _count(source: SourceLag) -> tuple[int | None, str]:
    if source.rows is not None:
        return source.rows, "rows"
    return source.total, source.unit or ""
