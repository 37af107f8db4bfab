"""What walks have done: how often each change in each way, how it ended, and what never happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from airflow_provider_ckpt.change.plan.kinds import KINDS, command_of
from tests.walk.model import SHAPES
from tests.walk.ways import BESIDE, BY_PLAN, KILLED, PLAIN, TWICE, WAYS_OF

ENDS = ("done", "refused", "started", "undone")
#: So many walks have to show every change in every way, every shape, state store, source and sink.
ENOUGH_WALKS = 60
#: What a walk can take back with ``ckpt undo``.
UNDOABLE = ("before-deploy", *(command_of(kind) for kind, rules in KINDS.items() if rules.can_be_undone))


@dataclass(slots=True)
class Tally:
    """Counts.

    Args:
        cells: How often a change (its name, its way) was done, was refused, had Spark started behind it, was undone.
        drawn: How often a shape, a state store, a source and a sink was drawn.
        notes: Anything else, by words.
        seconds: How long walks have waited, by what for.
        walks: How many walks there were.
        wrong: What was wrong: how to repeat the walk, its steps, and the error.
    """

    cells: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    walks: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what other walks have done."""
        self.cells += other.cells
        self.drawn += other.drawn
        self.notes += other.notes
        self.seconds.update(other.seconds)
        self.walks += other.walks
        self.wrong += other.wrong

    def table(self) -> str:
        """Each change in each way: done/refused, then how often Spark was started behind it and how often it was undone."""
        ways = (PLAIN, BY_PLAN, KILLED, TWICE, BESIDE)
        lines = [["change", *ways, "started", "undone"]]
        for change, applicable in WAYS_OF.items():
            cells = [self._cell(change, way) if way in applicable else "-" for way in ways]
            sums = [str(self._sum(change, end)) for end in ("started", "undone")]
            lines.append([change, *cells, sums[0], sums[1] if change in UNDOABLE else "-"])
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        rows = ("  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join(("done/refused of each change in each way:", *rows))

    def holes(self) -> list[str]:
        """What has never happened although there were enough walks: what they say of it is nothing."""
        if self.walks < ENOUGH_WALKS:
            return []
        never = [
            f"{change}, {way}: never done"
            for change, ways in WAYS_OF.items()
            for way in ways
            if not self.cells[change, way, "done"]
        ]
        never += [f"{change}: no start of Spark behind it" for change in WAYS_OF if not self._sum(change, "started")]
        never += [f"{change}: never undone" for change in UNDOABLE if not self._sum(change, "undone")]
        return never + [f"{what}: never drawn" for what in EVERY_KIND if not self.drawn[what]]

    def _cell(self, change: str, way: str) -> str:
        return f"{self.cells[change, way, 'done']}/{self.cells[change, way, 'refused']}"

    def _sum(self, change: str, end: str) -> int:
        return sum(count for (name, _, what), count in self.cells.items() if name == change and what == end)


#: What every run of enough walks has to draw.
EVERY_KIND = (
    *SHAPES, "hdfs", "rocksdb", "rocksdb-changelog", "rocksdb-v2", "json files", "kafka", "file sink", "foreachBatch",
)  # fmt: skip
