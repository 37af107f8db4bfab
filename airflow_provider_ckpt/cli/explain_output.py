"""Explanations for people, in 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import dropwhile

import click

from airflow_provider_ckpt.cli.render import say, typed
from airflow_provider_ckpt.explain.explanation import Explained, Explanation, Unknown
from airflow_provider_ckpt.explain.message_facts import cut, fill
from airflow_provider_ckpt.explain.page import plain_text
from airflow_provider_ckpt.report.table import counted
from airflow_provider_ckpt.storage.opening import other_name
from airflow_provider_ckpt.visible import visible

_WIDTH = 80
#: Characters of a text that are its headline.
_HEADLINE = 400
#: Exceptions that nothing explains, of which people see so many.
_MOST_UNKNOWN = 5
#: Facts that are of no use to people here.
_NOT_SHOWN = frozenset({"location", "query_id", "run_id"})
_ITEM = re.compile(r"(?:[*-]|\d+\.) ")
#: A word in a command that nobody has said.
_TO_FILL_IN = re.compile(r"(?<![\w/])(?:LOCATION|NEW_LOCATION|ROOT|TYPE|VERSION|NUMBER|TIME|N|HOST|\w+:URI)(?!\w)")


def print_explained(explained: Explained, location: str | None) -> None:
    """All of it: what is explained, what is not, and what to ask next.

    Args:
        explained: The findings.
        location: The checkpoint that was read; None when none was.
    """
    said = (item.evidence for item in explained.explanations if item.evidence and item.evidence.elsewhere)
    for sentence in dict.fromkeys(evidence.sentence for evidence in said):
        _paragraph(sentence)
        click.echo()
    before: Explanation | None = None
    for item in explained.explanations:
        if before is None or before.occurrence != item.occurrence:
            if before is not None:
                if before.match.key != item.match.key:
                    _end(before)
                click.echo()
            _begin(item)
        _print_cause(item)
        before = item
    if before is not None:
        _end(before)
    if explained.unknown or not explained.explanations:
        _print_unknown(explained.unknown, location or explained.location, after=before is not None)
    if location is None and explained.location is not None and before is not None:
        click.echo()
        if hint := other_name(explained.location):
            _paragraph(f"The text names {explained.location}, which ckpt does not open under this name. {hint}")
            return
        _paragraph(
            "The text names a checkpoint, which was not read. With its location as the last word of the same command, "
            "ckpt says which cause it confirms:"
        )
        _command(fill("ckpt explain TEXT {location}", {"location": explained.location}))


def _begin(item: Explanation) -> None:
    if item.code is not None:
        say(f"{item.code}: {item.title}", bold=True)
        return
    title = _headline(item)
    say(title, bold=True)
    if item.match.condition and item.match.condition not in title:
        _paragraph(f"Condition: {item.match.condition}")
    first, last, times = item.met.line, item.met.last_line, item.met.times
    where = f"Line {first}" if times == 1 else f"{counted(times, 'time')}, lines {first} to {last}"
    facts = ", ".join(f"{name} {value}" for name, value in item.facts.items() if name not in _NOT_SHOWN)
    _paragraph(f"{where}." + (f" The text says: {facts}." if facts else ""))


def _headline(item: Explanation) -> str:
    """Part of the pasted text around the known words; the title where only a name was given."""
    message, found = item.match.message, item.match.found
    if not message or message.strip("[]") in (item.match.condition, item.page):
        return item.title
    return cut(message, _HEADLINE, found)


def _print_cause(item: Explanation) -> None:
    click.echo()
    if item.doubt is not None:
        _paragraph(plain_text(f"Not proven: {item.doubt}"))
    else:
        heading = item.cause.heading if item.cause is not None else ""
        _paragraph(plain_text(item.cause_text or "" if item.code else f"{heading or 'Cause'}: {item.cause_text}"))
    if item.evidence is not None:
        _paragraph(f"Evidence: {item.evidence.sentence}")
        for finding in {(found.code, found.message): found for found in item.evidence.findings}.values():
            place = f" ({finding.name})" if finding.name else ""
            _paragraph(f"{finding.code}{place}: {finding.message}", indent="    ")
            if finding.hint:
                _paragraph(finding.hint, indent="    ")
            if item.evidence.result != "confirmed" and finding.commands:
                _command(item.given.in_place(finding.commands[0]))
    if item.commands:
        reads = item.doubt is not None
        _paragraph("Commands, which only read:" if reads else "Commands, which change nothing without --execute:")
        for command in item.commands:
            _command(command)


def _end(item: Explanation) -> None:
    """Print the remedy of the whole page."""
    if item.text and item.code is None:
        click.echo()
        has_words = any(line.startswith("    ") and _TO_FILL_IN.search(line) for line in item.text.splitlines())
        click.echo("Repair (fill in the words in capitals):" if has_words else "Repair:")
        for line in _wrapped(typed(item.text)):
            click.echo(visible(line))
    if item.page is not None:
        click.echo()
        more = "" if item.match.page else f"; ckpt explain {item.page} prints it"
        _paragraph(f"Page of the runbook: {item.page}{more}.")


def _print_unknown(unknown: tuple[Unknown, ...], location: str | None, *, after: bool) -> None:
    if after:
        click.echo()
    if not unknown:
        _paragraph("ckpt does not know this text. It does not guess.")
    else:
        _paragraph(f"ckpt does not know {counted(len(unknown), 'exception')} of this text, and does not guess:")
        for item in unknown[:_MOST_UNKNOWN]:
            times = f", {item.met.times} times" if item.met.times > 1 else ""
            _paragraph(f"Line {item.met.line}{times}: {item.message}", indent="    ")
            if item.thrown_by is not None:
                _paragraph(f"The query's own code threw it, or called what did: {item.thrown_by}.", indent="    ")
    if not after and not (unknown and all(item.thrown_by for item in unknown)):
        place = "LOCATION" if location is None or other_name(location) else fill("{location}", {"location": location})
        _paragraph(
            f"ckpt check {place} --deep says whether the checkpoint is whole. When it is, the cause is the query, its "
            "data, its storage or its cluster."
        )


def _paragraph(text: str, indent: str = "") -> None:
    for line in textwrap.wrap(
        visible(typed(text)), _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    ):
        click.echo(line)


def _command(command: str) -> None:
    """A command on one line, whatever its length: it is there to be copied."""
    say(f"    {command}")


def _is_code(line: str) -> bool:
    return line.startswith("    ")


def _wrapped(markdown: str) -> Iterator[str]:
    """Markdown in the width of a terminal: its code stays as it is, and each item of a list begins a line."""
    for block in re.split(r"\n{2,}", markdown):
        lines = block.split("\n")
        prose = list(dropwhile(_is_code, lines))
        yield from lines[: len(lines) - len(prose)]
        if not prose:
            continue
        item: list[str] = []
        for line in plain_text("\n".join(prose)).split("\n"):
            if _ITEM.match(line) and item:
                yield from _item(" ".join(item))
                item = []
            item.append(line.strip())
        yield from _item(" ".join(item))


def _item(text: str) -> list[str]:
    found = _ITEM.match(text)
    indent = " " * len(found[0]) if found else ""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
