"""The code blocks of the pages, with what their sources say of them.

A block is between fences, or indented by four. HTML comments right before it are for the tests:

``<!-- exit codes: 1 0 -->``
    of its commands, one after another; without it every command ends with 0.
``<!-- output of: ckpt log -->``
    The block is what a command above it on the page that begins so has printed.
``<!-- before: COMMAND -->``
    What somebody has done before; commands of ours are in `tests/docs/prepare.py`.
``<!-- file: NAME -->``
    The reader saves it under this name.
``<!-- run by: tests/test_docs.py -->``
    Another test runs it.
``<!-- made by: tests.reference_page -->``
    That module writes it.
``<!-- picture: OF WHAT -->``
    It is drawn with characters.
``<!-- only made: REASON -->``
    Airflow makes its DAGs and tasks, and does not run them.
``<!-- not run: REASON -->``
    Nothing here can run it.


``python -m tests.docs.blocks`` prints how many there are, and how each is held.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from tests.pages import MADE, pages, text_of

ROOT = Path(__file__).parents[2]
#: What the comments may say.
NOTES = ("exit codes", "not run", "only made", "output of", "before", "file", "run by", "picture", "made by")
#: How tests hold a block of a language.
WAYS = {
    "sh": "run in a shell",
    "bash": "run in a shell",
    "cron": "run in a shell",
    "python": "run by Python",
    "yaml": "read",
    "ini": "read",
    "json": "read",
    "toml": "read",
}
#: The commands of the runbook want a checkpoint with the symptom: test_docs.py parses them, and they are not run as they
#: are there. tests/explain/produced carries out those that the findings print for the symptoms that it can produce.
OF_A_SYMPTOM = "parsed alone"
#: Pages that are made from the code.
GENERATED = {str(page.relative_to(ROOT)) for page in MADE}
_NOTE = re.compile(rf"\s*<!-- ({'|'.join(NOTES)}): (.+?) -->\s*")
_PROGRAM = re.compile(r"(?:[A-Z_]+=\S+ )?(?:ckpt|pip|uvx|make|airflow|eval|python)\b|AIRFLOW_CONN_\w+=")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block.

    Attributes:
        page: Its path below the root of the project.
        line: The line of its first line, counted from 1.
        language: What the fence says; of an indented block ``sh`` or ``text``.
        text: Its lines, without what indents all of them.
        notes: What its comments say, by their first words.
    """

    page: str
    line: int
    language: str
    text: str
    notes: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path, text: str | None = None) -> list[Block]:
    """The code blocks of a page, in order; ``text`` is in place of what the file has."""
    return list(_find(str(page.relative_to(ROOT)), (text or text_of(page)).split("\n")))


def script_of(block: Block) -> str:
    """What a shell runs of a block: all, the commands in a job of GitLab or GitHub, or those of a crontab."""
    if block.language in ("sh", "bash"):
        return block.text
    if block.language == "cron":
        return re.sub(r"^(?:[\d*/,-]+ +){5}", "", block.text, flags=re.MULTILINE)
    if block.language == "yaml":
        return "\n".join(re.findall(r"^(?:- run|  script): (.+)$", block.text, re.MULTILINE))
    return ""


def is_of_airflow(block: Block) -> bool:
    """Whether a block has operators or sensors, which a DAG runs."""
    return block.language == "python" and bool(re.search(r"\bCheckpoint\w+(?:Operator|Sensor)\(", block.text))


def is_of_spark(block: Block) -> bool:
    """Whether a block runs in a session of Spark, or is a statement for one."""
    return block.language == "sql" or (block.language == "python" and block.page == "docs/pipeline.md")


def way_of(block: Block) -> str | None:
    """How a test holds a block; None when none does."""
    for note in ("not run", "run by", "output of", "picture"):
        if note in block.notes:
            return note
    if "only made" in block.notes:
        return "made by Airflow, not run"
    if "made by" in block.notes or block.page in GENERATED or block.page.startswith("docs/format/"):
        return "generated"
    if block.page.startswith("docs/runbook/") and block.language == "sh":
        return OF_A_SYMPTOM
    if is_of_airflow(block):
        return "run by Airflow"
    if "file" not in block.notes and is_of_spark(block):
        return "run by Spark"
    return WAYS.get(block.language)


def counts(blocks: Sequence[Block]) -> dict[str, int]:
    """How many blocks are held in which way."""
    return dict(Counter(str(way_of(block)) for block in blocks).most_common())


def _find(page: str, lines: list[str]) -> Iterator[Block]:
    notes: dict[str, str] = {}
    number, item = 0, None  # the indent of the text of the list that is open
    while number < len(lines):
        line = lines[number]
        begins = number == 0 or not lines[number - 1].strip() or bool(notes)
        indent = " " * (4 if item is None else item + 4)
        if noted := _NOTE.fullmatch(line):
            notes[noted[1]] = "\n".join(filter(None, (notes.get(noted[1]), noted[2])))
            number += 1
        elif fence := re.match(r"( *)```([\w-]*)", line):
            end = next(at for at in range(number + 1, len(lines)) if lines[at].strip() == "```")
            text = "\n".join(inside.removeprefix(fence[1]) for inside in lines[number + 1 : end])
            yield Block(page, number + 2, fence[2] or "text", text, notes)
            number, notes = end + 1, {}
        elif begins and line.startswith(indent):
            inside = re.compile(rf"{indent}|$")
            end = next((at for at in range(number, len(lines)) if not inside.match(lines[at])), len(lines))
            text = dedent("\n".join(lines[number:end])).rstrip()
            language = "sh" if any(map(_PROGRAM.match, text.split("\n"))) else "text"
            yield Block(page, number + 1, language, text, notes)
            number, notes = end, {}
        else:
            if line.strip():
                if mark := re.match(r" *(?:[*-]|\d+\.) +", line):
                    item = len(mark[0])
                elif not line.startswith(" "):
                    item = None
                notes = {}
            number += 1


def show() -> None:
    """Print how many blocks there are, by how they are held, and those that nothing runs, with the reasons."""
    blocks = [block for page in pages() for block in blocks_of(page)]
    print(len(blocks), "blocks on", len({block.page for block in blocks}), "pages")
    for way, number in counts(blocks).items():
        print(f"{number:5} {way}")
    for block in blocks:
        for note in ("not run", "only made"):
            if note in block.notes:
                print(f"{block} is {note}: {block.notes[note]}")


if __name__ == "__main__":
    show()
