"""Answers for an assistant: documents that are bounded, without secrets, and with hidden characters spelled out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any, TypedDict

from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible_lines

#: An answer has at most so many characters as JSON.
MOST_CHARACTERS = 60_000
#: So many places are named in which something was left out.
MOST_NAMED = 50
#: Items of a list or an object that are kept, and characters of a text, tried in this order.
_BOUNDS = ((2_000, 20_000), (500, 4_000), (100, 2_000), (20, 1_000), (5, 500), (2, 200))


class Shortened(TypedDict):
    """Parts of a document that were left out."""

    at: Annotated[str, "where in the document, such as `batches.3.sources`"]
    kept: Annotated[int, "number of items or characters that are there"]
    of: Annotated[int, "number that there would be"]


def bounded(document: Any, secrets: Sequence[str] = (), most: int = MOST_CHARACTERS) -> tuple[Any, list[Shortened]]:
    """A document as an assistant gets it, and what was left out: the ends of long lists, objects and texts.

    Args:
        document: The document that a command prints with ``--json``.
        secrets: Texts that must not appear.
        most: Characters of the answer as JSON.
    """
    for items, characters in _BOUNDS:
        shortened: list[Shortened] = []
        kept = _kept(document, "", (items, characters), shortened)
        if _fits(kept, most) and _fits(shown := _shown(kept, secrets), most):
            return shown, shortened[:MOST_NAMED]
    return {}, [{"at": "", "kept": 0, "of": 1}]


def _fits(document: Any, most: int) -> bool:
    return len(json.dumps(document)) <= most


def _kept(value: Any, at: str, bounds: tuple[int, int], shortened: list[Shortened]) -> Any:
    most = bounds[isinstance(value, str)]
    if isinstance(value, str | list | dict) and len(value) > most:
        shortened.append({"at": at[:100], "kept": most, "of": len(value)})
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, list):
        return [_kept(item, f"{at}.{n}".lstrip("."), bounds, shortened) for n, item in enumerate(value[:most])]
    if isinstance(value, dict):
        items = islice(value.items(), most)
        return {key[: bounds[1]]: _kept(item, f"{at}.{key:.50}".lstrip("."), bounds, shortened) for key, item in items}
    return value


def _shown(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return visible_lines(scrub(value, secrets))
    if isinstance(value, list):
        return [_shown(item, secrets) for item in value]
    if isinstance(value, dict):
        return {_shown(key, secrets): _shown(item, secrets) for key, item in value.items()}
    return value
