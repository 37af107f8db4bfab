"""What tables of real Spark tell: their ids, and the newest batch of each query by the commit that records it."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.graph.read_place import is_iceberg, read_place
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.storage.store import Store

from .fleet_jobs import CHECKPOINTS

PATHS = Paths()


def query_id(root, name: str) -> str:
    found: str = json.loads((root / "checkpoints" / name / "metadata").read_text())["id"]
    return found


def read(root, kind: str, table: str, *names: str):
    return read_place(kind, Store.open(str(root / table)), [query_id(root, name) for name in names], PATHS)


@pytest.mark.parametrize(
    ("kind", "table", "name", "spark", "batch"),
    [
        ("delta", "lake/bronze", "bronze", (3, 5), 3),
        ("delta", "lake/gold", "gold", (4, 1), 3),
        ("iceberg", "warehouse/db/events", "events", (3, 5), 3),
        ("iceberg", "warehouse/db/gold", "gold_ice", (4, 1), 0),
    ],
)
def test_a_sink_records_the_newest_batch_of_its_query(thirty, kind, table, name, spark, batch):
    place = read(thirty, kind, table, name, "kafka43")
    (found,) = place.written.items()
    assert found[0] == query_id(thirty, name)
    assert (found[1].batch_id, found[1].is_sink, found[1].spark) == (batch, True, spark)
    assert table in found[1].proof.text


def test_a_function_that_gives_the_query_id_is_no_sink(thirty):
    (written,) = read(thirty, "delta", "lake/own_id", "own_id").written.values()
    assert not written.is_sink and written.batch_id == 3


def test_a_function_with_an_id_of_its_own_is_not_seen(thirty):
    assert read(thirty, "delta", "lake/merged", "merge/checkpoint").written == {}


def test_a_commit_that_was_cleaned_up_is_of_no_known_kind(thirty, tmp_path):
    import shutil

    from deltalake import DeltaTable

    shutil.copytree(thirty / "lake" / "bronze", tmp_path / "bronze")
    DeltaTable(str(tmp_path / "bronze")).create_checkpoint()
    for path in (tmp_path / "bronze" / "_delta_log").glob("*[0-9].json"):
        info = [line for line in path.read_text().splitlines() if "txn" not in json.loads(line)]
        path.write_text("\n".join(info) + "\n")
    place = read_place("delta", Store.open(str(tmp_path / "bronze")), [query_id(thirty, "bronze")], PATHS)
    (written,) = place.written.values()
    assert (written.batch_id, written.is_sink) == (3, False)


def test_an_iceberg_table_is_known_by_its_metadata(thirty):
    assert is_iceberg(Store.open(str(thirty / "warehouse" / "db" / "events")))
    assert not is_iceberg(Store.open(str(thirty / "lake" / "bronze")))
    place = read(thirty, "iceberg", "warehouse/db/events")
    assert len(place.snapshots) == 4 and place.table_id
    assert place.is_copy  # it was written elsewhere, as it says itself


def test_an_output_tells_when_each_batch_was_written(thirty):
    place = read(thirty, "file", "lake/orders_raw")
    assert sorted(place.entries_ms) == [0, 1, 2, 3] and None not in place.entries_ms.values()
    assert str(CHECKPOINTS) not in place.location
