"""The page of the Python API, made from signatures and docstrings: ``python -m tests.api_page``."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from enum import EnumType
from pathlib import Path
from typing import Any

from airflow_provider_ckpt import api

PAGE = Path(__file__).parents[1] / "docs/api.md"

_HEAD = """\
# Python API

Every name that `airflow_provider_ckpt.api` exports, for notebooks and DAGs. Importing it loads neither Airflow nor
PySpark; all its errors are `CheckpointError`. What is not named here may change without notice.

This page is made from the code: `python -m tests.api_page`.
"""
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields):\s*$", re.MULTILINE)
_ITEM = re.compile(r"^ {4}(\w[\w, *]*): ", re.MULTILINE)
#: The type of a field, and what it means.
_ANNOTATED = re.compile(r"Annotated\[(.+), ((?:'|\").+(?:'|\"))\]")
_WIDE = 100
_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def page() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_part(name, getattr(api, name)) for name in sorted(api.__all__, key=str.lower))])


def _part(name: str, value: Any) -> str:
    if not callable(value):
        return f"## {name}\n\nA {type(value).__name__}: {_comment(name)}\n"
    text = f"## {name}\n\n{_signature(name, value)}\n\n{_text(inspect.getdoc(value) or '')}\n"
    members = dict(_members(value)) if inspect.isclass(value) else {}
    lists = [("Fields", list(_fields(value))), ("Members", list(members.values()))]
    return "\n".join([text, *(line for title, lines in lists if lines for line in (f"{title}:\n", *lines, ""))])


def _fields(kind: Any) -> Iterator[str]:
    """A line for each field of a dataclass that says with its type what it means."""
    for field in dataclass_fields(kind) if is_dataclass(kind) else ():
        if found := _ANNOTATED.fullmatch(str(field.type)):
            yield f"* `{field.name}`: {ast.literal_eval(found[2])}"


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """A line for each public method and property with a docstring, also those that a base class of ours has."""
    for owner in reversed(kind.__mro__):
        if not owner.__module__.startswith("airflow_provider_ckpt"):
            continue
        for name, held in vars(owner).items():
            value = held.__func__ if isinstance(held, classmethod | staticmethod) else held
            if name.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
                continue
            doc = inspect.getdoc(getattr(kind, name))
            if doc:
                yield name, _member(name, held, value, _line(_SECTION.split(doc)[0]))


def _member(name: str, held: Any, value: Any, doc: str) -> str:
    if isinstance(value, property):
        return f"* `{name}`: {doc}"
    own = list(inspect.signature(value).parameters.values())[0 if isinstance(held, staticmethod) else 1 :]
    words = ", ".join(
        parameter.name if parameter.kind not in _STARS else str(parameter).split(":")[0] for parameter in own
    )
    return f"* `{name}({words})`: {doc}"


def _comment(name: str) -> str:
    """What a constant means: its docstrings are comments."""
    return {"RULES": "titles of the rules, by code.", "DEPTH": "levels below a root that a search goes down."}[name]


def _signature(name: str, value: Any) -> str:
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except ValueError:
        parameters = []
    if isinstance(value, EnumType):  # what it says of itself is another thing in each Python
        return f"    {name}(value)"
    words = list(map(_parameter, parameters))
    kinds = [parameter.kind for parameter in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        words.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    line = f"    {name}({', '.join(words)})"
    return line if len(line) <= _WIDE else "\n".join([f"    {name}(", *(f"        {word}," for word in words), "    )"])


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter as it is written; a default that has no spelling is said to be there."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    written = _ANNOTATED.sub(r"\1", str(parameter.annotation))
    kind = "" if parameter.annotation is parameter.empty else f": {written}"
    default = getattr(parameter.default, "__name__", repr(parameter.default))
    given = "" if parameter.default is parameter.empty else f" = {'…' if default.startswith('<') else default}"
    return f"{stars}{parameter.name}{kind}{given}"


def _text(doc: str) -> str:
    """A docstring as Markdown: its sections as lists."""
    first, *sections = _SECTION.split(doc)
    parts = [_plain(first).rstrip(), ""]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        items = _ITEM.split(body)
        parts += [f"{title}:", ""]
        if len(items) > 1:
            parts.append(
                "\n".join(f"* `{key}`: {_line(text)}" for key, text in zip(items[1::2], items[2::2], strict=True))
            )
        else:
            parts.append(_line(body))
        parts.append("")
    return "\n".join(parts).rstrip()


def _plain(text: str) -> str:
    return re.sub(
        r"``(.+?)``", r"`\1`", re.sub(r":\w+:`~?([\w.]+)`", lambda match: f"`{match[1].split('.')[-1]}`", text)
    )


def _line(text: str) -> str:
    return _plain(" ".join(text.split()))


if __name__ == "__main__":
    PAGE.write_text(page())
