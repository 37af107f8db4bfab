"""Kinds of sources that other packages know: entry points of the group ``ckpt.source_kinds``.

An entry point has the name of its kind and leads to a :class:`~airflow_provider_ckpt.codec.source_kind.SourceKind`.
The names are asked for when one is met that is none of ckpt's own, and a package is imported when its kind is used.
What is wrong with a package is a sentence in the kind that it gives (``problem``): offsets are read and shown all the
same, and are not compared or counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.codec.source_kind import SourceKind

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ckpt.source_kinds"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}", re.ASCII)


@cache
def _registered() -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points of all installed packages, by name; a package that is on the path twice counts once."""
    from importlib.metadata import entry_points  # 20 ms, for the few that need it

    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, {}).setdefault((_package(point), point.value), point)
    return {name: tuple(points.values()) for name, points in found.items()}


def forget() -> None:
    """Ask for what is installed anew."""
    _registered.cache_clear()
    _load.cache_clear()


def names(built_in: Iterable[str]) -> tuple[str, ...]:
    """The names that can be used: those that no kind of ckpt's own has."""
    taken = {name.lower() for name in built_in}
    return tuple(sorted(name for name in _registered() if name.lower() not in taken and _NAME.fullmatch(name)))


def refused(built_in: Iterable[str]) -> tuple[str, ...]:
    """One sentence for each registration that is never used."""
    usable = names(built_in)
    return tuple(
        f"{_whose(points)} registers the source type {name!r:.60}, which is not used: it is a type of ckpt itself, or "
        "no name of a type."
        for name, points in sorted(_registered().items())
        if name not in usable
    )


def load(name: str, built_in: Iterable[str]) -> SourceKind:
    """The kind of a name; one with a ``problem`` where its package is broken. Raises KeyError for an unknown name."""
    if name not in names(built_in):
        raise KeyError(name)
    return _load(name)


@cache
def _load(name: str) -> SourceKind:
    points = _registered()[name]
    if len({point.value for point in points}) > 1:
        return _broken(name, points, "they do not agree on what it is")
    try:
        kind = points[0].load()
    except (Exception, SystemExit) as error:  # the code of somebody else
        return _broken(name, points, f"it cannot be imported ({_said(error)})")
    if not isinstance(kind, SourceKind):
        return _broken(name, points, f"{points[0].value} is not a SourceKind")
    if kind.name != name:
        return _broken(name, points, f"it calls itself {kind.name!r:.60}")
    return _guarded(kind)


def _broken(name: str, points: tuple[EntryPoint, ...], why: str) -> SourceKind:
    problem = f"the source type {name} of {_whose(points)} cannot be used: {why}"
    return SourceKind(name, lambda value: True, lambda value: {}, ordered=False, problem=problem)


def _guarded(kind: SourceKind) -> SourceKind:
    """A kind whose errors are ValueErrors that name it, and that fits only what all its functions can read."""

    def safely(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            try:
                return function(*given)
            except (Exception, SystemExit) as error:
                raise ValueError(f"the source type {kind.name} failed: {_said(error)}") from error

        return call

    def fits(value: Any) -> bool:
        return bool(kind.fits(value)) and _are_positions(kind.positions(value)) and _are_texts(kind, value)

    return replace(
        kind,
        fits=safely(fits),
        positions=safely(kind.positions),
        identity=safely(kind.identity),
        in_first_snapshot=safely(kind.in_first_snapshot),
        scales=safely(kind.scales),
        span=safely(kind.span) if kind.span else None,
        pieces=safely(kind.pieces) if kind.pieces else None,
        joined=safely(kind.joined) if kind.joined else None,
        answers=(),
    )


def _are_positions(found: Any) -> bool:
    """True if positions can be compared. Otherwise raises TypeError, which says what was found."""
    if isinstance(found, Mapping) and all(
        isinstance(partition, str) and isinstance(at, tuple) and at and all(type(number) is int for number in at)
        for partition, at in found.items()
    ):
        return True
    raise TypeError(f"positions has to give tuples of int by partition, not {found!r:.80}")


def _are_texts(kind: SourceKind, value: Any) -> bool:
    identity, scales, first = kind.identity(value), kind.scales(value), kind.in_first_snapshot(value)
    if isinstance(identity, str) and isinstance(scales, Mapping) and isinstance(first, bool):
        return True
    raise TypeError("identity has to give text, scales a mapping, and in_first_snapshot true or false")


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"


def _whose(points: tuple[EntryPoint, ...]) -> str:
    return " and ".join(sorted({_package(point) for point in points}))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200]
