"""Options that a text names: each has to be one of the command that says it, or to be named with its command."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from airflow_provider_ckpt.cli import MODULES, cli
from airflow_provider_ckpt.cli.options import Renamed

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?![\w-])")
#: An example of a command, up to the end of its sentence; what one says of "its command" is of another one, too.
_NAMED = re.compile(r"\bckpt ([a-z-]+)\b([^.;]|\.(?! |$))*|\bits command\b[^.;]*|\bpip install\b.*", re.MULTILINE)


def names_of(option: click.Option) -> list[str]:
    """The names by which an option is shown, without former ones."""
    return option.opts[:1] if isinstance(option, Renamed) else [*option.opts, *option.secondary_opts]


@cache
def options_of(command: str) -> frozenset[str]:
    """The long options of a command."""
    assert cli.commands is not None
    options = (param for param in cli.commands[command].params if isinstance(param, click.Option))
    return frozenset(name for option in options for name in names_of(option) if name.startswith("--"))


def foreign_options(command: str, text: str) -> list[str]:
    """Options in what a command says that are none of its own, and are not named with the command that has them."""
    found = []
    rest = text
    for named in _NAMED.finditer(text):
        rest = rest.replace(named[0], " ")
        if named[1] in MODULES:
            found += [option for option in _OPTION.findall(named[0]) if option not in options_of(named[1])]
    own = options_of(command) if command in MODULES else frozenset()
    return found + [option for option in _OPTION.findall(rest) if option not in own]


def texts_of(package: Path) -> Iterator[tuple[str, str]]:
    """Where a text of the code is, and the text; without docstrings."""
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text())
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield f"{path.relative_to(package)}:{node.lineno}", node.value
