"""Which page of the runbook, or which condition, a failure is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from airflow_provider_ckpt.symptoms.catalog import Entry
from airflow_provider_ckpt.symptoms.failure import Failure, Thrown
from airflow_provider_ckpt.symptoms.message_facts import facts_of, first_of, same_query
from airflow_provider_ckpt.symptoms.page import Cause, Page

#: Conditions that say only that something went wrong, which their cause names.
WRAPPERS = frozenset({"STREAM_FAILED", "INTERNAL_ERROR", "FAILED_READ_FILE.NO_HINT", "TASK_WRITE_FAILED"})
#: Longer messages are searched up to here.
MOST_CHARS = 1 << 16
#: Facts of which another value is another failure.
_TELLS_APART = ("batch", "location")
_LAMBDA = re.compile(r"\$anonfun\$(\w+?)(?:\$\d+)*(?:\$adapted)?$")


@dataclass(frozen=True, slots=True)
class Match:
    """What a failure is about.

    Args:
        page: Of the runbook; None where there is none.
        entry: Of the catalogue; None where there is none, or a page says it.
        condition: The error condition; None where the text has none.
        causes: Of them those that the failure allows, the likeliest first.
        facts: What the messages say.
        message: What was matched, on one line.
    """

    page: Page | None
    entry: Entry | None
    condition: str | None
    causes: tuple[Cause, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    message: str = ""

    @property
    def key(self) -> object:
        """What is one explanation: a page, an entry, or a condition without either."""
        return self.page.name if self.page else self.entry or self.condition

    @property
    def is_narrow(self) -> bool:
        """Whether the failure told causes apart."""
        return self.page is not None and len(self.causes) < len(self.page.causes)

    def differs(self, other: Match) -> bool:
        """Whether a second failure of the same kind is about something else: another batch, query or cause."""
        if any(key in self.facts and self.facts[key] != other.facts.get(key, self.facts[key]) for key in _TELLS_APART):
            return True
        if not same_query(self.facts.get("query_id"), other.facts.get("query_id")):
            return True
        return self.is_narrow and other.is_narrow and not set(self.causes) & set(other.causes)

    def merged(self, other: Match) -> Match:
        """This match with what a second failure of the same kind says."""
        causes = self.causes
        if other.is_narrow:
            both = (*causes, *other.causes) if self.is_narrow else other.causes
            causes = tuple(dict.fromkeys(both))
        facts = first_of([self.facts, other.facts])
        return replace(self, condition=self.condition or other.condition, causes=causes, facts=facts)


@dataclass(frozen=True, slots=True)
class Index:
    """What is explained: the pages, the catalogue, and the names of Spark's other conditions."""

    pages: tuple[Page, ...]
    entries: tuple[Entry, ...]
    others: frozenset[str]

    def match(self, failure: Failure) -> Match | None:
        """What a failure is about; None when nothing of it is known.

        The most specific text or condition counts, and among those that of the root cause. The name of a page is that
        page.
        """
        for page in self.pages:
            if failure.chain[-1].message == page.name:
                return Match(page, None, None, page.causes)
        best: tuple[float, Match] | None = None
        for thrown in reversed(failure.chain):
            for rank, match in self._matches(thrown, failure):
                if best is None or rank > best[0]:
                    best = rank, match
        if best is None:
            return None
        said = (
            {**facts_of(message), **_groups(best[1].page, message)}
            for message in (thrown.message[:MOST_CHARS] for thrown in reversed(failure.chain))
        )
        facts = first_of([best[1].facts, *said])
        return replace(best[1], facts=facts, causes=_told(best[1].causes, facts))

    def _matches(self, thrown: Thrown, failure: Failure) -> Iterator[tuple[float, Match]]:
        conditions = thrown.conditions
        for name in conditions:
            yield from self._of_condition(name, failure)
        message = thrown.message[:MOST_CHARS]
        for text in dict.fromkeys((message, thrown.unwrapped[:MOST_CHARS])):
            yield from self._of_text(text, message, conditions, failure)

    def _of_condition(self, name: str, failure: Failure) -> Iterator[tuple[float, Match]]:
        family = name.partition(".")[0]
        for page in self.pages:
            own = [cause for cause in page.causes if name in cause.conditions or family in cause.conditions]
            if own or name in page.conditions:
                yield 6, Match(page, None, name, _allowed(own or page.causes, failure))
            elif family in page.conditions:
                yield 4, Match(page, None, name, _allowed(page.causes, failure))
        for entry in self.entries:
            if name in entry.conditions:
                yield 5, Match(None, entry, name, (entry.cause,))
            elif family in entry.conditions:
                yield 2, Match(None, entry, name, (entry.cause,))
        if name in self.others and name not in WRAPPERS:
            yield 1, Match(None, None, name, ())

    def _of_text(
        self, text: str, message: str, conditions: Sequence[str], failure: Failure
    ) -> Iterator[tuple[float, Match]]:
        if failure.is_foreign:
            return
        condition = next((name for name in conditions if name not in WRAPPERS), None)
        for page in self.pages:
            if page.frames and failure.frames and not _innermost(page.frames, failure):
                continue
            if found := _first(page.texts, text):
                yield 3.9, Match(page, None, condition, _allowed(page.causes, failure), _said(found), message)
        for entry in self.entries:
            frames = entry.cause.frames
            if frames and failure.frames and not _innermost(frames, failure):
                continue
            if found := _first(entry.texts, text):
                yield 3 + bool(frames) / 2, Match(None, entry, condition, (entry.cause,), _said(found), message)


def _first(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    return next((found for pattern in patterns if (found := pattern.search(text))), None)


def _groups(page: Page | None, message: str) -> dict[str, str]:
    """What the texts of a page find in a message, whose condition has named the page already."""
    found = None if page is None else _first(page.texts, message)
    return {} if found is None else _said(found)


def _said(found: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in found.groupdict().items() if value is not None}


def _allowed(causes: Sequence[Cause], failure: Failure) -> tuple[Cause, ...]:
    """The causes that the stack trace allows: those whose frame is the innermost, or else those without frames."""
    frames = tuple(frame for cause in causes for frame in cause.frames)
    innermost = _innermost(frames, failure)
    if innermost is None:
        return tuple(causes)
    return tuple(cause for cause in causes if innermost in cause.frames) or tuple(causes)


def _told(causes: tuple[Cause, ...], facts: Mapping[str, str]) -> tuple[Cause, ...]:
    """The causes that the facts allow: those that say them alone, or else those that say nothing else."""
    says = [cause for cause in causes if cause.says and cause.says.items() <= facts.items()]
    others = [cause for cause in causes if all(facts.get(key, value) == value for key, value in cause.says.items())]
    return tuple(says or others)


def _innermost(frames: Iterable[str], failure: Failure) -> str | None:
    """Which of some frames is the innermost of the root cause that has one; ``Class`` alone is any method of it."""
    wanted = frozenset(frames)
    for thrown in reversed(failure.chain):
        for frame in thrown.frames:
            plain = plain_frame(frame)
            for name in (plain, plain.partition(".")[0]):
                if name in wanted:
                    return name
    return None


@lru_cache(4096)
def plain_frame(frame: str) -> str:
    """``Class.method`` of a frame of Scala, without what its compiler adds: ``A$.$anonfun$b$1`` is ``A.b``."""
    name, _, method = frame.partition(".")
    found = _LAMBDA.search(method)
    return f"{name.rstrip('$')}.{found[1] if found else method.rstrip('$')}"
