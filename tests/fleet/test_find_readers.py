"""Who has read what a rollback drops: found where the files say it, and said not to be known where they do not."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.codec.offsets.iceberg import IcebergOffset
from airflow_provider_ckpt.fleet import find_readers as module
from airflow_provider_ckpt.fleet.dropped_output import DroppedOutput
from airflow_provider_ckpt.fleet.find_readers import find_readers, with_readers
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import RESET
from tests.kafka_checkpoint import commit_batch


def written(out: Path, batch_id: int) -> str:
    return f"file://{out}/part-{batch_id}.parquet"


@pytest.fixture
def lake(tmp_path):
    """A query that has written a file in each of batches 0 to 5, and one that has read those up to batch 4."""
    out = tmp_path / "orders"
    (out / "_spark_metadata").mkdir(parents=True)
    for batch_id in range(6):
        commit_batch(tmp_path / "ck/orders", batch_id, json.dumps({"orders": {"0": batch_id}}))
        status = {
            "path": written(out, batch_id),
            "size": 1,
            "isDir": False,
            "modificationTime": 1,
            "blockReplication": 1,
            "blockSize": 1,
            "action": "add",
        }
        (out / "_spark_metadata" / str(batch_id)).write_text(f"v1\n{json.dumps(status)}")
    reads(tmp_path / "ck/totals", out, 5)
    return tmp_path


def reads(checkpoint: Path, out: Path, count: int) -> None:
    """A query that reads a file in each batch."""
    (checkpoint / "sources/0").mkdir(parents=True)
    for batch_id in range(count):
        commit_batch(checkpoint, batch_id, json.dumps({"logOffset": batch_id}))
        entry = {"path": written(out, batch_id), "timestamp": 1, "batchId": batch_id}
        (checkpoint / f"sources/0/{batch_id}").write_text(f"v1\n{json.dumps(entry)}")


def plan_of(lake: Path, capsys, *options: str, sink: str | None = None) -> list[str]:
    where = str(lake / "ck/orders")
    declared = sink or f"file:{lake}/orders"
    run(["rollback", where, "--to-batch", "3", "--sink", declared, "--json", *options])
    return [
        text for text in json.loads(capsys.readouterr().out)["plan"]["warnings"] if "read" in text and "batch" in text
    ]


def test_a_query_beside_it_that_has_read_the_files_is_named_with_its_way_back(lake, capsys):
    (warning,) = plan_of(lake, capsys, "--trim-sink-log")
    assert warning == (
        f"{lake}/ck/totals has read what batches 4 to 5 wrote to file:{lake}/orders, from its batch 4 on: it keeps those "
        f"rows, and reads what is written anew beside them. Roll it back as well: ckpt rollback {lake}/ck/totals "
        "--to-batch 3 --sink TYPE[:URI]"
    )


def test_a_query_inside_it_is_named_as_well(lake, capsys):
    (lake / "ck/totals").rename(lake / "ck/orders/totals")
    (warning,) = plan_of(lake, capsys, "--trim-sink-log")
    assert warning.startswith(f"{lake}/ck/orders/totals has read what batches 4 to 5 wrote")


def test_where_nobody_is_found_nobody_is_said_to_be_none(lake, capsys):
    (lake / "ck/totals").rename(lake / "elsewhere")
    (warning,) = plan_of(lake, capsys)
    assert warning.startswith(
        f"Who has read what batches 4 to 5 wrote to file:{lake}/orders is not known: no checkpoint"
    )
    assert "--downstream ROOT" in warning


def test_other_places_are_searched_too(lake, capsys):
    (lake / "far").mkdir()
    (lake / "ck/totals").rename(lake / "far/totals")
    (warning,) = plan_of(lake, capsys, "--downstream", str(lake / "far"))
    assert warning.startswith(f"{lake}/far/totals has read")
    warnings = plan_of(lake, capsys, "--downstream", str(lake / "nowhere"))
    assert "Not searched" in warnings[0]


@pytest.mark.parametrize("sink", ["kafka", "foreachBatch"])
def test_a_sink_that_does_not_tell_says_so(lake, sink, capsys):
    (warning,) = [text for text in plan_of(lake, capsys, sink=sink) if text.startswith("Who has read")]
    assert "is not known: the sink does not tell" in warning


@pytest.mark.parametrize("sink", ["noop", "console"])
def test_a_sink_that_keeps_nothing_was_read_by_nobody(lake, sink, capsys):
    assert plan_of(lake, capsys, sink=sink) == []


def test_a_query_that_has_read_less_keeps_nothing_wrong(lake, capsys):
    for batch_id in (4,):
        for name in (f"offsets/{batch_id}", f"commits/{batch_id}", f"sources/0/{batch_id}"):
            (lake / "ck/totals" / name).unlink()
    (warning,) = plan_of(lake, capsys)
    assert warning.startswith("Who has read")


def test_an_entry_from_before_these_batches_is_not_read(lake, capsys):
    """Most queries beside it have read something else: their logs are not read through."""
    for path in (lake / "ck/totals/sources/0").iterdir():
        os.utime(path, (1_500_000_000, 1_500_000_000))
    (warning,) = plan_of(lake, capsys)
    assert warning.startswith("Who has read")


def test_what_was_not_read_is_said(lake, capsys):
    for path in (lake / "ck/totals/sources/0").iterdir():
        path.write_text("v1\nnot JSON")
    (warning,) = plan_of(lake, capsys)
    assert "is not known" in warning and f"Not searched whole: {lake}/ck/totals: " in warning


def test_a_plan_that_was_begun_stays_as_it_is(lake, monkeypatch):
    stores = Stores(Store.open(str(lake / "ck/orders")))
    sink = parse_sink("kafka")
    plan = make_rollback(stores, 3, sink=sink)
    record = type("Record", (), {"plan": plan})()
    monkeypatch.setattr(module, "history", lambda *_: [record])
    assert module.with_readers(plan, stores, sink, Store.open) is plan


@pytest.mark.parametrize(
    ("dropped", "ends", "batch_id"),
    [
        (DroppedOutput(4, 5, "delta:/t", table_id="t", version=3), [DeltaOffset("t", 3), DeltaOffset("t", 4)], 1),
        (DroppedOutput(4, 5, "delta:/t", table_id="t", version=3), [DeltaOffset("t", 2), DeltaOffset("t", 3, 0)], 1),
        (DroppedOutput(4, 5, "delta:/t", table_id="t", version=3), [DeltaOffset("t", 3, 0, True)], 0),
        (DroppedOutput(4, 5, "delta:/t", table_id="t", version=3), [DeltaOffset("u", 9)], None),
        (DroppedOutput(4, 5, "delta:/t", table_id="t", version=3), [DeltaOffset("t", 3)], None),
        (DroppedOutput(4, 5, "iceberg:/t", snapshots=frozenset({7, 8})), [IcebergOffset(6, 1), IcebergOffset(8, 1)], 1),
        (DroppedOutput(4, 5, "iceberg:/t", snapshots=frozenset({7, 8})), [IcebergOffset(6, 1)], None),
    ],
)  # fmt: skip
def test_a_position_in_a_table_tells_what_was_read(dropped, ends, batch_id, tmp_path):
    commit_batch(tmp_path / "orders", 0, "1")
    for at, end in enumerate(ends):
        commit_batch(tmp_path / "reader", at, "5", end.json)
    found, searched = find_readers(dropped, Store.open(str(tmp_path / "orders")), Store.open)
    assert [(item.location, item.batch_id) for item in found] == (
        [] if batch_id is None else [(str(tmp_path / "reader"), batch_id)]
    )
    assert searched.count == 1


def test_an_undo_names_who_has_read_what_was_written_since(lake, capsys, tmp_path):
    log = shutil.copytree(lake / "orders/_spark_metadata", tmp_path / "log")
    sink = f"file:{lake}/orders"
    do_it = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]
    assert run(["rollback", str(lake / "ck/orders"), "--to-batch", "3", "--sink", sink, "--trim-sink-log", *do_it]) == 0
    for batch_id in (4, 5):  # the query runs them anew
        entry = (lake / "ck/orders/offsets/3").read_text().rpartition("\n")[0]
        (lake / f"ck/orders/offsets/{batch_id}").write_text(f'{entry}\n{{"orders":{{"0":{10 * batch_id}}}}}')
        shutil.copy(lake / "ck/orders/commits/3", lake / f"ck/orders/commits/{batch_id}")
        shutil.copy(log / str(batch_id), lake / "orders/_spark_metadata")
    capsys.readouterr()
    run(["undo", str(lake / "ck/orders"), "--json"])
    warnings = json.loads(capsys.readouterr().out)["plan"]["warnings"]
    assert [text for text in warnings if f"{lake}/ck/totals has read what batches 4 to 5 wrote" in text], warnings


@pytest.mark.parametrize(
    ("effects", "gets"),
    [
        (("duplicated",), "it gets rows a second time"),
        (("skipped",), "it never gets the rows that are left out"),
        (("duplicated", "skipped"), "it gets rows a second time, and it never gets the rows that are left out"),
    ],
)
def test_a_reset_names_who_reads_the_sink_of_the_query(lake, effects, gets):
    plan = replace(RESET, effects=tuple(SinkEffect("s", effect, "") for effect in effects))
    stores = Stores(Store.open(f"{lake}/ck/orders"))
    told = with_readers(plan, stores, parse_sink(f"file:{lake}/orders"), Store.open).warnings
    assert told[-1] == (
        f"{lake}/ck/totals reads file:{lake}/orders, which this query writes: {gets}, as the sink does."
    )
    (lake / "ck/totals").rename(lake / "totals")
    (told,) = with_readers(plan, stores, parse_sink(f"file:{lake}/orders"), Store.open).warnings[len(plan.warnings) :]
    assert told.startswith(f"Who reads file:{lake}/orders is not known: no checkpoint beside {lake}/ck/orders")
    assert with_readers(plan, stores, parse_sink("kafka"), Store.open).warnings[-1].startswith("Who reads kafka is not")
    assert with_readers(replace(plan, effects=()), stores, parse_sink("noop"), Store.open).warnings == plan.warnings


@pytest.mark.parametrize(
    "lose",
    [
        lambda entry: entry.write_text(entry.read_text()[:20]),
        Path.unlink,
    ],
    ids=["cut", "lost"],
)
def test_a_salvage_names_who_has_read_what_it_gives_up(lake, capsys, lose):
    """Also where the logs of the checkpoint do not know of the batch any more, and the log of its sink does."""
    for batch_id in (4, 5):
        lose(lake / f"ck/orders/offsets/{batch_id}")
    asked = ["salvage", f"{lake}/ck/orders", "--sink", f"file:{lake}/orders", "--trim-sink-log", "--json"]
    run(asked)
    warnings = json.loads(capsys.readouterr().out)["plan"]["warnings"]
    assert [text for text in warnings if f"{lake}/ck/totals has read what batches 4 to 5 wrote" in text], warnings
    (lake / "far").mkdir()
    (lake / "ck/totals").rename(lake / "far/totals")
    run([*asked, "--downstream", f"{lake}/far"])
    warnings = json.loads(capsys.readouterr().out)["plan"]["warnings"]
    assert [text for text in warnings if f"{lake}/far/totals has read what batches 4 to 5 wrote" in text], warnings
