"""Iceberg tables and checkpoints from which a query cannot go on, each brought about with real Spark, and some others.

A case says how it comes about, and with which options the query starts then. What Spark does is not said here: it is
asked, with each trigger. ``iceberg_stop_records.py`` writes it down.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.sinks.worker import Worker

TRIGGERS = ("processingTime", "availableNow", "once")
SKIP_DELETES, SKIP_OVERWRITES = "streaming-skip-delete-snapshots", "streaming-skip-overwrite-snapshots"
BOTH = {SKIP_DELETES: "true", SKIP_OVERWRITES: "true"}
#: The year 2100, and 2001.
FUTURE_MS, PAST_MS = "4102444800000", "1000000000000"


@dataclass(slots=True)
class Table:
    """A table of numbers, and a query on it.

    Args:
        worker: Spark.
        home: Where the checkpoint is, in ``checkpoint``.
        name: Of the table, in the database ``db`` of the catalog ``lake``.
    """

    worker: Worker
    home: Path
    name: str
    snapshots: dict[int, int] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        """Of the query."""
        return self.home / "checkpoint"

    @property
    def location(self) -> Path:
        """Where the table is."""
        return self.worker.warehouse / "db" / self.name

    def create(self) -> None:
        """Create it, with a column of numbers and one of texts."""
        self.sql("CREATE TABLE {t} (n bigint, g string) USING iceberg TBLPROPERTIES ('format-version' = '2')")

    def create_again(self) -> None:
        """Drop it, and create one of the same name."""
        self.worker.sql(f"DROP TABLE lake.db.{self.name} PURGE")
        self.create()

    def sql(self, text: str) -> int:
        """Run a statement, in which ``{t}`` is the table and ``{k}`` its name in a procedure; the current snapshot."""
        self.worker.sql(text.format(t=f"lake.db.{self.name}", k=f"db.{self.name}"))
        return self.current

    def append(self, number: int, rows: int = 1) -> int:
        """Append a snapshot of one file; its id, which can be asked for by the number, too."""
        values = ", ".join(f"({number}, 'a')" for _ in range(rows))
        self.snapshots[number] = self.sql(f"INSERT INTO {{t}} VALUES {values}")
        return self.snapshots[number]

    def delete(self, number: int) -> int:
        """Delete the rows of a number, which makes a snapshot with this operation."""
        return self.sql(f"DELETE FROM {{t}} WHERE n = {number}")

    def expire(self, *numbers: int) -> None:
        """Expire snapshots, by the numbers that they appended."""
        ids = ", ".join(str(self.snapshots[number]) for number in numbers)
        self.sql(f"CALL lake.system.expire_snapshots(table => '{{k}}', snapshot_ids => ARRAY({ids}))")

    def roll_back(self, number: int) -> None:
        """Make the snapshot that appended a number the current one."""
        self.sql(f"CALL lake.system.rollback_to_snapshot('{{k}}', {self.snapshots[number]})")

    @property
    def metadata(self) -> dict[str, Any]:
        """The current metadata."""
        version = (self.location / "metadata" / "version-hint.text").read_text().strip()
        found: dict[str, Any] = json.loads((self.location / "metadata" / f"v{version}.metadata.json").read_text())
        return found

    @property
    def current(self) -> int:
        """The current snapshot."""
        return int(self.metadata.get("current-snapshot-id") or -1)

    def read(self, checkpoint: Path | None = None, trigger: str = "processingTime", **options: str) -> dict[str, Any]:
        """Start the query; what it reads, and what it stops with."""
        found: dict[str, Any] = self.worker.ask(
            do="attempt",
            source="iceberg",
            checkpoint=str(checkpoint or self.checkpoint),
            options=options,
            trigger=trigger,
            **{"from": f"lake.db.{self.name}"},
        )
        return found

    def take_back_commit(self) -> None:
        """Leave the newest batch in flight, as a crash does."""
        newest = max(int(path.name) for path in (self.checkpoint / "commits").iterdir() if path.name.isdecimal())
        for path in (f"{newest}", f".{newest}.crc"):
            (self.checkpoint / "commits" / path).unlink()

    def put_initial(self, snapshot_id: int, position: int) -> None:
        """Give the source another initial offset."""
        folder = self.checkpoint / "sources" / "0" / "offsets"
        (folder / ".0.crc").unlink()
        offset = {"version": 1, "snapshot_id": snapshot_id, "position": position, "scan_all_files": False}
        (folder / "0").write_text(json.dumps(offset, separators=(",", ":")))

    def fork(self, name: str) -> Path:
        """A copy of the checkpoint."""
        to = self.home / name
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.checkpoint, to)
        return to


Options = Mapping[str, str]
#: Makes a table and a checkpoint from new ones; the options with which the query starts then.
Case = Callable[[Table], Options]


def _begun(table: Table) -> None:
    """Two snapshots that are read."""
    table.append(1)
    table.append(2)
    assert table.read()["rows"] == [1, 2]


def nothing_new(table: Table) -> Options:
    _begun(table)
    return {}


def appended(table: Table) -> Options:
    _begun(table)
    table.append(3)
    return {}


def replaced(table: Table) -> Options:
    _begun(table)
    table.sql("CALL lake.system.rewrite_data_files(table => '{k}', options => map('rewrite-all', 'true'))")
    table.append(3)
    return {}


def deleted(table: Table) -> Options:
    _begun(table)
    table.append(3)
    table.delete(1)
    table.append(4)
    return {}


def deleted_and_skipped(table: Table) -> Options:
    deleted(table)
    return {SKIP_DELETES: "true"}


def deleted_at_the_end(table: Table) -> Options:
    _begun(table)
    table.delete(1)
    return {}


def overwritten(table: Table) -> Options:
    _begun(table)
    table.sql("INSERT OVERWRITE {t} VALUES (3, 'b')")
    table.append(4)
    return {}


def overwritten_and_skipped(table: Table) -> Options:
    overwritten(table)
    return {SKIP_OVERWRITES: "true"}


def overwritten_and_deletes_skipped(table: Table) -> Options:
    overwritten(table)
    return {SKIP_DELETES: "true"}


def merged(table: Table) -> Options:
    _begun(table)
    table.sql("MERGE INTO {t} USING (SELECT 1 AS n) AS new ON {t}.n = new.n WHEN MATCHED THEN UPDATE SET g = 'b'")
    return {}


def deleted_before(table: Table) -> Options:
    """A delete that the query has passed with the option, without which it starts again."""
    _begun(table)
    table.delete(1)
    table.append(3)
    assert table.read(**BOTH)["rows"] == [3]
    table.append(4)
    return {}


def initial_expired(table: Table) -> Options:
    _begun(table)
    table.append(3)
    table.expire(1)
    return {}


def initial_missing(table: Table) -> Options:
    _begun(table)
    table.append(3)
    shutil.rmtree(table.checkpoint / "sources" / "0")
    return {}


def initial_at_the_end(table: Table) -> Options:
    _begun(table)
    table.put_initial(table.current, 1)
    return {}


def initial_at_the_end_and_appended(table: Table) -> Options:
    initial_at_the_end(table)
    table.append(3)
    return {}


def position_expired(table: Table) -> Options:
    _begun(table)
    table.append(3)
    table.expire(1, 2)
    return {}


def long_expired(table: Table) -> Options:
    _begun(table)
    for number in (3, 4, 5):
        table.append(number)
    table.expire(1, 2, 3)
    return {}


def position_expired_in_flight(table: Table) -> Options:
    _begun(table)
    table.append(3)
    table.read()
    table.take_back_commit()
    table.expire(1, 2)
    return {}


def rolled_back(table: Table) -> Options:
    _begun(table)
    table.roll_back(1)
    return {}


def rolled_back_and_appended(table: Table) -> Options:
    rolled_back(table)
    table.append(3)
    return {}


def rolled_back_and_expired(table: Table) -> Options:
    """The first snapshot of the table has expired: what Iceberg says then is something else."""
    for number in (0, 1, 2):
        table.append(number)
    table.read()
    table.roll_back(1)
    table.append(3)
    table.expire(0)
    return {}


def tagged(table: Table) -> Options:
    """A tag holds the snapshot of the position, and the one after it has expired."""
    _begun(table)
    table.sql("ALTER TABLE {t} CREATE TAG kept")
    table.append(3)
    table.append(4)
    table.expire(1, 3)
    return {}


def recreated(table: Table) -> Options:
    _begun(table)
    table.create_again()
    table.append(3)
    return {}


def recreated_and_empty(table: Table) -> Options:
    _begun(table)
    table.create_again()
    return {}


def from_the_future(table: Table) -> Options:
    appended(table)
    return {"stream-from-timestamp": FUTURE_MS}


def from_the_past(table: Table) -> Options:
    appended(table)
    return {"stream-from-timestamp": PAST_MS}


def in_flight(table: Table) -> Options:
    appended(table)
    table.read()
    table.take_back_commit()
    table.append(4)
    return {}


def in_flight_over_a_delete(table: Table) -> Options:
    deleted(table)
    table.read(**BOTH)
    table.take_back_commit()
    return {}


def in_flight_before_a_delete(table: Table) -> Options:
    appended(table)
    table.read()
    table.take_back_commit()
    table.delete(1)
    return {}


def in_flight_rolled_back(table: Table) -> Options:
    appended(table)
    table.read()
    table.take_back_commit()
    table.roll_back(2)
    return {}


CASES: Mapping[str, Case] = {
    case.__name__: case
    for case in (
        nothing_new,
        appended,
        replaced,
        deleted,
        deleted_and_skipped,
        deleted_at_the_end,
        overwritten,
        overwritten_and_skipped,
        overwritten_and_deletes_skipped,
        merged,
        deleted_before,
        initial_expired,
        initial_missing,
        initial_at_the_end,
        initial_at_the_end_and_appended,
        position_expired,
        long_expired,
        position_expired_in_flight,
        rolled_back,
        rolled_back_and_appended,
        rolled_back_and_expired,
        tagged,
        recreated,
        recreated_and_empty,
        from_the_future,
        from_the_past,
        in_flight,
        in_flight_over_a_delete,
        in_flight_before_a_delete,
        in_flight_rolled_back,
    )
}


def bring_about(name: str, worker: Worker, home: Path) -> tuple[Table, Options]:
    """Bring a case about in a new table and a new checkpoint below a directory."""
    table = Table(worker, home, f"stops_{name}")
    home.mkdir(parents=True)
    table.create()
    return table, CASES[name](table)


def outcomes(table: Table, options: Options) -> dict[str, Any]:
    """What Spark does with each trigger, each on a copy of the checkpoint."""
    return {
        trigger: table.read(table.fork(f"checkpoint-{trigger}"), trigger, **options)
        | {"after": positions(table, trigger)}
        for trigger in TRIGGERS
    }


def positions(table: Table, trigger: str) -> dict[str, str]:
    """The offsets of each batch that is in the log then."""
    offsets = table.home / f"checkpoint-{trigger}" / "offsets"
    return {path.name: path.read_text().splitlines()[-1] for path in sorted(offsets.iterdir()) if path.name.isdecimal()}
