"""Numbers that are missing between two others. A number of a file may be anything, so nothing here is of its size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers from ``first`` to ``last``, both inclusive."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"

    @property
    def count(self) -> int:
        """How many they are."""
        return self.last - self.first + 1


def missing_spans(held: Iterable[int], first: int, last: int) -> tuple[Span, ...]:
    """Spans from ``first`` to ``last`` (both inclusive) that are missing, ascending; at most one more than ``held``
    has.
    """
    spans, wanted = [], first
    for number in sorted(number for number in set(held) if first <= number <= last):
        if number > wanted:
            spans.append(Span(wanted, number - 1))
        wanted = number + 1
    if wanted <= last:
        spans.append(Span(wanted, last))
    return tuple(spans)


def spans_of(numbers: Iterable[int]) -> tuple[Span, ...]:
    """Spans without a gap that cover some numbers, ascending."""
    spans: list[Span] = []
    for number in sorted(set(numbers)):
        follows = bool(spans) and spans[-1].last == number - 1
        first = spans.pop().first if follows else number
        spans.append(Span(first, number))
    return tuple(spans)


def batches_text(first: int, last: int) -> str:
    """Batches for people: ``batch 7``, ``batches 4 to 7``; both inclusive."""
    return f"batch {first}" if first == last else f"batches {first} to {last}"


def spans_text(spans: Iterable[Span], most: int = 5) -> str:
    """The first spans for people: ``4, 7 to 2999999999, …``."""
    texts = [str(span) for _, span in zip(range(most + 1), spans, strict=False)]
    return ", ".join(texts[:most]) + (", …" if len(texts) > most else "")


def missing_names(span: Span, name: Callable[[int], str]) -> list[str]:
    """A span as names of what is missing: the first, and in one line (``name: reason``) all that follow it."""
    names = [name(span.first)]
    if span.count == 2:
        names.append(name(span.last))
    elif span.count > 2:
        names.append(f"{name(span.first + 1)}: missing, as all up to {name(span.last)}")
    return names
