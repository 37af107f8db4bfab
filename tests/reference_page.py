"""What docs/reference.md has from the code: ``python -m tests.reference_page`` writes it anew.

Below the heading of each command its synopsis, of each class of Airflow its constructor, and all errors. What they mean is
written by people; ``tests/test_docs.py`` holds that against the code as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import click

from airflow_provider_ckpt import errors
from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.cli import cli
from airflow_provider_ckpt.explain.alert import MOST_CHARS
from airflow_provider_ckpt.fleet import DEPTH, THREADS
from tests.option_names import names_of
from tests.package import PACKAGE

PAGE = PACKAGE.parent / "docs/reference.md"
MARK = "<!-- made by: tests.reference_page -->"
_WIDE = 110
#: Options that every command has, which are in a table of their own.
_OF_ALL = {"--storage-option", "--json", "--help"}
_MADE = re.compile(rf"\n{re.escape(MARK)}\n(?:```text\n(?:(?!```).*\n)*```|(?:\|.*\n)*\|.*)\n")
_HEADING = re.compile(r"^### (?:ckpt ([a-z-]+).*|((?:Checkpoint|Query)\w+|ExplainNotifier)|(Errors))$", re.MULTILINE)
#: Constants that are defaults of constructors.
_CONSTANTS = {"WAIT_S": WAIT_S, "DEPTH": DEPTH, "THREADS": THREADS, "MOST_CHARS": MOST_CHARS}
#: Rooms whose classes the page has.
FACES = ("hooks", "notifications", "operators", "sensors", "triggers")
CLASSES = {
    node.name: node
    for room in FACES
    for path in (PACKAGE / room).rglob("*.py")
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.ClassDef) and node.name.startswith(("Checkpoint", "Query", "ExplainNotifier"))
}


def page(text: str) -> str:
    """The page with what the code says, in place of what it said when the page was written."""
    return _HEADING.sub(lambda found: f"{found[0]}\n\n{MARK}\n{_made(*found.groups())}", written(text))


def written(text: str) -> str:
    """What people have written of a page."""
    return _MADE.sub("", text)


def _made(command: str | None, kind: str | None, _: str | None) -> str:
    if command:
        return f"```text\n{synopsis(command)}\n```"
    return f"```text\n{constructor(kind)}\n```" if kind else error_table()


def synopsis(name: str) -> str:
    """How a command is typed: arguments, options, the values and defaults that they have, and which may be repeated."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    words = [f"ckpt {name}"]
    for param in command.params:
        if isinstance(param, click.Argument):
            words.append(param.make_metavar(click.Context(command)))
        elif isinstance(param, click.Option) and not _OF_ALL & {*param.opts}:
            words.append(_option(param, click.Context(command)))
    return _wrapped(words)


def _option(option: click.Option, context: click.Context) -> str:
    names = "|".join(name for name in names_of(option) if name.startswith("--"))
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    default = option.get_default(context)
    shown = f"={default}" if isinstance(default, str | int | float) and default != "" and not option.is_flag else ""
    text = f"{names}{value}{shown}"
    more = "…" if option.multiple else ""
    return f"{text}{more}" if option.required else f"[{text}]{more}"


def constructor(name: str) -> str:
    """What the constructor of a class takes, with types and defaults, its own classes of ours included; read, not run."""
    return _wrapped([f"{name}(", *dict.fromkeys(_parameters(name)), ")"])


def _parameters(name: str) -> Iterator[str]:
    node = CLASSES[name]
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in CLASSES:
            yield from _parameters(base.id)
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            yield from _of_signature(item.args)


def _of_signature(arguments: ast.arguments) -> Iterator[str]:
    placed = arguments.args[1:]
    without = len(placed) - len(arguments.defaults)
    for at, argument in enumerate(placed):
        yield _parameter(argument, arguments.defaults[at - without] if at >= without else None)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, default)


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}{f' = {_value(default)}' if default else ''},"


def _value(default: ast.expr) -> str:
    """A default as a reader can type it: the value of a constant, where the code names one."""
    return repr(_CONSTANTS[default.id]) if isinstance(default, ast.Name) else ast.unparse(default)


def error_table() -> str:
    """Each error with its code, the exit code, and whether another try can help."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    rows = (
        f"| `{kind.__name__}` | `{kind.code}` | {kind.exit_code} | {'yes' if kind.retryable else ''} | {_first(kind)} |"
        for kind in kinds
    )
    return "\n".join(("| error | code | exit code | another try can help | is |", "|---|---|---|---|---|", *rows))


def _first(kind: type) -> str:
    """The first sentence of a docstring, in one line."""
    text = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    return text.replace("``", "`").replace("|", "\\|")


def _wrapped(words: list[str]) -> str:
    """Words, none of which is broken, in lines that are indented but for the first."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) >= _WIDE:
            lines.append(line)
            line = "    "
        line += word if not line.strip() or line.endswith("(") or word == ")" else f" {word}"
    return "\n".join((*lines, line))


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
