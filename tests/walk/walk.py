"""One random walk: a query of real Spark, and changes of its checkpoint, with Spark started between them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.dying import KILLED
from tests.source_changes.real_query import Spark
from tests.spark_lab import STATE_CONFS, provider_conf
from tests.walk import command
from tests.walk.command import Answer
from tests.walk.model import OPERATORS, SHAPES, Read, Reader, World
from tests.walk.tree import newest, read_output, settle, snapshot, write_file

EVOLUTION = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
DONE, REFUSED = 0, 4
BESIDE = "beside a supervisor"
#: How often a change is tried in each way.
WAYS = {"plain": 6, "by plan": 2, "killed": 5, "with a second operator": 2, BESIDE: 2}
#: Changes that take a fence, behind which a supervisor may start the query meanwhile.
TAKE_A_FENCE = {"rollback", "sources"}


class WrongError(Exception):
    """Something that a walk has shown to be wrong."""


@dataclass(slots=True)
class Undoable:
    """A change that has been carried out.

    Args:
        name: Its command.
        before: The files of the checkpoint before it.
        world: What was expected before it.
        heal: What mends by hand the damage that came before the change, once the change is taken back.
        spark_ran: Whether the query has run since.
    """

    name: str
    before: dict[str, bytes]
    world: World
    heal: Callable[[], None] = lambda: None
    spark_ran: bool = False


@dataclass(slots=True)
class Walk:
    """A query, its files, and what has been done to it.

    Args:
        random: What it draws from.
        spark: In which the query runs.
        home: A new directory.
        counts: What all walks have done, by words.
        log: What this walk has done, in order.
    """

    random: Random
    spark: Spark
    home: Path
    counts: Counter[str]
    log: list[str] = field(default_factory=list)
    shape: str = ""
    store: str = ""
    world: World = field(init=False)
    undoable: list[Undoable] = field(default_factory=list)
    letters: dict[tuple[int, int], str] = field(default_factory=dict)
    output: Path | None = None
    _readers: int = 0
    _places: int = 0

    def __post_init__(self) -> None:
        self.shape = self.random.choice(SHAPES)
        self.store = "stateless" if self.shape == "stateless" else self.random.choice([*STATE_CONFS][1:])
        if self.shape != "sum" and self.random.random() < 0.4:
            self.output = self.home / "output"
        sources = 2 if self.shape == "join" else self.random.choice((1, 1, 2)) if self.shape != "window" else 1
        readers = tuple(self.new_reader(origin, str(origin)) for origin in range(sources))
        self.world = World(self.shape, readers, self.home / "checkpoint")
        sink = "file sink" if self.output else "foreachBatch"
        self.note(f"{self.shape} on {self.store}, {sources} sources, {sink}")

    # --- the query -------------------------------------------------------------------------------------------------

    @property
    def checkpoint(self) -> Path:
        """Where the query's checkpoint is now."""
        return self.world.location

    @property
    def named(self) -> bool:
        """Whether the sources of the query have names."""
        return not self.world.readers[0].source_id.isdigit()

    @property
    def confs(self) -> dict[str, str]:
        """What the query sets."""
        confs = {key: provider_conf(value) for key, value in STATE_CONFS[self.store].items()}
        return {**confs, **(EVOLUTION if self.named else {})}

    def new_reader(self, origin: int, source_id: str) -> Reader:
        """A source that begins at the first file of its directory."""
        self._readers += 1
        return Reader(self._readers, origin, source_id)

    def write(self, files: int) -> None:
        """Give each directory so many new files; what nobody has read yet may come with another content."""
        letter = self.random.choice("AB")
        for origin in {reader.origin for reader in self.world.readers}:
            first = self.world.next_file(origin)
            for number in range(first, first + files):
                if (origin, number) not in self.letters or number > first:  # a batch in flight keeps its file
                    self.letters[origin, number] = letter
                    write_file(self.home / f"origin{origin}", origin, number, letter)

    def command(self) -> dict[str, Any]:
        """The query as the process of Spark takes it."""
        sources = [
            {"path": str(self.home / f"origin{reader.origin}"), "name": reader.source_id if self.named else None}
            for reader in self.world.readers
        ]
        return {
            "shape": self.shape,
            "confs": self.confs,
            "sources": sources,
            "checkpoint": str(self.checkpoint),
            "output": str(self.output) if self.output else None,
        }

    def run(self) -> None:
        """Start the query; it has to do what the gate has said, and its sink must hold what the model expects."""
        first = {"spark_error": None, "resumes_at_batch": 0}
        foretold = self.gate() if self.checkpoint.exists() else first
        told = self.spark.ask(self.command())
        settle(self.checkpoint)
        self.counts["starts of Spark"] += 1
        if told["error"] != foretold["spark_error"]:
            raise WrongError(f"the gate said {foretold['spark_error']}, Spark {told['error']}: {told['message']}")
        ran = self.absorb(told)
        if ran and min(ran) != foretold["resumes_at_batch"]:
            raise WrongError(f"the gate said batch {foretold['resumes_at_batch']}, Spark began with {min(ran)}")
        for change in self.undoable:
            change.spark_ran = True
        self.note(f"Spark ran {ran}")
        if told["error"] is None:
            self.compare()

    def absorb(self, told: dict[str, Any]) -> list[int]:
        """Take in what a run has committed; the batches."""
        ran = []
        for batch_id, rows in told["progress"]:
            if (self.checkpoint / "commits" / str(batch_id)).exists() and batch_id not in ran:
                ran.append(batch_id)
                if batch_id not in self.world.batches:
                    readers = [reader for reader, count in zip(self.world.readers, rows, strict=True) if count]
                    self.world.batches[batch_id] = tuple(self._next(reader) for reader in readers)
        self.world.sink |= {int(key): [tuple(row) for row in rows] for key, rows in told["batches"]}
        return ran

    def _next(self, reader: Reader) -> Read:
        number = self.world.position(reader)
        return Read(reader.reader, reader.origin, number, self.letters[reader.origin, number])

    def compare(self) -> None:
        """The rows of the sink are those of the model."""
        found = read_output(self.output) if self.output else self.world.given()
        wanted = self.world.expected()
        if found != wanted:
            extra, lacking = Counter(found) - Counter(wanted), Counter(wanted) - Counter(found)
            raise WrongError(f"rows: too many {dict(extra)}, lacking {dict(lacking)}; batches {self.world.batches}")

    def gate(self, *words: str) -> dict[str, Any]:
        """What the gate says of a start of the query as it is declared now."""
        confs = [word for key, value in self.confs.items() for word in ("--conf", f"{key}={value}")]
        sources = [word for reader in self.world.readers for word in ("--source", f"{reader.source_id}=file")]
        operators = [word for name in OPERATORS[self.shape] for word in ("--operator", name)]
        answer = self.ckpt("gate", str(self.checkpoint), *confs, *sources, *operators, *self.sink, "--json", *words)
        if answer.code not in (0, 1):
            raise WrongError(f"gate: {answer.code} {answer.err}")
        return answer.document

    # --- commands --------------------------------------------------------------------------------------------------

    @property
    def sink(self) -> list[str]:
        """How the sink is declared."""
        return ["--sink", f"file:{self.output}" if self.output else "foreachBatch"]

    @property
    def trim(self) -> list[str]:
        """How the log of a file sink goes back with the query."""
        return ["--trim-sink-log"] if self.output else []

    def ckpt(self, *words: str, dies_at: int = 0) -> Answer:
        """Run a command."""
        return command.ckpt(words, self.home / "commands", dies_at=0) if not dies_at else self._dying(words, dies_at)

    def _dying(self, words: Sequence[str], dies_at: int) -> Answer:
        return command.ckpt(words, self.home, dies_at=dies_at)

    def change(
        self, name: str, words: Sequence[str], then: Callable[[], None], *, heal: Callable[[], None] | None = None
    ) -> bool:
        """Carry a change out in one of the ways; whether it was made.

        Args:
            name: The command.
            words: Its arguments.
            then: What the model does once it is made.
            heal: What mends by hand the damage that has come before it, when it is refused or taken back.
        """
        before, world = snapshot(self.checkpoint), self.world.copy()
        ways = {way: weight for way, weight in WAYS.items() if way != BESIDE or name in TAKE_A_FENCE}
        (way,) = self.random.choices([*ways], [*ways.values()])
        answer, told = self._carried_out(way, name, words)
        self.note(f"{name} {' '.join(words[:6])} ({way}): {answer.code}")
        if answer.code not in (DONE, REFUSED):
            raise WrongError(f"{name} ({way}): exit code {answer.code}: {answer.err or answer.out}")
        self.counts[f"{name}, {way}: {'made' if answer.code == DONE else 'refused'}"] += 1
        if told is not None:
            self.absorb(told)
            for change in self.undoable:
                change.spark_ran = True
        after = snapshot(self.checkpoint)
        if answer.code == REFUSED:
            self.counts[f"refused: {name}: {' '.join(answer.err.split()[:18])}"] += 1
            if way == "plain" and after != before:
                raise WrongError(f"{name} was refused and has changed {difference(before, after)}")
            if heal:
                heal()
            return False
        if after != before:  # what was so already is no change that an undo takes back
            self.undoable.append(Undoable(name, before, world, heal or (lambda: None), spark_ran=told is not None))
        then()
        if told is not None:
            self.absorb(told)  # of a start behind the change
        return True

    def _carried_out(self, way: str, name: str, words: Sequence[str]) -> tuple[Answer, dict[str, Any] | None]:
        """The answer, and what came of a query that was started beside the change."""
        stopped = [] if name == "fence" else ["--i-know-it-is-stopped", "--quiet-period", "0"]
        accepted = [] if name == "fence" else ["--accept-sink", "unknown", "--accept-sink", "duplicated"]
        words = [name, str(self.checkpoint), *words, "--execute", *accepted, "--json"]
        match way:
            case "killed":
                return self._killed([*words, *stopped]), None
            case "with a second operator":
                return self._twice([*words, *stopped]), None
            case "by plan":
                return self._by_plan(name, words, stopped), None
            case _ if way == BESIDE:
                self.spark.begin(self.command())
                time.sleep(self.random.random() * 2)
                answer = self.ckpt(*words, "--fence", "--wait-for-batch", "60", "--quiet-period", "0")
                told = self.spark.end()
                settle(self.checkpoint)
                return answer, told
        return self.ckpt(*words, *stopped), None

    def _killed(self, words: Sequence[str]) -> Answer:
        """Killed before one of its first writes, then the same command again."""
        answer = self.ckpt(*words, dies_at=self.random.randint(1, 60))
        if answer.code == KILLED:
            self.counts["killed"] += 1
            return self.ckpt(*words, "--break-lock")
        return answer

    def _twice(self, words: Sequence[str]) -> Answer:
        """The same command by two people at once: one of them makes the change."""
        begun = [command.start(words, self.home / "commands") for _ in range(2)]
        answers = sorted((command.finish(each) for each in begun), key=lambda answer: answer.code)
        return answers[0]

    def _by_plan(self, name: str, words: Sequence[str], stopped: Sequence[str]) -> Answer:
        """A plan that is written to a file, and carried out from it."""
        if name == "fence":
            return self.ckpt(*words)
        self._places += 1
        plan = str(self.home / f"plan{self._places}.json")
        without = [word for word in words if word != "--execute"]
        answer = self.ckpt(*without, "--plan-out", plan)
        if answer.code != DONE or not Path(plan).exists():
            return answer
        accepted = words[words.index("--accept-sink") :]
        return self.ckpt(name, str(self.checkpoint), "--plan", plan, "--execute", *accepted, *stopped)

    def undo(self) -> None:
        """Take the newest change back."""
        if not self.undoable:
            return
        change, there = self.undoable[-1], snapshot(self.checkpoint)
        words = ["undo", str(self.checkpoint), "--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--json"]
        words += ["--accept-sink", "unknown", "--accept-sink", "duplicated"]
        way = self.random.choice(("plain", "killed"))
        answer = self._killed(words) if way == "killed" else self.ckpt(*words)
        self.note(f"undo of {change.name} ({way}): {answer.code}")
        self.counts[f"undo of {change.name}: {'made' if answer.code == DONE else 'refused'}"] += 1
        if answer.code == REFUSED:
            self.counts[f"refused: undo: {' '.join(answer.err.split()[:18])}"] += 1
            return
        if answer.code != DONE:
            raise WrongError(f"undo of {change.name}: exit code {answer.code}: {answer.err or answer.out}")
        self.undoable.pop()
        now = snapshot(self.checkpoint)
        if not change.spark_ran:
            self.counts["undone byte by byte"] += 1
            if now != change.before:
                raise WrongError(f"the undo of {change.name} left {difference(change.before, now)}")
        if now != there:  # of a fence that a start has consumed nothing is left to take back
            self.world = change.world
            change.heal()

    def note(self, text: str) -> None:
        """What was done, for whoever has to find out."""
        self.log.append(text)

    def committed(self) -> int:
        """The newest committed batch."""
        return newest(self.checkpoint, "commits")


def difference(before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, list[str]]:
    """The names of the files that are not the same."""
    return {
        "gone": sorted(before.keys() - after.keys())[:20],
        "new": sorted(after.keys() - before.keys())[:20],
        "other": sorted(name for name in before.keys() & after.keys() if before[name] != after[name])[:20],
    }
