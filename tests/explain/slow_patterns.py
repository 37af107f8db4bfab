"""Regular expressions that a hostile text could make slow."""

from __future__ import annotations

from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

#: A repetition that may match more than this is held to be one without a bound.
MANY = 4000
#: So often what a pattern begins with may be repeated.
FEW = 20


def repetitions(pattern: Any) -> Iterator[tuple[Any, bool]]:
    """The repetitions of a parsed regular expression that have no bound to speak of, and whether one is in another."""

    def within(items: Any, inside: bool) -> Iterator[tuple[Any, bool]]:
        for code, argument in items:
            if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
                _, most, what = argument
                if most > MANY:
                    yield what, inside
                yield from within(what, inside or most > 1)
            elif code is codes.SUBPATTERN:
                yield from within(argument[3], inside)
            elif code is codes.BRANCH:
                for branch in argument[1]:
                    yield from within(branch, inside)
            elif code in (codes.ASSERT, codes.ASSERT_NOT):
                yield from within(argument[1], inside)

    yield from within(pattern, False)


def too_slow(pattern: str) -> str | None:
    """Why a hostile text might take long; None when it cannot."""
    parsed = parser.parse(pattern)
    found = list(repetitions(parsed))
    if any(inside for _, inside in found):
        return "a repetition without a bound is within another repetition"
    if len(found) > 1:
        return "two repetitions without a bound: give them one, as in {1,200}"
    if begins_with_repetition(parsed):
        return "it begins with a repetition, which is tried at every place of a text"
    return None


def begins_with_repetition(parsed: Any) -> bool:
    """Whether what comes first may be repeated often."""
    if not parsed:
        return False
    code, argument = parsed[0]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return bool(argument[1] > FEW)
    if code is codes.SUBPATTERN:
        return begins_with_repetition(argument[3])
    return code is codes.BRANCH and any(begins_with_repetition(branch) for branch in argument[1])
