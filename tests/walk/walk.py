"""One random walk: a query of real Spark, and changes of its checkpoint, with Spark started between them."""

from __future__ import annotations

import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.changes.sources.real_query import Spark
from tests.spark_lab import STATE_CONFS, provider_conf
from tests.walk import topics
from tests.walk.command import Answer
from tests.walk.model import OPERATORS, RECORDS, SHAPES, Read, Reader, World
from tests.walk.offsets import as_json, entry_of, record_of
from tests.walk.tally import Tally
from tests.walk.tree import (
    difference,
    logs_of,
    newest,
    read_output,
    recorded,
    settle,
    snapshot,
    without_tables,
    write_file,
)
from tests.walk.ways import BESIDE, BY_PLAN, DONE, KILLED, PLAIN, REFUSED, TWICE, WAYS_OF, Change, Hand

EVOLUTION = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
ACCEPTED = ("--execute", "--accept-sink", "unknown", "--accept-sink", "duplicated")
NOW = ("--trigger", "availableNow")
SKIPPED = (*ACCEPTED, "--accept-sink", "skipped")


#: What the gate says where it cannot read a log, so that Spark stops in some way.
UNREADABLE = "a log that cannot be read"
#: In these ways a change that is refused has changed nothing.
UNTOUCHED = (PLAIN, BY_PLAN, TWICE)
#: How many origins there are at most.
ORIGINS = 3


class WrongError(Exception):
    """Something that a walk has shown to be wrong."""


@dataclass(slots=True)
class Undoable:
    """A change that has been carried out.

    Args:
        name: What it is in the tally.
        way: The way in which it was made.
        plan_id: The id of its plan.
        before: The files of the checkpoint before it.
        world: What was expected before it.
        heal: What mends by hand the damage that came before the change, once the change is taken back.
        in_the_sink: Whether it left the checkpoint as it was, and changed the log of the sink alone.
        spark_ran: Whether the query has run since.
    """

    name: str
    way: str
    plan_id: str
    before: dict[str, bytes]
    world: World
    heal: Callable[[], None] = lambda: None
    in_the_sink: bool = False
    spark_ran: bool = False


@dataclass(slots=True)
class Walk:
    """A query, its files, and what has been done to it.

    Args:
        number: Of the walk; the ways of its changes are dealt by it, so that a run of walks has each.
        random: What it draws from.
        spark: In which the query runs.
        home: A new directory.
        bootstrap: Where the broker listens; empty for a walk without Kafka.
        tally: What all walks have done.
        shape: What the query computes; drawn when it is not given.
        log: What this walk has done, in order.
    """

    number: int
    random: Random
    spark: Spark
    home: Path
    bootstrap: str
    tally: Tally
    shape: str = ""
    log: list[str] = field(default_factory=list)
    store: str = ""
    world: World = field(init=False)
    hand: Hand = field(init=False)
    undoable: list[Undoable] = field(default_factory=list)
    letters: dict[tuple[int, int], str] = field(default_factory=dict)
    topics: dict[int, str] = field(default_factory=dict)
    output: Path | None = None
    last: tuple[str, str] | None = None
    #: The batch after which the sources were changed last, and the readers before that.
    earlier: tuple[int, tuple[Reader, ...]] | None = None
    _readers: int = 0
    _turns: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.hand = Hand(self.random, self.home, self._count)
        self.shape = self.shape or self.random.choice(SHAPES)
        self.store = "stateless" if self.shape == "stateless" else self.random.choice([*STATE_CONFS][1:])
        if self.shape != "sum" and self.random.random() < 0.5:
            self.output = self.home / "output"
        sources = 2 if self.shape == "join" else self.random.choice((1, 1, 2)) if self.shape != "window" else 1
        for origin in range(ORIGINS):
            if self.bootstrap and self.random.random() < 0.5:
                self.topics[origin] = f"walk-{self.number}-{uuid.uuid4().hex[:8]}-{origin}"
                topics.create(self.bootstrap, self.topics[origin])
        readers = tuple(self.new_reader(origin, str(origin)) for origin in range(sources))
        self.world = World(self.shape, readers, self.home / "checkpoint")
        sink = "file sink" if self.output else "foreachBatch"
        kinds = ["kafka" if origin in self.topics else "json files" for origin in range(sources)]
        self.tally.drawn.update([self.shape, self.store, sink, *kinds])
        self.note(f"{self.shape} on {self.store}, reads {' and '.join(kinds)}, {sink}")

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

    def written(self, origin: int) -> int:
        """How many files an origin has."""
        return 1 + max((number for each, number in self.letters if each == origin), default=-1)

    def write(self, files: int) -> None:
        """Let each origin have so many unread files; of what is no topic they may come with another content."""
        letter = self.random.choice("AB")
        for origin in sorted({reader.origin for reader in self.world.readers}):
            first = self.world.next_file(origin)
            if origin in self.topics:
                new = range(self.written(origin), first + files)
                topics.produce(self.bootstrap, self.topics[origin], origin, new, letter)
                self.letters |= {(origin, number): letter for number in new}
                continue
            for number in range(first, first + files):
                if (origin, number) not in self.letters or number > first:  # a batch in flight keeps its file
                    self.letters[origin, number] = letter
                    write_file(self.home / f"origin{origin}", origin, number, letter)

    def command(self) -> dict[str, Any]:
        """The query as the process of Spark takes it."""
        return {
            "shape": self.shape,
            "confs": self.confs,
            "sources": [
                {**self._source(reader.origin), "name": reader.source_id if self.named else None}
                for reader in self.world.readers
            ],
            "checkpoint": str(self.checkpoint),
            "output": str(self.output) if self.output else None,
        }

    def _source(self, origin: int) -> dict[str, Any]:
        if origin not in self.topics:
            directory = self.home / f"origin{origin}"
            return {"format": "json", "options": {"maxFilesPerTrigger": "1"}, "path": str(directory)}
        options = {
            "kafka.bootstrap.servers": self.bootstrap,
            "subscribe": self.topics[origin],
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(RECORDS),
        }
        return {"format": "kafka", "options": options}

    def run(self) -> None:
        """Start the query; it has to do what the gate has said, and its sink must hold what the model expects."""
        if self.committed() != self.world.committed():
            raise WrongError(f"batch {self.committed()} is committed, and should be {self.world.committed()}")
        foretold = self.gate() if self.checkpoint.exists() else None
        with self._timed("Spark"):
            told = self.spark.ask(self.command())
        with self._timed("the maintenance of the state"):
            settle(self.checkpoint)
        self._count("starts of Spark")
        if self.last:
            self.tally.cells[*self.last, "started"] += 1
            self.last = None
        if foretold and told["error"] != foretold["spark_error"]:
            raise WrongError(f"the gate said {foretold['spark_error']}, Spark {told['error']}: {told['message']}")
        if told["error"] == "AssertionError" and "CheckpointInfo length: 0" in told["message"]:
            self._leave_out_skipped_batch()
            return
        if told["error"] is not None:
            raise WrongError(f"Spark stops, as the gate has said: {told['error']}: {told['message']}")
        first = self.world.committed() + 1
        ran = self.absorb(told)
        if ran and ran[0] != first:
            raise WrongError(
                f"Spark began with batch {ran[0]}, and batch {first - 1} should be the newest committed one"
            )
        if ran and foretold:
            self._as_foretold(foretold, told["progress"][0])
        for change in self.undoable:
            change.spark_ran = True
        self.note(f"Spark ran {ran}")
        self.compare()

    def _leave_out_skipped_batch(self) -> None:
        """Do what docs/limits.md says of state format 2 where the log of a file sink is ahead: Spark's own fault."""
        self._count("the sink skipped a batch of state format 2")
        last = self.committed()
        words = ("--to-batch", str(last), *self.sink, *self.trim)
        change = Change(("rollback", str(self.checkpoint)), words, ACCEPTED)
        if not self.change("rollback", change, lambda: self.world.cut(last), way=PLAIN):
            raise WrongError(f"the rollback to batch {last}, which the gate has told, is refused")
        self.run()

    def probe(self) -> None:
        """Start a copy of the query, which may be torn: it stops as the gate has said, or does not stop."""
        there, output = self.world.location, self.output
        self.world.location, self.output = self.home / f"probe{len(self.log)}", None
        shutil.copytree(there, self.checkpoint)
        self.write(1)  # so that there is a batch that loads the state
        foretold, told = self.gate(), self.spark.ask(self.command())
        self.world.location, self.output = there, output
        self.note(f"a copy: {told['error']}")
        self._count(f"a copy: the gate said {foretold['spark_error']}, Spark {told['error']}")
        stops = foretold["spark_error"] == UNREADABLE and told["error"] is not None
        if told["error"] != foretold["spark_error"] and not stops:
            said = foretold["spark_error"]
            raise WrongError(f"a copy: the gate said {said}, Spark {told['error']}: {told['message']}")

    def _as_foretold(self, foretold: dict[str, Any], first: Any) -> None:
        """The first batch is the one that the gate has foretold: its number, its offsets, its watermark."""
        batch_id, ends, watermark_ms = first
        said = [foretold["resumes_at_batch"], watermark_ms and foretold["watermark_ms"]]  # Spark tells that of windows
        if said != [batch_id, watermark_ms]:
            raise WrongError(f"the gate said batch and watermark {said}, Spark {[batch_id, watermark_ms]}")
        for reader, (start, end) in zip(self.world.readers, ends, strict=True):
            name = reader.source_id
            if as_json(foretold["start_offsets"].get(name)) != as_json(start):
                raise WrongError(f"the gate said {name} starts at {foretold['start_offsets']}, Spark {start}")
            planned = (foretold["end_offsets"] or {}).get(name)
            if planned is not None and as_json(planned) != as_json(end):
                raise WrongError(f"the gate said {name} ends at {planned}, Spark {end}")
            coming = foretold["next_batches"].get(name)
            if coming and sum(coming["ends"].values()) != record_of(end):
                raise WrongError(f"the gate said {name} ends at {coming['ends']}, Spark {end}")

    def absorb(self, told: dict[str, Any], last: int | None = None) -> list[int]:
        """Take in what a run has committed, up to a batch; the batches."""
        ran = []
        for batch_id, ends, _ in told["progress"]:
            if batch_id in ran or not (self.checkpoint / "commits" / str(batch_id)).exists():
                continue
            if last is not None and batch_id > last:
                break
            ran.append(batch_id)
            if batch_id not in self.world.batches:
                self.world.batches[batch_id] = tuple(self._reads(ends))
            elif batch_id == self.world.in_flight:
                self.world.in_flight = None
        self.world.sink |= {int(key): [tuple(row) for row in rows] for key, rows in told["batches"]}
        return ran

    def _reads(self, ends: list[list[str | None]]) -> list[Read]:
        """What a batch has read, by where each source began and ended."""
        reads = []
        for reader, (start, end) in zip(self.world.readers, ends, strict=True):
            number = self.world.position(reader)
            if reader.origin in self.topics:
                start_at, end_at = record_of(start) / RECORDS, record_of(end) / RECORDS
                if start_at != number or end_at not in (number, number + 1):
                    raise WrongError(f"{reader.source_id} reads {start} to {end}, and is at {RECORDS * number}")
                files = int(end_at - start_at)
            else:  # two files where the one of a batch that a fence has replaced is in the source's log already
                files = entry_of(end) - entry_of(start)
            reads += [
                Read(reader.reader, reader.origin, each, self.letters[reader.origin, each])
                for each in range(number, number + files)
            ]
        return reads

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
        sources = [word for reader in self.world.readers for word in ("--source", self.declared(reader))]
        for reader in self.world.readers:
            if reader.origin in self.topics:
                sources += ["--source-option", f"{reader.source_id}.maxOffsetsPerTrigger={RECORDS}"]
        operators = [word for name in OPERATORS[self.shape] for word in ("--operator", name)]
        with self._timed("gate"):
            answer = self.hand.run(
                "gate", str(self.checkpoint), *confs, *sources, *operators, *self.sink, *NOW, "--json", *words
            )
        if answer.code == 3 and answer.document["error"]["code"]:  # a log that cannot be read
            return {"spark_error": UNREADABLE}
        if answer.code not in (0, 1):
            raise WrongError(f"gate: {answer.code} {answer.err}")
        document = answer.document
        if document["spark_error"] is not None and answer.code != 1:
            raise WrongError(f"the gate lets pass what it says stops with {document['spark_error']}")
        codes = " ".join(sorted({finding["code"] for finding in document["findings"]}))
        self._count(f"gate: {document['decision']} {codes} {len(document['unknown'])} unknown")
        return document

    def declared(self, reader: Reader) -> str:
        """A source as commands take it; that of Kafka with its broker, which is asked."""
        kind = "file"
        if reader.origin in self.topics:
            kind = f"kafka:{self.bootstrap}/{self.topics[reader.origin]}"
        return f"{reader.source_id}={kind}"

    # --- commands --------------------------------------------------------------------------------------------------

    @property
    def sink(self) -> list[str]:
        """How the sink is declared."""
        return ["--sink", f"file:{self.output}" if self.output else "foreachBatch"]

    @property
    def trim(self) -> list[str]:
        """How the log of a file sink goes back with the query."""
        return ["--trim-sink-log"] if self.output else []

    def next_way(self, name: str) -> str:
        """The way in which a change is made next."""
        ways = WAYS_OF[name]
        self._turns[name] += 1
        return ways[(self.number + self._turns[name]) % len(ways)]

    def change(
        self,
        name: str,
        change: Change,
        then: Callable[[], None],
        *,
        heal: Callable[[], None] | None = None,
        way: str | None = None,
    ) -> bool:
        """Carry a change of the checkpoint out; whether it was made.

        Args:
            name: What it is in the tally.
            change: The command.
            then: What the model does once it is made.
            heal: What mends by hand the damage that has come before it, when it is refused or taken back.
            way: In which way; by default the next one of its ways.
        """
        before, world, way = snapshot(self.checkpoint), self.world.copy(), way or self.next_way(name)
        records = recorded(self.checkpoint)  # what was so already is no change that an undo takes back
        answer, told = self.carry_out(name, way, change)
        made = answer.code == DONE
        if told is not None:
            self.absorb(told, answer.document["receipt"]["batch_id"] if made and name != "fence" else None)
            self.undoable.clear()  # what ran before a fence, and a fence that stays, come back with an undo
        after = snapshot(self.checkpoint)
        if not made:
            if way in UNTOUCHED and after != before:
                raise WrongError(f"{name} was refused and has changed {difference(before, after)}")
            if heal:
                heal()
            return False
        plan_id = answer.document["receipt"]["plan_id"]
        if plan_id in recorded(self.checkpoint) - records and told is None:
            undoable = Undoable(name, way, plan_id, before, world, heal or (lambda: None), after == before)
            self.undoable.append(undoable)
        then()
        if told is not None:
            self.absorb(told)  # of a start behind the change
        return True

    def carry_out(self, name: str, way: str, change: Change) -> tuple[Answer, dict[str, Any] | None]:
        """Run a command in a way, and count its end; it is made or refused."""
        if way == BESIDE:
            self.write(4)
        with self._timed(name):
            answer, told = self.hand.carry_out(way, change, self.spark, self.command())
        if told is not None:
            settle(self.checkpoint)
            self._count(f"beside {name}, Spark: {told['error']}")
        self.note(f"{name} {' '.join(change.words)} ({way}): {answer.code}")
        if answer.code not in (DONE, REFUSED):
            raise WrongError(f"{name} ({way}): exit code {answer.code}: {answer.err or answer.out}")
        self.tally.cells[name, way, "done" if answer.code == DONE else "refused"] += 1
        if answer.code == DONE:
            self.last = (name, way)
        else:
            self._count(f"refused: {name}: {' '.join(answer.err.split()[:22])}")
        return answer, told

    def undo(self) -> None:
        """Take the newest change back."""
        if not self.undoable:
            return
        change, there, way = self.undoable[-1], snapshot(self.checkpoint), self.next_way("undo")
        words = ("--undoes", change.plan_id) if way in (KILLED, TWICE) else ()  # said twice it would go further back
        answer, _ = self.carry_out("undo", way, Change(("undo", str(self.checkpoint)), words, ACCEPTED))
        self.note(f"that was of {change.name}")
        now = snapshot(self.checkpoint)
        if answer.code == REFUSED:
            if way in UNTOUCHED and now != there:
                raise WrongError(f"the undo of {change.name} was refused and has changed {difference(there, now)}")
            return
        self.undoable.pop()
        self.tally.cells[change.name, change.way, "undone"] += 1
        if not change.spark_ran:
            self._count("undone byte by byte")
            if without_tables(now, change.before) != change.before:
                raise WrongError(f"the undo of {change.name} left {difference(change.before, now)}")
        elif now != there and change.name != "fence" and logs_of(now) != logs_of(change.before):
            raise WrongError(f"the undo of {change.name} left {difference(logs_of(change.before), logs_of(now))}")
        if now != there or change.in_the_sink:  # of a fence that a start has consumed nothing is left
            self.world = change.world
            change.heal()

    def note(self, text: str) -> None:
        """What was done, for whoever has to find out."""
        self.log.append(text)

    def _count(self, text: str) -> None:
        self.tally.notes[text] += 1

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.tally.seconds[name] += round(time.monotonic() - began)

    def committed(self) -> int:
        """The newest committed batch."""
        return newest(self.checkpoint, "commits")
