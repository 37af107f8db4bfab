"""The sources of the next query: the source of the checkpoint that each of them continues."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: What is said of a source that begins at its start.
NEW = "new"
#: What Spark takes for the name of a source (``StreamingNameValidator``), and how long a directory may be called.
_NAME = re.compile(r"[a-zA-Z0-9_]{1,200}")
_POSITION = re.compile(r"0|[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class SourceChange:
    """The sources of the next query.

    Args:
        continued: Each source with the source that it continues; None where it begins at its start. Positions are
            ascending and without a gap, names are sorted.
        dropped: Sources of the checkpoint that no source continues; sorted.
        operators: Spark's names of the stateful operators of the next query, by operator id; None where nobody has
            said them.
    """

    continued: tuple[tuple[str, str | None], ...]
    dropped: tuple[str, ...] = ()
    operators: tuple[str, ...] | None = None

    @property
    def named(self) -> bool:
        """True if the sources have names, rather than positions."""
        return not is_position(self.continued[0][0])

    @property
    def begun(self) -> tuple[str, ...]:
        """The sources that begin at their start."""
        return tuple(new for new, old in self.continued if old is None)

    @property
    def copied(self) -> tuple[str, ...]:
        """The sources of the checkpoint that more than one source continues; sorted."""
        olds = [old for _, old in self.continued if old is not None]
        return tuple(sorted({old for old in olds if olds.count(old) > 1}))

    @property
    def key(self) -> str:
        """The change as text that is never reworded: plans keep it, and :func:`change_of_key` is the way back."""
        said: dict[str, Any] = {"as": dict(self.continued), "drop": list(self.dropped)}
        if self.operators is not None:
            said["operators"] = list(self.operators)
        return json.dumps(said, separators=(",", ":"))

    @property
    def text(self) -> str:
        """The request in words; one sentence."""
        parts = [
            f"source {new} begins at its start" if old is None else f"source {new} continues source {old}"
            for new, old in self.continued
        ]
        parts += [f"source {old} is dropped" for old in self.dropped]
        text = ", ".join(parts)
        return f"{text[0].upper()}{text[1:]}."


def is_position(source_id: str) -> bool:
    """True if a source is known by its position; Spark would take digits for a name as well, which is refused."""
    return _POSITION.fullmatch(source_id) is not None


def parse_change(
    continued: Sequence[str], dropped: Sequence[str], operators: Sequence[str] | None = None
) -> SourceChange:
    """Parse ``NEW=OLD`` texts and names of dropped sources.

    Raises:
        ValueError: They make no sense by themselves; the message says why.
    """
    pairs: dict[str, str | None] = {}
    for text in continued:
        new, equals, old = text.partition("=")
        if not equals or not new or not old:
            raise ValueError(f"{text!r:.80} is not NEW=OLD or NEW=new")
        if new in pairs:
            raise ValueError(f"source {new} of the next query is given twice")
        pairs[new] = None if old == NEW else old
    if not pairs:
        raise ValueError("say of each source of the next query what it continues")
    _require_ids(pairs)
    if twice := sorted({old for old in dropped if dropped.count(old) > 1}):
        raise ValueError(f"source {twice[0]} is dropped twice")
    if both := sorted({*dropped} & {*filter(None, pairs.values())}):
        raise ValueError(f"source {both[0]} is both continued and dropped")
    news = sorted(pairs, key=int) if is_position(next(iter(pairs))) else sorted(pairs)
    return SourceChange(
        tuple((new, pairs[new]) for new in news),
        tuple(sorted(dropped)),
        None if operators is None else tuple(operators),
    )


def _require_ids(ids: Iterable[str]) -> None:
    ids = list(ids)
    positions = [new for new in ids if is_position(new)]
    if len(positions) == len(ids):
        if missing := sorted({*range(len(ids))} - {*map(int, ids)}):
            raise ValueError(f"the positions of {len(ids)} sources are 0 to {len(ids) - 1}; {missing[0]} is missing")
        return
    if positions:
        other = next(new for new in ids if new not in positions)
        raise ValueError(
            f"{positions[0]} is a position and {other!r:.80} a name; give all sources the one or the other"
        )
    for new in ids:
        if not _NAME.fullmatch(new) or new.isdigit():
            raise ValueError(
                f"{new!r:.80} is not the name of a source: Spark allows letters of ASCII, digits and underscores, and "
                "ckpt not digits alone and at most 200 characters"
            )
        if new == NEW:
            raise ValueError(f"a source cannot be called {NEW!r} here: that means one that begins at its start")


def change_of_key(key: str) -> SourceChange:
    """The change that a plan keeps. Raises ValueError for anything else."""
    said = parse_json(key)
    if not isinstance(said, dict) or not said.keys() <= {"as", "drop", "operators"}:
        raise ValueError("the plan does not say what the sources continue")
    pairs, lists = said.get("as"), [said.get("drop"), said.get("operators", [])]
    wrong = ValueError("the plan does not say what the sources continue")
    if not isinstance(pairs, dict):
        raise wrong
    dropped, operators = ([str(text) for text in each] if isinstance(each, list) else None for each in lists)
    if dropped is None or operators is None:
        raise wrong
    texts = [f"{new}={NEW if old is None else old}" for new, old in pairs.items()]
    return parse_change(texts, dropped, operators if "operators" in said else None)
