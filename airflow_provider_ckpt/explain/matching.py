"""Matches a failure to a page of the runbook, or to a condition."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Literal

from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.explain.catalog import Entry
from airflow_provider_ckpt.explain.claim import is_claim, is_mention, is_of_python
from airflow_provider_ckpt.explain.failure import Failure, Thrown
from airflow_provider_ckpt.explain.message_facts import facts_of, file_in, first_of, same_query, stated_location
from airflow_provider_ckpt.explain.origin import READERS, others_frame, plain_frame, reaches_spark, reader_in
from airflow_provider_ckpt.explain.page import Cause, Page
from airflow_provider_ckpt.explain.storage_words import StorageProblem, storage_problem

#: ``text``: words that nothing but Spark or a connector has. ``condition``: its error condition. ``frame``: a reader of
#: Spark threw. ``file``: the text names the file. ``finding``: a rule finds it on the given checkpoint. ``record``: a
#: change by ckpt is recorded beside the checkpoint.
Kind = Literal["text", "condition", "frame", "file", "finding", "record"]


@dataclass(frozen=True, slots=True)
class Sign(Documented):
    """What shows that an error is about a checkpoint."""

    kind: Annotated[
        Kind,
        "words that Spark alone has, its condition, the frame of its own reader that threw, a file of the "
        "checkpoint that is named, a finding on the given checkpoint, or the record of a change by ckpt",
    ]
    value: Annotated[str, "the words, the name, the path or the code"]


_ESCAPE = re.compile(r"\\.")
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_GROUP = re.compile(r"\([^()]*\)(?:[?*+]|\{[^}]*\})?")
_REPEATED = re.compile(r".(?:[?*+]|\{[^}]*\})")
_NO_LITERAL = re.compile(r"[\x00.^$()]+")


@lru_cache(4096)
def literal_of(pattern: str) -> str:
    """The longest literal of a pattern that everything has which it finds; empty where there is none to speak of."""
    if pattern.startswith(("(?i)", "(?x)")):
        return ""
    bare = _CLASS.sub("\x00", _ESCAPE.sub("\x00", pattern))
    while (less := _GROUP.sub("\x00", bare)) != bare:
        bare = less
    if "|" in bare or "(" in bare:
        return ""
    return max(_NO_LITERAL.split(_REPEATED.sub("\x00", bare)), key=len)


#: Conditions that say only that something went wrong, which their cause names.
WRAPPERS = frozenset({"STREAM_FAILED", "INTERNAL_ERROR", "FAILED_READ_FILE.NO_HINT", "TASK_WRITE_FAILED"})
#: Longer messages are searched up to here.
MOST_CHARS = 1 << 16
#: Facts of which another value is another failure.
_TELLS_APART = ("batch", "location")
#: A logger in front of its message, where nothing else is in front of it.
_LOGGER = re.compile(r"(?:^|[\s.])([A-Z]\w{1,100})\$?: $")


#: Pages and entries that a failure may be about, and names of conditions that have none.
Candidates = tuple[Page | Entry | str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """Match of a failure.

    Args:
        page: Page of the runbook; None where there is none.
        entry: Entry of the catalogue; None where there is none, or a page has it.
        condition: The error condition; None where the text has none.
        causes: Those causes that the failure allows, the likeliest first.
        facts: Facts from the messages.
        message: The matched message, on one line.
        signs: Proofs that the failure is about this; empty where other code fails in the same words.
        found: The words of the message that are known.
    """

    page: Page | None
    entry: Entry | None
    condition: str | None
    causes: tuple[Cause, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    signs: tuple[Sign, ...] = ()
    found: str = ""

    @property
    def is_proven(self) -> bool:
        """True if the text itself shows that it is about this, and not about the code or the data of a query."""
        return bool(self.signs)

    @property
    def key(self) -> object:
        """Key of one explanation: a page, an entry, or a condition without either."""
        return self.page.name if self.page else self.entry or self.condition

    @property
    def is_narrow(self) -> bool:
        """True if the failure told causes apart."""
        return self.page is not None and len(self.causes) < len(self.page.causes)

    def differs(self, other: Match) -> bool:
        """True if a second failure of the same kind is about something else: another batch, query or cause."""
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
        signs = tuple(dict.fromkeys((*self.signs, *other.signs)))
        return replace(self, condition=self.condition or other.condition, causes=causes, facts=facts, signs=signs)


@dataclass(frozen=True, slots=True)
class Index:
    """Explained failures: the pages, the catalogue, and the names of Spark's other conditions."""

    pages: tuple[Page, ...]
    entries: tuple[Entry, ...]
    others: frozenset[str]

    @property
    def items(self) -> tuple[Page | Entry, ...]:
        """The pages and the entries."""
        return *self.pages, *self.entries

    def match(self, failure: Failure, among: Candidates | None = None) -> Match | None:
        """Match a failure; None when nothing of it is known.

        The most specific text or condition counts, and among those that of the root cause. The name of a page is that
        page.

        Args:
            failure: Any.
            among: Possible matches; None for all. See :meth:`candidates`.
        """
        among = self.items if among is None else among
        for page in self.pages if len(among) == len(self.items) else ():
            if failure.chain[-1].message == page.name:
                return Match(page, None, None, page.causes, signs=(Sign("text", page.name),))
        best: tuple[float, Match] | None = None
        for thrown in reversed(failure.chain):
            for rank, match in self._matches(thrown, failure, among):
                if best is None or rank > best[0]:
                    best = rank, match
        if best is None:
            return None
        said = (
            {**facts_of(message), **_groups(best[1].page, message)}
            for message in (thrown.message[:MOST_CHARS] for thrown in reversed(failure.chain))
        )
        facts = first_of([best[1].facts, *said])
        message = best[1].message or _whole(failure.chain[-1])
        return replace(best[1], facts=facts, causes=_told(best[1].causes, facts), message=message)

    def candidates(self, failure: Failure) -> Candidates:
        """Possible matches of a failure; the same for one that differs only in numbers."""
        if self.is_named(failure):
            return self.items
        found = [
            match.page or match.entry or match.condition
            for thrown in failure.chain
            for _, match in self._matches(thrown, failure, self.items)
        ]
        return tuple({id(item): item for item in found if item is not None}.values())

    def is_named(self, failure: Failure) -> bool:
        """True if a text is the name of a page."""
        lines = failure.chain[-1].lines
        return len(lines) == 1 and "-" in lines[0] and any(lines[0].strip() == page.name for page in self.pages)

    def refuted(self, failure: Failure) -> frozenset[str]:
        """Texts of a failure that other code throws as well, where the stack trace shows that it did."""
        return frozenset(
            found[0]
            for thrown in failure.chain
            if (frames := failure.frames_of(thrown)) or failure.is_of_python
            for item in self.items
            if (found := _first(item.told.shared_texts, _whole(thrown)))
            and _threw(failure, frames, item.told.readers) is False
        )

    def _matches(self, thrown: Thrown, failure: Failure, among: Candidates) -> Iterator[tuple[float, Match]]:
        if is_mention(failure, thrown):
            return
        conditions = thrown.conditions
        file = file_in(thrown.message[:MOST_CHARS])
        items = [item for item in among if not isinstance(item, str) and (file is None or _is_at(item, file[0]))]
        for name in conditions:
            yield from self._of_name(name, thrown, failure, items)
        if failure.is_foreign:
            return
        whole = _whole(thrown)
        for rank, match in self._of_storage(whole, thrown, failure, items):
            yield rank, replace(match, condition=None, message=whole)
        condition = next((name for name in conditions if name not in WRAPPERS), None)
        for text in dict.fromkeys((whole, thrown.unwrapped[:MOST_CHARS])):
            for item in items:
                found = self._of_text(item, text, thrown, failure)
                if found is not None:
                    rank, match = found
                    yield rank, replace(match, condition=condition, message=whole)

    def _of_name(
        self, name: str, thrown: Thrown, failure: Failure, items: Sequence[Page | Entry]
    ) -> Iterator[tuple[float, Match]]:
        """Matches of a condition; none where code of the query, or another logger, only repeats its name."""
        is_told = is_claim(failure, thrown, name)
        if is_told is False:
            return
        for rank, match in self._of_condition(name, thrown, failure, items):
            yield (rank, match) if is_told else (rank / 10, replace(match, signs=()))
        if name in self.others and name not in WRAPPERS:
            yield 1 if is_told else 0.1, Match(None, None, name, (), signs=(Sign("condition", name),))

    def _of_condition(
        self, name: str, thrown: Thrown, failure: Failure, items: Iterable[Page | Entry]
    ) -> Iterator[tuple[float, Match]]:
        family = name.partition(".")[0]
        signs = (Sign("condition", name),)
        for item in items:
            whole, part = name in item.conditions, family in item.conditions
            if isinstance(item, Page):
                own = [cause for cause in item.causes if name in cause.conditions or family in cause.conditions]
                own = [cause for cause in own or item.causes if _first(cause.texts, _whole(thrown))] or own
                if own or whole:
                    yield 6, Match(item, None, name, _allowed(own or item.causes, failure), signs=signs)
                elif part:
                    yield 4, Match(item, None, name, _allowed(item.causes, failure), signs=signs)
            elif whole or part:
                reader = _threw(failure, failure.frames_of(thrown), item.told.readers) if item.told.maybe else None
                if reader is not False:
                    proof = signs if not item.told.maybe else (Sign("frame", reader),) if reader else ()
                    yield 5 if whole else 2, Match(None, item, name, (item.cause,), signs=proof)

    def _of_storage(
        self, whole: str, thrown: Thrown, failure: Failure, items: Iterable[Page | Entry]
    ) -> Iterator[tuple[float, Match]]:
        problem = storage_problem(whole)
        if problem is None or failure.is_of_users or is_of_python(thrown, whole.partition(problem.path)[0]):
            return
        reader = reader_in(failure.frames_of(thrown), READERS)
        is_inside = _is_inside(problem, stated_location(whole))
        if reader is None and (failure.is_of_function or is_inside is False or self._is_of_data(thrown)):
            return
        is_shown = reader is not None or is_inside is True or problem.is_of_spark
        for item in items:
            if isinstance(item, Entry) and problem.what in item.told.storage and _is_at(item, problem.place):
                signs = (Sign("file", problem.path),) if is_shown else ()
                facts = {"file": problem.path}
                match = Match(None, item, None, (item.cause,), facts, signs=signs, found=problem.path)
                yield (0.6 if not is_shown else 3.3 if problem.what in ("missing", "present") else 5.5), match

    def _is_of_data(self, thrown: Thrown) -> bool:
        """True if a condition says that a file is of the data of a query."""
        told = {name for item in self.items for name in item.conditions}
        return any(
            name in self.others and not {name, name.partition(".")[0]} & (told | WRAPPERS) for name in thrown.conditions
        )

    def _of_text(self, item: Page | Entry, text: str, thrown: Thrown, failure: Failure) -> tuple[float, Match] | None:
        """Match of a text with one page or entry, and its closeness."""
        page, entry = (item, None) if isinstance(item, Page) else (None, item)
        causes = item.causes if isinstance(item, Page) else (item.cause,)
        own, shared = _first(item.texts, text), None
        if own is None and (shared := _first(item.told.shared_texts, text)) is None:
            return None
        if (found := own or shared) is not None and is_of_python(thrown, text[: found.start()]):
            return None
        readers = item.told.readers
        frames = failure.frames_of(thrown)
        told = [cause for cause in causes if _first(cause.texts, text)]
        match = Match(page, entry, None, _allowed(told or causes, failure))
        if found := own:
            if failure.is_of_users or others_frame(frames):
                return None
            needed = page.frames if page else () if item.told.shared_texts else readers
            if needed and failure.frames and not _innermost(needed, failure):
                return None
            rank = 7 if item.told.is_closest else 3.9 if page else 3 + bool(readers) / 2
            return rank, replace(match, facts=_said(found), signs=(Sign("text", found[0]),), found=found[0])
        if found := shared:
            logger = failure.logger or _logged_by(text, found.start())
            is_of_other = item.told.loggers and logger is not None and logger not in item.told.loggers
            reader = _threw(failure, frames, readers)
            if reader is False or is_of_other or (reader is None and failure.is_of_function):
                return None
            signs = (Sign("frame", reader),) if reader and not item.told.is_doubtful else ()
            return (3.6 if reader else 0.5), replace(match, facts=_said(found), signs=signs, found=found[0])
        return None


def _whole(thrown: Thrown) -> str:
    """An exception as one prints it: its class, where the text has one, and its message."""
    return ": ".join(text for text in (thrown.exception, thrown.message) if text)[:MOST_CHARS]


def _is_inside(problem: StorageProblem, stated: str | None) -> bool | None:
    """True if a file is below the location that the text states as the checkpoint; None where it states none."""
    if stated is None or problem.place == "sink_log":
        return None
    return f"{stated}/" in problem.path


def _is_at(item: Page | Entry, place: str) -> bool:
    return not item.told.places or place in item.told.places


def _threw(failure: Failure, frames: Sequence[str], readers: Collection[str]) -> str | Literal[False] | None:
    """The reader of Spark that threw; False where the frames show that other code did, None where they do not tell."""
    if failure.is_of_users or others_frame(frames):
        return False
    if reader := reader_in(frames, readers) or next((at for at in failure.called if at in readers), None):
        return reader
    return False if reaches_spark(frames) else None


def _logged_by(text: str, start: int) -> str | None:
    """The logger that a text names in front of what was found in it."""
    found = _LOGGER.search(text[max(0, start - 200) : start])
    return found[1] if found else None


def _first(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    for pattern in patterns:
        if literal_of(pattern.pattern) in text and (found := pattern.search(text)):
            return found
    return None


def _groups(page: Page | None, message: str) -> dict[str, str]:
    """Facts that the texts of a page find in a message, whose condition has named the page already."""
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
    """The innermost of some frames, of the root cause that has one; ``Class`` alone is any method of it."""
    wanted = frozenset(frames)
    for thrown in reversed(failure.chain):
        for frame in thrown.frames:
            plain = plain_frame(frame)
            for name in (plain, plain.partition(".")[0]):
                if name in wanted:
                    return name
    return None
