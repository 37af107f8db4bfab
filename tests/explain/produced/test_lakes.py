"""Real Delta and Iceberg tables from which a query cannot go on, and the commands that the gate prints for them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.explain.produced.lab import Query

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
ALL = ("skipped", "duplicated", "unknown")


@pytest.fixture
def lakes(sparks):
    return sparks("lakes")


def delta(home: Path, **options: str) -> Query:
    return Query(home, sources=({"format": "delta", "path": str(home / "table"), "options": options},))


def table(query: Query) -> str:
    return f"delta.`{query.home}/table`"


def begun(lakes, home: Path, create: str = "", **options: str) -> Query:
    """A query that has read the numbers 1 to 4 in two runs."""
    query = delta(home, **options)
    lakes.sql(f"CREATE TABLE {table(query)} (n BIGINT, day STRING) USING delta {create}")
    for numbers in ("(1, 'a'), (2, 'a')", "(3, 'b'), (4, 'b')"):
        lakes.sql(f"INSERT INTO {table(query)} VALUES {numbers}")
        assert lakes.run(query).error is None
    return query


def numbers(ran) -> list[int]:
    return sorted(int(row[0]) for row in ran.rows)


def test_a_table_of_the_same_name(lakes, proof, tmp_path):
    proof = proof(14, "created-again")
    query = begun(lakes, tmp_path / "q")
    shutil.rmtree(tmp_path / "q" / "table")
    lakes.ask(do="forget")
    lakes.sql(f"CREATE TABLE {table(query)} (n BIGINT, day STRING) USING delta")
    lakes.sql(f"INSERT INTO {table(query)} VALUES (5, 'a')")
    stopped = lakes.run(query)
    assert stopped.error
    proof.explains(lakes, stopped)
    proof.confirms(query.checkpoint, "CKPT259", source=f"0=delta:{tmp_path}/q/table")
    identity = lakes.sql(f"DESCRIBE DETAIL {table(query)}")[0][1]
    version = {"reservoirId": identity, "reservoirVersion": 1, "index": -1, "isStartingVersion": False}
    position = json.dumps({"0": {"sourceVersion": 1, **version}})
    words = ["seed", str(tmp_path / "seeded"), "--source", "0=delta", "--offsets", position, "--sink", "kafka"]
    code, done = proof.ckpt(*words, "--execute", "--accept-sink", "unknown", "--json")
    assert code == 0, done
    after = lakes.run(query, tmp_path / "seeded")
    assert after.error is None, after.log[-3000:]
    assert numbers(after) == [5]
    proof.ends("`ckpt seed`, stateless queries", "all of the new table")


def test_a_column_was_renamed(lakes, proof, tmp_path):
    proof = proof(15, "renamed-column")
    mapped = (
        "TBLPROPERTIES ('delta.columnMapping.mode'='name','delta.minReaderVersion'='2','delta.minWriterVersion'='5')"
    )
    query = begun(lakes, tmp_path / "q", mapped)
    lakes.sql(f"ALTER TABLE {table(query)} RENAME COLUMN n TO m")
    lakes.sql(f"INSERT INTO {table(query)} VALUES (5, 'a')")
    stopped = lakes.run(query)
    assert stopped.error
    proof.explains(lakes, stopped)
    command = proof.confirms(query.checkpoint, "CKPT256", source=f"0=delta:{tmp_path}/q/table")
    proof.carries_out(command, ALL, sink="kafka")
    after = lakes.run(query)
    assert after.error is None, after.log[-3000:]
    assert numbers(after) == [5]
    proof.ends()


@pytest.mark.parametrize("case", ["delete", "update"])
def test_rows_were_deleted_or_changed(lakes, proof, tmp_path, case):
    proof = proof(16, case)
    query = begun(lakes, tmp_path / "q")
    change = {"delete": "DELETE FROM {t} WHERE n = 1", "update": "UPDATE {t} SET n = 99 WHERE n = 1"}[case]
    lakes.sql(change.format(t=table(query)))
    lakes.sql(f"INSERT INTO {table(query)} VALUES (5, 'a')")
    stopped = lakes.run(query)
    assert stopped.error
    proof.explains(lakes, stopped)
    command = proof.confirms(query.checkpoint, "CKPT255", source=f"0=delta:{tmp_path}/q/table")
    assert proof.carries_out(command, ALL, sink="kafka") == "skipped"
    after = lakes.run(query)
    assert after.error is None, after.log[-3000:]
    assert numbers(after) == [5], "every row that was appended, and of the change nothing"
    proof.ends()


def iceberg(home: Path, name: str) -> Query:
    return Query(home, sources=({"format": "iceberg", "path": f"lake.db.{name}"},))


def test_the_initial_snapshot_has_expired(lakes, proof, tmp_path, request):
    """iceberg#18000: all after it was read long ago, and the query stops all the same."""
    proof = proof(17, "initial-expired")
    query = iceberg(tmp_path / "q", "initial")
    _iceberg_table(lakes, "initial", [1], [2])
    assert numbers(lakes.run(query)) == [1, 2]
    _append(lakes, "initial", 3)
    assert numbers(lakes.run(query)) == [3]
    _append(lakes, "initial", 4)
    _expire(lakes, "initial", retain=2)
    _repaired(lakes, proof, query, "initial", "CKPT263", [4])


def test_the_position_has_expired(lakes, proof, tmp_path):
    proof = proof(17, "position-expired")
    query = iceberg(tmp_path / "q", "expired")
    _iceberg_table(lakes, "expired", [1], [2])
    assert numbers(lakes.run(query)) == [1, 2]
    for number in (3, 4, 5):
        _append(lakes, "expired", number)
    _expire(lakes, "expired", retain=2)
    _repaired(lakes, proof, query, "expired", "CKPT260", [4, 5])


def _repaired(lakes, proof, query: Query, name: str, code: str, rows: list[int]) -> None:
    """The query stops; the commands that the gate prints, one after the other, let it go on."""
    stopped = lakes.run(query)
    assert stopped.error
    proof.explains(lakes, stopped)
    location = _location(lakes, name)
    command = proof.confirms(query.checkpoint, code, source=f"0=iceberg:{location}", trigger="availableNow")
    proof.carries_out(command, ALL, sink="noop")
    after = lakes.run(query)
    assert after.error is None, after.log[-3000:]
    assert numbers(after) == rows
    proof.ends()


def _location(lakes, name: str) -> str:
    ((path,),) = lakes.sql(f"SELECT file FROM lake.db.{name}.metadata_log_entries LIMIT 1")
    return str(Path(path.removeprefix("file:")).parents[1])


def _iceberg_table(lakes, name: str, *appended: list[int]) -> None:
    lakes.sql(f"CREATE TABLE lake.db.{name} (n BIGINT) USING iceberg")
    for number, *_ in appended:
        _append(lakes, name, number)


def _append(lakes, name: str, number: int) -> None:
    lakes.sql(f"INSERT INTO lake.db.{name} VALUES ({number})")


def _expire(lakes, name: str, retain: int) -> None:
    lakes.sql(
        f"CALL lake.system.expire_snapshots(table => 'db.{name}', older_than => TIMESTAMP '2100-01-01 00:00:00', "
        f"retain_last => {retain})"
    )
