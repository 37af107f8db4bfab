"""Runs the shell blocks of a page as a reader does: one shell, in one directory, one command after another."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: The exit code of a command that was ended, as `timeout` has it.
DID_NOT_END = 124


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended.

    Attributes:
        command: As the page has it.
        code: Its exit code.
        output: What it has printed, both streams.
    """

    command: str
    code: int
    output: str


def commands_of(text: str) -> list[str]:
    """The commands of a block: a script is one, and a command may go over several lines. Targets of the Makefile are not
    among them: each is a test of its own.

    Raises:
        ValueError: The last command has no end.
    """
    if text.startswith("#!"):
        return [text]
    found, before = [], ""
    for line in text.split("\n"):
        before += line
        if not before.endswith("\\") and _is_whole(before):
            if before.strip() and not before.lstrip().startswith(("#", "make ")):
                found.append(before)
            before = ""
        else:
            before += "\n"
    if before.strip():
        raise ValueError(f"it has no end: {before}")
    return found


def _is_whole(text: str) -> bool:
    """Whether no quote or bracket of a shell is open."""
    closed = re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|#.*", "", text)
    return not re.search(r"['\"]", closed)


def run(text: str, directory: Path, environment: Mapping[str, str], *, timeout_s: float = 1200) -> list[Done]:
    """Run the commands of a block in one shell.

    Args:
        text: The block.
        directory: Where the shell is.
        environment: Its variables.
        timeout_s: For all of them.
    """
    commands = commands_of(text)
    if not commands:
        return []
    ends = directory / ".ends"
    ends.mkdir(exist_ok=True)
    script = ""
    for number, command in enumerate(commands):
        script += f"{{ {command}\n}} > {ends}/{number} 2>&1 < /dev/null\necho $? > {ends}/{number}.code\n"
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(["bash", "-c", script], cwd=directory, env=dict(environment), timeout=timeout_s, check=False)
    done = []
    for number, command in enumerate(commands):
        code, output = ends / f"{number}.code", ends / str(number)
        if output.exists():
            done.append(Done(command, int(code.read_text()) if code.exists() else DID_NOT_END, output.read_text()))
    for path in ends.iterdir():
        path.unlink()
    return done


#: What differs from run to run, and what is written for it.
_VARIES = (
    (r"[─━│┃┌┐└┘├┤┬┴┼┏┓┗┛┡┩╇┳╋╞╡═]+", " "),
    (r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}", "BACKUP"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"\b[0-9a-f]{16}\b", "PLAN"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{8}\b", "ID"),
    (r"\b[\d.]+ (d|h|min|s) ago\b", "AGO"),
    (r"\bin [\d.]+ (d|h|min|s)\b( \d+ (h|min|s)\b)?", "SOON"),
    (r"\b[\d.]+ [kM]?B\b|\b\d+ bytes\b", "SIZE"),
    (r"\b\w+@[\w.-]+", "USER"),
)


def said(output: str) -> str:
    """An output in one line, without borders of tables, and without what differs from run to run."""
    for pattern, name in _VARIES:
        output = re.sub(pattern, f" {name} " if name.isupper() else name, output)
    return " ".join(output.split())


def shows(shown: str, output: str) -> bool:
    """Whether a page shows what a command has printed; ``…`` leaves something out."""
    at, whole = 0, said(output)
    for part in map(said, shown.split("…")):
        at = whole.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
