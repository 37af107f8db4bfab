"""Delta tables and checkpoints from which a query cannot go on, each brought about with real Spark, and some that can.

A case says what happens to the table after a query has read it in two runs, and with which options the query starts
then. What Spark does is not said here: it is asked.

python -m tests.sources.delta_stops writes the records anew.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.sinks.worker import REPOSITORY, Worker

#: The cases, as they were brought about and played once.
RECORDED = REPOSITORY / "tests" / "data" / "sources" / "delta-stops.tar.gz"

_PLAIN = "CREATE TABLE {t} (n BIGINT, day STRING) USING delta"
_PARTS = f"{_PLAIN} PARTITIONED BY (day)"
_BY_NAME = "TBLPROPERTIES ('delta.columnMapping.mode'='name','delta.minReaderVersion'='2','delta.minWriterVersion'='5')"
_MAPPED = f"{_PLAIN} {_BY_NAME}"
_NOT_NULL = "CREATE TABLE {t} (n BIGINT NOT NULL, day STRING) USING delta"
_WITH_FEED = f"{_PLAIN} TBLPROPERTIES ('delta.enableChangeDataFeed'='true')"
_WITH_VECTORS = f"{_PLAIN} TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
_FEED_OFF = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed'='false')"
_RENAME = "ALTER TABLE {t} RENAME COLUMN n TO m"
_ADD_COLUMN = "ALTER TABLE {t} ADD COLUMN (c STRING)"
_DELETE = "DELETE FROM {t} WHERE n = 1"
_VACUUM = "VACUUM {t} RETAIN 0 HOURS"


def _add(*numbers: int, day: str = "a") -> str:
    return "INSERT INTO {t} VALUES " + ", ".join(f"({number}, '{day}')" for number in numbers)


_NINE = _add(9)
_WITH_C = "INSERT INTO {t} VALUES (9, 'a', 'c')"


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The table gets another schema and other rows."""

    schema: str
    rows: tuple[tuple[Any, ...], ...]
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lose:
    """The log loses versions; before, it gets a checkpoint when it is cleaned up."""

    versions: tuple[int, ...]
    cleaned: bool = True


@dataclass(frozen=True, slots=True)
class Recreate:
    """The table is removed, and created again with so many versions more."""

    versions: int


Step = str | Overwrite | Lose | Recreate


@dataclass(frozen=True, slots=True)
class Case:
    """What happens to a table.

    Args:
        create: How it begins, as version 0; versions 1 and 2 add the rows 1 to 4.
        change: What happens after the query has read it.
        options: What the query sets.
        second: What happens between its first run and its second; version 3. Without it there is no second run.
        at_restart: What it sets at the start that is forecast, where that is something else.
        in_flight: Whether its newest batch was planned and not committed.
        batches: So many of its batches are kept, of which the others never were; 0 for all.
    """

    create: str
    change: tuple[Step, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    second: tuple[str, ...] = (_add(5, 6, day="c"),)
    at_restart: Mapping[str, str] | None = None
    in_flight: bool = False
    batches: int = 0


_BEGUN, _KEPT = {"startingVersion": "0"}, {"failOnDataLoss": "false"}
_FEED = {"readChangeFeed": "true", **_BEGUN}
_SKIP, _TRACK = {"skipChangeCommits": "true"}, {"schemaTrackingLocation": "{checkpoint}/_schema"}
_TEXTS = Overwrite("n STRING, day STRING", (("x", "a"),))
_READ_ONCE: tuple[str, ...] = ()
_ONE_FILE = {"maxFilesPerTrigger": "1"}
_RESTORE_3 = "RESTORE TABLE {t} TO VERSION AS OF 3"

CASES: dict[str, Case] = {
    "a row is deleted": Case(_PARTS, (_DELETE, _NINE)),
    "a row is deleted, with startingVersion": Case(_PARTS, (_DELETE, _NINE), _BEGUN),
    "a row is deleted, with ignoreDeletes": Case(_PARTS, (_DELETE, _NINE), {"ignoreDeletes": "true"}),
    "a partition is deleted": Case(_PARTS, ("DELETE FROM {t} WHERE day = 'a'", _NINE)),
    "rows are updated": Case(_PARTS, (_add(7), "UPDATE {t} SET n = 99 WHERE n = 1", _NINE)),
    "rows are updated, with ignoreDeletes": Case(
        _PARTS, ("UPDATE {t} SET n = 99 WHERE n = 1", _NINE), {"ignoreDeletes": "true"}
    ),
    "rows are updated, with ignoreChanges": Case(
        _PARTS, ("UPDATE {t} SET n = 99 WHERE n = 1", _NINE), {"ignoreChanges": "true"}
    ),
    "rows are updated, with skipChangeCommits": Case(_PARTS, ("UPDATE {t} SET n = 99 WHERE n = 1", _NINE), _SKIP),
    "the table is overwritten": Case(_PARTS, ("INSERT OVERWRITE {t} VALUES (50, 'z')", _NINE)),
    "a merge inserts": Case(
        _PARTS,
        (
            "MERGE INTO {t} USING (SELECT 77L n, 'q' day) s ON {t}.n = s.n WHEN NOT MATCHED THEN INSERT *",
            _NINE,
        ),
    ),
    "the table is optimized": Case(_PLAIN, ("OPTIMIZE {t}", _NINE)),
    "a row is deleted by a vector": Case(_WITH_VECTORS, ("INSERT INTO {t} SELECT id, 'v' FROM range(20, 30, 1, 1)", "DELETE FROM {t} WHERE n = 25", _NINE)),
    "the table is restored": Case(_PARTS, ("RESTORE TABLE {t} TO VERSION AS OF 1", _NINE)),
    "versions are reverted": Case(_PLAIN, (_add(7), _add(8), _RESTORE_3, _NINE)),
    "versions are reverted, with skipChangeCommits": Case(_PLAIN, (_add(7), _add(8), _RESTORE_3, _NINE), _SKIP),
    "versions are reverted, with ignoreDeletes": Case(
        _PLAIN, (_add(7), _add(8), _RESTORE_3, _NINE), {"ignoreDeletes": "true"}
    ),
    "versions are reverted, with a change feed": Case(_WITH_FEED, (_add(7), _add(8), _RESTORE_3, _NINE), _FEED),
    "a version is reverted, and one before it is not": Case(
        _PLAIN, (_add(7), _add(8), _RESTORE_3.replace("3", "4"), _NINE)
    ),
    "the table is restored twice": Case(_PLAIN, (_add(7), _RESTORE_3, _add(8), _RESTORE_3, _NINE)),
    "a RESTORE is taken back": Case(_PLAIN, (_add(7), _RESTORE_3, _RESTORE_3.replace("3", "4"), _NINE)),
    "an overwrite is reverted": Case(_PLAIN, ("INSERT OVERWRITE {t} VALUES (50, 'z')", _RESTORE_3, _NINE)),
    "an overwrite is reverted, with skipChangeCommits": Case(
        _PLAIN, ("INSERT OVERWRITE {t} VALUES (50, 'z')", _RESTORE_3, _NINE), _SKIP
    ),
    "OPTIMIZE is reverted": Case(_PLAIN, ("OPTIMIZE {t}", _RESTORE_3, _NINE)),
    "in flight, and versions are reverted": Case(_PLAIN, (_add(7), _RESTORE_3, _NINE), in_flight=True),
    "in the first snapshot, and versions are reverted": Case(
        _PLAIN, (_add(7), _RESTORE_3, _NINE), _ONE_FILE, batches=2
    ),
    "two versions cannot be read": Case(_PARTS, (_DELETE, _add(7), "DELETE FROM {t} WHERE n = 3", _NINE)),
    "a column is added": Case(_PLAIN, (_ADD_COLUMN, _WITH_C)),
    "a property is set": Case(_PLAIN, ("ALTER TABLE {t} SET TBLPROPERTIES ('a'='b')", _NINE)),
    "the schema is overwritten": Case(_PLAIN, (_TEXTS,)),
    "the schema is overwritten, with startingVersion": Case(_PLAIN, (_TEXTS,), _BEGUN),
    "the schema is overwritten, with skipChangeCommits": Case(_PLAIN, (_add(7), _TEXTS), _SKIP),
    "the partitions are overwritten": Case(_PLAIN, (Overwrite("n BIGINT, day STRING", ((9, "a"),), ("day",)),), _SKIP),
    "a column is overwritten": Case(_PLAIN, (Overwrite("n BIGINT", ((9,),)),), _SKIP),
    "the table is replaced by the same": Case(
        _PLAIN, ("CREATE OR REPLACE TABLE {t} (n BIGINT, day STRING) USING delta", _NINE)
    ),
    "columns are mapped": Case(_PLAIN, (f"ALTER TABLE {{t}} SET {_BY_NAME}", _NINE)),
    "columns are mapped, and one renamed": Case(_PLAIN, (f"ALTER TABLE {{t}} SET {_BY_NAME}", _RENAME, _NINE)),
    "a column is renamed": Case(_MAPPED, (_RENAME, _NINE)),
    "a column is renamed, and nothing comes": Case(_MAPPED, (_RENAME,)),
    "a column is renamed after rows": Case(_MAPPED, (_add(7), _RENAME, _NINE)),
    "a column is dropped": Case(_MAPPED, ("ALTER TABLE {t} DROP COLUMN day", "INSERT INTO {t} VALUES (9)")),
    "a column is renamed, with a log of schemas": Case(_MAPPED, (_add(7), _RENAME, _NINE), _TRACK),
    "a column is added, with a log of schemas": Case(_MAPPED, (_ADD_COLUMN, _WITH_C), _TRACK),
    "nulls are allowed": Case(_NOT_NULL, ("ALTER TABLE {t} ALTER COLUMN n DROP NOT NULL", _NINE)),
    "a change feed": Case(_WITH_FEED, (_DELETE, _NINE), _FEED),
    "a change feed is switched off": Case(_WITH_FEED, (_FEED_OFF, _NINE), _FEED),
    "a change feed is switched off and on": Case(
        _WITH_FEED, (_FEED_OFF, _add(8), _FEED_OFF.replace("false", "true"), _NINE), _FEED
    ),
    "old versions are gone": Case(_PLAIN, (_NINE, Lose((0, 1)))),
    "the version of the newest batch is gone": Case(_PLAIN, (_NINE, Lose((0, 1, 2, 3)))),
    "an unread version is gone": Case(_PLAIN, (_NINE, _add(10), Lose((0, 1, 2, 3, 4)))),
    "an unread version alone is gone": Case(_PLAIN, (_NINE, _add(10), Lose((4,)))),
    "all but the newest is gone, and all is read": Case(_PLAIN, (Lose((0, 1, 2)),)),
    "old versions are gone, with failOnDataLoss=false": Case(_PLAIN, (_NINE, Lose((0, 1))), _KEPT),
    "the version of the newest batch is gone, with failOnDataLoss=false": Case(
        _PLAIN, (_NINE, Lose((0, 1, 2, 3))), _KEPT
    ),
    "an unread version is gone, with failOnDataLoss=false": Case(
        _PLAIN, (_NINE, _add(10), Lose((0, 1, 2, 3, 4))), _KEPT
    ),
    "an unread version alone is gone, with failOnDataLoss=false": Case(_PLAIN, (_NINE, _add(10), Lose((4,))), _KEPT),
    "the table lost its newest versions": Case(_PLAIN, (Lose((2, 3), cleaned=False),)),
    "files are vacuumed": Case(_PLAIN, (_NINE, _add(10), "OPTIMIZE {t}", _VACUUM)),
    "files are vacuumed, with failOnDataLoss=false": Case(_PLAIN, (_NINE, _add(10), "OPTIMIZE {t}", _VACUUM), _KEPT),
    "files that were read are vacuumed": Case(_PLAIN, ("OPTIMIZE {t}", _VACUUM, _NINE)),
    "the table is created again, and is short": Case(_PLAIN, (Recreate(1),)),
    "the table is created again, and is long": Case(_PLAIN, (Recreate(7),)),
    "an option is taken away": Case(_PLAIN, (_NINE,), _SKIP, (_DELETE, _add(5)), {}),
    "in flight": Case(_PLAIN, (_NINE,), in_flight=True),
    "in flight, and a row is deleted": Case(_PLAIN, (_DELETE, _NINE), in_flight=True),
    "in flight, and its version is gone": Case(_PLAIN, (_NINE, Lose((0, 1, 2, 3))), in_flight=True),
    "in flight, and the version before it is gone": Case(_PLAIN, (_NINE, Lose((0, 1, 2))), in_flight=True),
    "in flight, and the schema is overwritten": Case(_PLAIN, (_TEXTS,), in_flight=True),
    "in flight, and a column is renamed": Case(_MAPPED, (_RENAME, _NINE), in_flight=True),
    "in flight, and an option is taken away": Case(_PLAIN, (_NINE,), _SKIP, (_DELETE, _add(5)), {}, in_flight=True),
    "in flight, and its files are vacuumed": Case(_PLAIN, ("OPTIMIZE {t}", _VACUUM), in_flight=True),
    "in the first snapshot": Case(_PLAIN, (_NINE,), _ONE_FILE, batches=2),
    "in the first snapshot, and a row is deleted": Case(_PLAIN, (_DELETE, _NINE), _ONE_FILE, batches=2),
    "in the first snapshot, and it is gone": Case(_PLAIN, (_NINE, Lose((0, 1, 2, 3))), _ONE_FILE, batches=2),
    "in the first snapshot, and a column is renamed": Case(_MAPPED, (_RENAME, _NINE), _ONE_FILE, batches=2),
    "after the first snapshot, which is gone": Case(_PLAIN, (_NINE, Lose((0, 1, 2))), _ONE_FILE, batches=5),
    "one batch": Case(_PLAIN, (_NINE,), {}, _READ_ONCE),
    "one batch, and old versions are gone": Case(_PLAIN, (_NINE, Lose((0, 1))), {}, _READ_ONCE),
    "one batch, and all that was read is gone": Case(_PLAIN, (_NINE, Lose((0, 1, 2))), {}, _READ_ONCE),
    "one batch, and a row is deleted": Case(_PLAIN, (_DELETE, _NINE), {}, _READ_ONCE),
    "one batch with startingVersion": Case(_PLAIN, (_NINE,), _BEGUN, _READ_ONCE),
    "one batch with startingVersion, which is gone": Case(_PLAIN, (_NINE, Lose((0, 1))), _BEGUN, _READ_ONCE),
    "one batch, and a later startingVersion": Case(
        _PLAIN, (_NINE, Lose((0, 1, 2))), {}, _READ_ONCE, {"startingVersion": "3"}
    ),
    "one batch with startingVersion, and a row is deleted": Case(_PLAIN, (_DELETE, _NINE), _BEGUN, _READ_ONCE),
}  # fmt: skip


@dataclass(slots=True)
class Played:
    """A case that was brought about, in a directory of its own.

    Args:
        home: The table in ``table``, the checkpoint in ``checkpoint``.
        name: Of the case.
        does: What Spark does at the next start: what is read, and the condition with which it stops.
    """

    home: Path
    name: str
    does: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> Path:
        """The table."""
        return self.home / "table"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint, as it is before the start that is forecast."""
        return self.home / "checkpoint"

    @property
    def options(self) -> dict[str, str]:
        """What the query sets at that start."""
        case = CASES[self.name]
        return self.spelled(case.options if case.at_restart is None else case.at_restart)

    def spelled(self, options: Mapping[str, str]) -> dict[str, str]:
        """Options with the place of the checkpoint in them."""
        return {key: value.format(checkpoint=self.checkpoint) for key, value in options.items()}


def bring_about(name: str, home: Path, worker: Worker) -> Played:
    """Make the table and the checkpoint of a case; the query is at the start that is forecast."""
    case, played = CASES[name], Played(home, name)
    take(played, worker, (case.create, _add(1, 2), _add(3, 4, day="b")))
    start(played, worker, played.spelled(case.options))
    if case.second:
        take(played, worker, case.second)
        start(played, worker, played.spelled(case.options))
    batches = sorted(int(path.name) for path in (played.checkpoint / "offsets").iterdir() if path.name.isdigit())
    for batch_id in batches[case.batches or len(batches) :]:
        forget(played.checkpoint / "offsets", batch_id)
        forget(played.checkpoint / "commits", batch_id)
    if case.in_flight:
        forget(played.checkpoint / "commits", batches[-1])
    take(played, worker, case.change)
    worker.ask(do="forget")
    return played


def forget(log: Path, batch_id: int) -> None:
    """Remove an entry of a log, and its checksum file."""
    for name in (f".{batch_id}.crc", str(batch_id)):
        (log / name).unlink()


def take(played: Played, worker: Worker, steps: tuple[Step, ...]) -> None:
    """Let things happen to the table."""
    table = played.table
    for step in steps:
        match step:
            case Overwrite(schema, rows, by):
                worker.ask(do="overwrite", to=str(table), schema=schema, rows=[list(row) for row in rows], by=list(by))
            case Lose(versions, cleaned):
                if cleaned:
                    worker.ask(do="checkpoint", of=str(table))
                for version in versions:
                    for path in (table / "_delta_log").glob(f"*{version:020}.*"):
                        if "checkpoint" not in path.name:
                            path.unlink()
            case Recreate(versions):
                shutil.rmtree(table)
                worker.ask(do="forget")
                take(played, worker, (_PLAIN, *(_add(100 + number) for number in range(versions))))
            case _:
                worker.sql(str(step).format(t=f"delta.`{table}`"))


def start(played: Played, worker: Worker, options: Mapping[str, str]) -> dict[str, Any]:
    """Start the query, and see what it does."""
    done: dict[str, Any] = worker.ask(
        do="attempt",
        source="delta",
        **{"from": str(played.table)},
        checkpoint=str(played.checkpoint),
        options=dict(options),
        trigger="availableNow",
    )
    return {"rows": done["rows"], "condition": done["condition"]}


def pack(played: list[Played], archive: Path) -> None:
    """Write the cases: logs and checkpoints as they are, data files empty."""
    with tarfile.open(archive, "w:gz") as tar:
        for number, case in enumerate(played):
            told = json.dumps({"name": case.name, "does": case.does}).encode()
            _put(tar, f"{number}/story.json", told)
            for path in sorted(path for path in case.home.rglob("*") if path.is_file()):
                name = f"{number}/{path.relative_to(case.home)}"
                is_kept = "_delta_log" in path.parts or "checkpoint" in path.relative_to(case.home).parts
                if not path.name.endswith(".crc"):
                    _put(tar, name, path.read_bytes() if is_kept else b"")


def unpacked(home: Path) -> Iterator[Played]:
    """The cases of an archive that was unpacked."""
    for story in sorted(home.glob("*/story.json"), key=lambda path: int(path.parent.name)):
        told = json.loads(story.read_text())
        yield Played(story.parent, told["name"], told["does"])


def _put(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def play(root: Path, worker: Worker, told: Callable[[str], None] = print) -> list[Played]:
    """Bring every case about, and tell which is begun; the checkpoint stays as it is before the start that is forecast."""
    played = []
    for number, name in enumerate(CASES):
        told(f"{number + 1} of {len(CASES)}: {name}")
        case = bring_about(name, root / str(number), worker)
        shutil.copytree(case.checkpoint, root / f"{number}-before")
        case.does = start(case, worker, case.options)
        shutil.rmtree(case.checkpoint)
        (root / f"{number}-before").rename(case.checkpoint)
        played.append(case)
    return played


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True, help="A directory that does not exist yet")
    root = parser.parse_args().root
    root.mkdir(parents=True)
    worker = Worker("lakes", root / "warehouse")
    pack(play(root, worker), RECORDED)
    worker.stop()


if __name__ == "__main__":
    main()
