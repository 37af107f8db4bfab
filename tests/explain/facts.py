"""Commands with what examples say in place of their fields, as the command line reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from string import Formatter

from airflow_provider_ckpt.cli import cli


def said_in(texts: Iterable[re.Pattern[str]], examples: Iterable[str]) -> dict[str, str]:
    """Named groups with what the examples give for them."""
    found: dict[str, str] = {}
    shown = tuple(examples)
    for pattern in texts:
        for match in filter(None, map(pattern.search, shown)):
            found |= {name: value for name, value in match.groupdict().items() if value is not None}
    return found


def filled(commands: Iterable[str], texts: Iterable[re.Pattern[str]], examples: Iterable[str]) -> None:
    """Parse commands; each field is a fact that the examples have."""
    facts = {"location": "s3://lake/checkpoints/orders", **said_in(texts, examples)}
    for command in commands:
        fields = {name for _, name, _, _ in Formatter().parse(command) if name}
        assert fields <= facts.keys(), command
        ckpt, *words = shlex.split(command.format_map({name: shlex.quote(value) for name, value in facts.items()}))
        assert ckpt == "ckpt"
        name, found, arguments = cli.resolve_command(cli.make_context("ckpt", ["show"]), words)
        assert found is not None
        found.make_context(name, [_number(word) for word in arguments])


def _number(word: str) -> str:
    """A word in capitals where a number or a type goes."""
    return "7" if word == "NUMBER" else "4.3" if word == "VERSION" else word.replace("=TYPE", "=kafka")
