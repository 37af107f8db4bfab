"""Explaining a text: what in it is known, in which order, and what a checkpoint says about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.checks.rule_pages import text_of
from airflow_provider_ckpt.explain.catalog import Entry
from airflow_provider_ckpt.explain.explanation import Explained, Explanation, Met, Unknown
from airflow_provider_ckpt.explain.failure import Failure, Thrown, is_condition
from airflow_provider_ckpt.explain.given import Given
from airflow_provider_ckpt.explain.judge_cause import Ask, judge_causes
from airflow_provider_ckpt.explain.log_line import parse_line
from airflow_provider_ckpt.explain.matching import Candidates, Index, Match
from airflow_provider_ckpt.explain.message_facts import cut, facts_of, location_in, stated_location
from airflow_provider_ckpt.explain.page import Cause
from airflow_provider_ckpt.explain.read_index import read_index
from airflow_provider_ckpt.explain.screen import Screen, has_exception, may_be_known, may_matter
from airflow_provider_ckpt.explain.stack_traces import Dull, read_failures
from airflow_provider_ckpt.storage.store import Store

#: Unknown exceptions that are kept, and what is kept of a message.
MOST_UNKNOWN, MOST_CHARS = 20, 600
#: Failures of one page that are kept apart; later ones are only counted.
MOST_OF_ONE = 20
#: Queries of which a log says that they start; with two, nobody knows of which one a later failure is.
MOST_QUERIES = 2
#: Failures of which it is remembered what they may be about, numbers aside; a log repeats them.
MOST_REMEMBERED = 4096
#: What Spark writes of a checkpoint location when it starts a query.
_STARTS = (" to store the query checkpoint", "Checkpoint root ")
_NUMBER = re.compile(r"\d+")
#: What Spark adds to the words of an exception of Python.
_SQLSTATE = re.compile(r" SQLSTATE: \w{5}$")


def explain(
    lines: Iterable[str], store: Store | None = None, *, ask: Ask | None = None, given: Given | None = None
) -> Explained:
    """Explain a text, a stack trace or a log; the checkpoint is only read.

    Args:
        lines: The text. It is read once, line by line, whatever its size.
        store: The checkpoint of the query, when it is known.
        ask: Places to read besides the checkpoint: the brokers and tables of the sources, the sink.
        given: The sources and the sink of the query as the user writes them, for the commands.

    Raises:
        CheckpointNotFoundError: Nothing is at the location, or no checkpoint.
        StoreError: The storage refused or did not answer.
    """
    reading = _Reading(read_index())
    screen = Screen(reading.is_dull_record, reading.matters)
    for failure in read_failures(reading.watched(screen.without_dull(lines)), reading.dull):
        reading.take(failure)
    explained = reading.result()
    if given is not None:
        explained = with_given(explained, given)
    return explained if store is None else ask_checkpoint(explained, store, ask)


def with_given(explained: Explained, given: Given) -> Explained:
    """The same explanations, whose commands have the sources and the sink of the user."""
    return replace(explained, explanations=tuple(replace(item, given=given) for item in explained.explanations))


def ask_checkpoint(explained: Explained, store: Store, ask: Ask | None = None) -> Explained:
    """What a checkpoint says about explanations of a text; raises as :func:`explain`."""
    if not explained.explanations:
        return explained
    told = [{**item.facts, "location": store.location} for item in explained.explanations]
    found = [replace(item, facts=facts) for item, facts in zip(explained.explanations, told, strict=True)]
    return replace(explained, explanations=judge_causes(found, store, ask))


def explain_condition(name: str, store: Store | None = None) -> Explained:
    """Explain an error condition by its name, with or without its sub-condition; raises as :func:`explain`."""
    return explain([f"[{name}]"], store)


def explain_rules(codes: Iterable[str], store: Store) -> Explained:
    """Explain rules on a checkpoint, by their codes, which must exist; raises as :func:`explain`."""
    asked = []
    for code in codes:
        text = text_of(code) or ""
        cause = Cause("", " ".join(text.split()), rules=(code,), commands=("ckpt check {location} --deep",))
        match = Match(None, Entry((code,), (), (), cause, text, None), None, (cause,))
        asked.append(Explanation(match, cause, {"location": store.location}, code=code))
    return Explained(judge_causes(asked, store))


@dataclass(slots=True)
class _Seen:
    """A match with where it was met."""

    match: Match
    met: Met
    likely: bool
    is_warning: bool = False


@dataclass(slots=True)
class _Reading:
    """Findings so far: some entries for each explanation, whatever the length of the text."""

    index: Index
    seen: dict[object, list[_Seen]] = field(default_factory=dict)
    unknown: dict[str, Unknown] = field(default_factory=dict)
    location: str | None = None
    named: str | None = None
    queries: set[str] = field(default_factory=set)
    candidates: dict[int, Candidates] = field(default_factory=dict)
    counted: dict[str, tuple[int, int]] = field(default_factory=dict)
    dull: Dull = field(init=False)

    def __post_init__(self) -> None:
        self.dull = Dull(self._count)

    refuted: set[str] = field(default_factory=set)

    def matters(self, text: str) -> bool:
        """True if some lines may change the findings."""
        if has_exception(text):
            if any(_beginning(message) in text for message in self.unknown):
                return True
            if self.dull.has_all(text):
                return False
            if len(self.unknown) < MOST_UNKNOWN or "{" in text:
                return True
        return may_matter(text)

    def is_dull_record(self, line: str) -> bool:
        """True if a line is a record by itself, of which nothing is known and which says nothing of the query."""
        if any(start in line for start in _STARTS):
            return False
        failures = list(read_failures([line]))
        if not failures:  # what goes well
            return line.startswith("{") or parse_line(line).level is not None
        (failure,) = failures if len(failures) == 1 else (None,)
        if failure is None or failure.level is None or failure.is_exception or failure.frames or failure.python:
            return False
        if not may_be_known(_text_of(failure)) and not self.index.is_named(failure):
            return True
        return not self.index.candidates(failure) and not self.index.refuted(failure)

    def watched(self, lines: Iterable[str | int]) -> Iterable[str | int]:
        """The lines; those that name the checkpoint and the query are noted, and a condition is as in a message."""
        for line in lines:
            if isinstance(line, int):
                yield line
                continue
            if "heckpoint" in line and any(start in line for start in _STARTS):
                self.location = self.location or location_in(line)
                if len(self.queries) < MOST_QUERIES and (query := facts_of(line).get("query_id")):
                    self.queries.add(query)
            yield f"[{line.strip()}]" if "_" in line and is_condition(line.strip()) else line

    def take(self, failure: Failure) -> None:
        """Note what a failure is about. Messages that differ in numbers alone share one search for causes."""
        if not may_be_known(_text_of(failure)) and not self.index.is_named(failure):
            if failure.is_exception:
                self._note_unknown(failure)
            return
        skeleton = _skeleton(failure)
        candidates = self.candidates.get(skeleton)
        if candidates is None:
            candidates = self.index.candidates(failure)
            if len(self.refuted) < MOST_REMEMBERED:
                self.refuted |= self.index.refuted(failure)
            if len(self.candidates) < MOST_REMEMBERED:
                self.candidates[skeleton] = candidates
        match = self.index.match(failure, candidates) if candidates else None
        if match is not None:
            for part, of_part in self._parts(match, failure):
                self._note(of_part, part)
        elif failure.is_exception:
            self._note_unknown(failure)

    def _parts(self, match: Match, failure: Failure) -> Sequence[tuple[Failure, Match]]:
        """A failure with its match; of a message alone that is several, one below the other, each.

        A message alone begins where a line of it is known.
        """
        lines = failure.chain[0].lines
        if failure.level is not None or failure.is_exception or failure.frames or len(lines) < 2:
            return [(failure, match)]
        parts = [Failure([Thrown(None, [line])], failure.line + n) for n, line in enumerate(lines)]
        found = [(part, known) for part in parts if (known := self.index.match(part)) is not None]
        apart = {(known.key, known.facts.get("batch")) for _, known in found}
        return found if len(apart) > 1 else [(found[0][0] if found else failure, match)]

    def _note(self, match: Match, failure: Failure) -> None:
        alike = self.seen.setdefault(match.key, [])
        likely = failure.is_exception or failure.level in (None, "ERROR", "FATAL")
        known = next((seen for seen in alike if not (likely and seen.match.differs(match))), None)
        if known is not None:
            known.match = known.match.merged(match)
        elif len(alike) < MOST_OF_ONE:
            met = Met(failure.line, failure.line, is_warning=failure.level == "WARN")
            alike.append(_Seen(match, met, likely and bool(match.causes), failure.level == "WARN"))
            return
        else:
            known = alike[-1]
        warns = known.met.is_warning and failure.level == "WARN"
        known.met = Met(known.met.line, failure.line, known.met.times + 1, warns)

    def _count(self, number: int, line: str) -> None:
        """Count a line that is an exception of which nothing is known."""
        message = line[line.rfind(".", 0, line.find(":")) + 1 :] if ":" in line else line.rpartition(".")[2]
        if message in self.unknown:
            self.counted[message] = (self.counted.get(message, (0, 0))[0] + 1, number)

    def _note_unknown(self, failure: Failure) -> None:
        root = failure.chain[-1]
        if len(failure.chain) == 1 and not (root.frames or failure.level or failure.python) and len(root.lines) < 2:
            self.dull.learn(f"{root.package}{root.exception}{': ' if root.lines else ''}{''.join(root.lines)}")
        message = cut(": ".join(text for text in (root.exception, _SQLSTATE.sub("", root.message)) if text), MOST_CHARS)
        self.named = self.named or stated_location(": ".join(thrown.message for thrown in failure.chain))
        if known := self.unknown.get(message):
            met = Met(known.met.line, failure.line, known.met.times + 1)
            self.unknown[message] = replace(known, met=met)
        elif len(self.unknown) < MOST_UNKNOWN:
            self.unknown[message] = Unknown(message, Met(failure.line, failure.line), failure.thrown_by)

    def result(self) -> Explained:
        """All of it; the likeliest first, which is what stopped a query, and came first.

        Where the catalogue says it more closely than a page, the page is named by that.
        """
        every = [
            seen
            for alike in self.seen.values()
            for seen in alike
            if seen.match.is_proven or seen.match.found not in self.refuted
        ]
        told = {seen.match.entry.page for seen in every if seen.match.entry is not None}
        kept = (seen for seen in every if seen.match.page is None or seen.match.page.name not in told)
        found = sorted(
            kept,
            key=lambda item: (
                not item.likely,
                not item.match.is_proven,
                not item.match.causes,
                item.is_warning,  # what stopped the query comes after it
                item.met.line,
            ),
        )
        only = {"query_id": min(self.queries)} if len(self.queries) == 1 else {}
        explanations = tuple(
            Explanation(item.match, cause, {**only, **item.match.facts}, item.met)
            for item in found
            for cause in (item.match.causes or (None,))
        )
        named = (item.match.facts.get("location") for item in found)
        location = self.location or next((place for place in named if place), self.named)
        return Explained(explanations, tuple(self._unknown()), location)

    def _unknown(self) -> Iterator[Unknown]:
        """Yield the unknown exceptions, with the lines that were only counted."""
        for message, item in self.unknown.items():
            times, line = self.counted.get(message, (0, 0))
            yield replace(item, met=Met(item.met.line, max(item.met.last_line, line), item.met.times + times))


def _beginning(message: str) -> str:
    """The first words of an unknown exception, as they are in the text."""
    exception, colon, said = message.partition(": ")
    return f"{exception}{colon}{said.split(maxsplit=1)[0] if said else ''}"


def _text_of(failure: Failure) -> str:
    """The classes and the messages of a failure."""
    return "\n ".join("\n".join((thrown.exception or "", *thrown.lines)) for thrown in failure.chain)


def _skeleton(failure: Failure) -> int:
    """Hash that is the same for failures that differ only in numbers."""
    thrown = (
        (item.exception, _NUMBER.sub("0", "\n".join(item.lines)), item.shared, *item.frames) for item in failure.chain
    )
    return hash((failure.level, failure.logger, failure.python, *thrown))
