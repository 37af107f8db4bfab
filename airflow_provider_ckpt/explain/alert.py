"""A short text about what was explained, for an alert: the cause, the evidence, the command, the page.

Of the log itself it has nothing but names of exceptions and of lines of code, numbers and locations: a message may hold
a password.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from airflow_provider_ckpt.explain.explanation import Explained, Explanation, Unknown
from airflow_provider_ckpt.explain.message_facts import fill
from airflow_provider_ckpt.explain.page import plain_text
from airflow_provider_ckpt.storage.opening import other_name
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible, visible_lines

#: Characters of an alert, of a paragraph of it, and of a command; less than what a chat takes at once.
MOST_CHARS, _PARAGRAPH, _COMMAND = 3000, 600, 400
#: Commands, findings, other failures and unknown exceptions that are told.
_COMMANDS, _FINDINGS, _OTHERS, _UNKNOWN = 3, 3, 3, 3
_CLASS = re.compile(r"[A-Za-z_$][\w$.]{0,199}(?=:|\Z)")
_NOT_KNOWN = "ckpt does not know why, and does not guess"
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Alert:
    """Text for people who are called by a failure.

    Args:
        headline: One line: what failed.
        text: All of it, the headline first.
        is_known: True if the text or the checkpoint proves the cause.
    """

    headline: str
    text: str
    is_known: bool


def alert_of(
    explained: Explained,
    subject: str,
    *,
    notes: Sequence[str] = (),
    location: str | None = None,
    link: str | None = None,
    most: int = MOST_CHARS,
) -> Alert:
    """The alert of a failure.

    Args:
        explained: Meaning of the log.
        subject: What failed, such as a task.
        notes: What was not read, and why, one sentence each.
        location: The checkpoint; None where it is not known.
        link: Address of the page of the checkpoint; None without one.
        most: Characters that the text has at most.
    """
    # Spark goes on after a warning: a task that has failed has not failed because of one
    found = tuple(item for item in explained.explanations if not item.met.is_warning)
    explained = replace(explained, explanations=found)
    first = next(iter(found), None)
    own = _thrown_by_the_query(explained)
    if first is not None and own is not None and own.met.last_line > first.met.last_line and not _is_confirmed(first):
        first = None  # what the query's own code threw came last, and stopped it
    headline = _headline(subject, first)
    if first is None and location is not None and other_name(location) is None:
        reading = fill("ckpt check {location} --deep", {"location": location})
        notes = (f"{reading} says whether the checkpoint is whole.", *notes)
    ends = [*_ends(explained, first, link), *notes]
    lines = [*([] if first is None else _of_cause(explained, first)), *_of_unknown(explained, first, own)]
    text = _within(most, headline, [_clean(line) for line in lines], [_clean(line) for line in ends])
    return Alert(headline, text, first is not None and first.certainty == "proven")


def _is_confirmed(item: Explanation) -> bool:
    return item.evidence is not None and item.evidence.result == "confirmed"


def _thrown_by_the_query(explained: Explained) -> Unknown | None:
    """The unknown exception that code of the query threw, or called what did; None without one."""
    return next((item for item in explained.unknown if item.thrown_by), None)


def _headline(subject: str, first: Explanation | None) -> str:
    if first is None:
        said = _NOT_KNOWN
    elif first.doubt is not None:
        said = f"possibly {_name(first)}"
    else:
        said = _name(first)
    return _clean(f"{subject} failed: {said}")


def _name(item: Explanation) -> str:
    """What the runbook or Spark calls the failure; no words of the log."""
    if item.match.page is not None:
        return item.match.page.title
    if item.match.condition is not None:
        return item.match.condition
    return item.page or "a failure that ckpt knows"


def _of_cause(explained: Explained, first: Explanation) -> Iterator[str]:
    """Yield the paragraphs about a failure and its causes."""
    causes = [item for item in explained.explanations if item.occurrence == first.occurrence]
    if first.match.condition and first.match.condition not in _name(first):
        yield f"Condition: {first.match.condition}"
    for item in causes[:_OTHERS]:
        if item.doubt is not None:
            yield _paragraph(f"Not proven: {item.doubt}")
        else:
            word = "Possible cause" if item.certainty == "possible" else "Cause"
            yield _paragraph(f"{word}: {item.cause_text}")
        if item.evidence is not None:
            yield _paragraph(f"Evidence: {item.evidence.sentence}")
            for finding in item.evidence.findings[:_FINDINGS]:
                place = f" ({finding.name})" if finding.name else ""
                yield _paragraph(f"  {finding.code}{place}: {finding.message}")
    commands = dict.fromkeys(command for item in causes for command in item.commands)
    usable = [command for command in commands if len(command) <= _COMMAND][:_COMMANDS]
    if usable:
        reads = any(item.doubt is not None for item in causes)
        yield "Command, which only reads:" if reads else "Command, which changes nothing without --execute:"
        yield from (f"  {command}" for command in usable)
    others = dict.fromkeys(_name(item) for item in explained.explanations if item.occurrence != first.occurrence)
    others.pop(_name(first), None)
    if others:
        more = f" and {len(others) - _OTHERS} more" if len(others) > _OTHERS else ""
        yield _paragraph(f"The log also has: {'; '.join(list(others)[:_OTHERS])}{more}.")


def _of_unknown(explained: Explained, first: Explanation | None, own: Unknown | None) -> Iterator[str]:
    """Yield what is said of exceptions that nothing explains."""
    if first is not None and own is None:
        return
    if own is not None:
        yield _paragraph(
            f"Not known: {_class_of(own)}, which the query's own code threw, or called what did: {own.thrown_by}."
        )
    classes = list(dict.fromkeys(_class_of(item) for item in explained.unknown if item is not own))
    if classes:
        yield _paragraph(f"Not known: {', '.join(classes[:_UNKNOWN])}.")
    if first is None and not explained.unknown:
        yield "The text that was read has no exception that ckpt can tell."
    if first is None and explained.explanations:
        names = list(dict.fromkeys(_name(item) for item in explained.explanations))[:_OTHERS]
        yield _paragraph(f"The log also has: {'; '.join(names)}.")


def _class_of(item: Unknown) -> str:
    found = _CLASS.match(item.message)
    return found[0] if found else "an exception"


def _ends(explained: Explained, first: Explanation | None, link: str | None) -> Iterator[str]:
    """Yield the lines that are never cut: where to read on."""
    if first is not None and first.page is not None:
        yield f"Runbook: ckpt explain {first.page}"
    if link is not None:
        yield f"Page: {link}"


def _paragraph(text: str) -> str:
    indent = "  " if text.startswith("  ") else ""
    plain = " ".join(plain_text(text).split())
    return indent + textwrap.shorten(plain, _PARAGRAPH, placeholder=f" {_CUT}")


def _clean(line: str) -> str:
    return visible(scrub(line))


def _within(most: int, headline: str, lines: Sequence[str], ends: Sequence[str]) -> str:
    """The text in so many characters: the lines in the middle give way first."""
    tail = "\n".join(ends)
    room = most - len(headline) - len(tail) - 2
    kept: list[str] = []
    for line in lines:
        if room - len(line) - 1 < len(_CUT) + 1:
            kept.append(_CUT)
            break
        kept.append(line)
        room -= len(line) + 1
    text = "\n".join([headline, *kept, *ends])
    return visible_lines(text if len(text) <= most else f"{text[: most - 1]}{_CUT}")
