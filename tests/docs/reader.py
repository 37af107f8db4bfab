"""Reads a page as its reader does: runs its shell blocks, saves its files, and compares what it shows of the output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.docs.blocks import WAYS, Block, script_of, way_of
from tests.docs.lake import Lake
from tests.docs.shell import Done, commands_of, run, shows


class Reader:
    """Reads pages in one place.

    Attributes:
        done: Every command that has ended, as the pages have it.
    """

    def __init__(self, lake: Lake) -> None:
        self.done: list[Done] = []
        self._lake = lake

    def read(self, blocks: Sequence[Block]) -> Iterator[str]:
        """Run the blocks of a page in order; gives what did not end, or is not shown, as the page says."""
        for block in blocks:
            if not {"not run", "run by"} & block.notes.keys():
                yield from self._prepare(block)
                yield from self._take(block)

    def _prepare(self, block: Block) -> Iterator[str]:
        for item in self._run(block.notes.get("before", "")):
            if item.code:
                yield f"before {block}: {item.command}\n{item.output}"

    def _take(self, block: Block) -> Iterator[str]:
        if name := block.notes.get("file"):
            (self._lake.here / self._lake.here_is(name)).write_text(self._lake.here_is(block.text))
        elif way_of(block) == WAYS["python"]:
            (self._lake.here / ".block.py").write_text(self._lake.here_is(block.text))
            yield from self._ended_otherwise(block, "python .block.py")
        elif script := script_of(block):
            yield from self._ended_otherwise(block, script)
        elif command := block.notes.get("output of"):
            printed = [item.output for item in self.done if " ".join(item.command.split()).startswith(command)]
            if not any(shows(block.text, output) for output in printed):
                yield "\n".join((f"{block} is not what {command} prints:", *printed))

    def _ended_otherwise(self, block: Block, script: str) -> Iterator[str]:
        """The commands of a block that did not end with the code that the page says."""
        ended = self._run(script)
        self.done += ended
        expected = [int(code) for code in block.notes.get("exit codes", "").split()] or [0] * len(commands_of(script))
        if len(expected) != len(ended):
            yield f"{block} has {len(expected)} exit codes, and these have ended: {[item.command for item in ended]}"
        for code, item in zip(expected, ended, strict=False):
            if item.code != code:
                yield f"{block} ended with {item.code}, not {code}: {item.command}\n{item.output}"

    def _run(self, script: str) -> list[Done]:
        """Run commands where they say that things are."""
        lake, ended = self._lake, []
        for item in run(lake.here_is(script), lake.here, lake.environment):
            lake.learn(item.output)
            ended.append(Done(lake.as_on_the_page(item.command), item.code, lake.as_on_the_page(item.output)))
        return ended
