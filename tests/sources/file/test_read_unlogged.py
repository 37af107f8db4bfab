"""A query that was forgotten when the one before it was rolled back: ``check`` and ``gate`` name it with its way back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.judge_tables import judge_tables
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableLosses
from airflow_provider_ckpt.storage.store import Store
from tests.forgotten_reader import drop, make_lake
from tests.kafka_checkpoint import commit_batch, plan_batch


@pytest.fixture
def lake(tmp_path):
    return make_lake(tmp_path)


def judged(lake: Path, place: str = "orders") -> TableLosses:
    store = Store.open(str(lake / "totals"))
    return judge_tables(observe(store), parse_by_id({"0": f"file:{lake}/{place}"}), {}, Access(Store.open, store), 0)


@pytest.mark.parametrize("command", ["check", "gate"])
def test_a_forgotten_reader_is_told_its_batch_its_files_and_its_way_back(lake, capsys, command):
    drop(lake, 3, 4, 5)
    run([command, f"{lake}/totals", "--source", f"0=file:{lake}/orders", "--json"])
    found = [item for item in json.loads(capsys.readouterr().out)["findings"] if item["code"] == "CKPT148"]
    assert [(item["severity"], item["batch_id"], item["name"]) for item in found] == [("warning", 3, "offsets/3")]
    assert "from batch 3 on, source 0 has read 2 files" in found[0]["message"] and "3.parquet" in found[0]["message"]
    assert found[0]["commands"] == [f"ckpt rollback {lake}/totals --to-batch 2 --sink TYPE[:URI]"]


def test_a_batch_in_flight_has_read_its_files_as_well(lake):
    (lake / "totals/commits/4").unlink()
    drop(lake, 4, 5)
    (finding,) = judged(lake).findings
    assert finding.batch_id == 4 and "--to-batch 3" in finding.commands[0]


def test_without_a_batch_from_before_nothing_is_advised_that_cannot_be_done(lake):
    drop(lake, 1, 2, 3, 4, 5)
    for log in ("offsets", "commits"):
        (lake / "totals" / log / "0").unlink()
    (finding,) = judged(lake).findings
    assert finding.commands == () and finding.hint.startswith("No batch from before was found")


@pytest.mark.parametrize(("dropped", "place"), [
    ((), "orders"), ((5,), "orders"), ((0, 1, 2, 3, 4, 5), "orders"), ((3, 4, 5), "orders/*.parquet"),
], ids=["nothing", "a file that was not read", "no log", "a pattern, for which Spark reads no log"])  # fmt: skip
def test_nothing_is_said_where_nothing_was_taken_out(lake, dropped, place):
    drop(lake, *dropped)
    assert judged(lake, place) == TableLosses()


@pytest.mark.parametrize("damage", ["hole", "cut", "unreadable", "elsewhere"])
def test_a_log_that_is_not_whole_proves_nothing(lake, damage):
    drop(lake, *{"hole": (3,), "cut": (0, 1)}.get(damage, ()))
    if damage == "unreadable":
        (lake / "orders/_spark_metadata/2").write_text("v1\n{")
    if damage == "elsewhere":
        for entry in (lake / "totals/sources/0").iterdir():
            entry.write_text(entry.read_text().replace("/orders/", "/others/"))
    assert judged(lake) == TableLosses(unknown=("files that were read",))


def test_what_retention_may_have_taken_out_is_a_note(lake):
    log = lake / "orders/_spark_metadata"
    lines = [(log / str(batch_id)).read_text().partition("\n")[2] for batch_id in (2, 3, 4)]
    drop(lake, *range(5))
    (log / "4.compact").write_text("\n".join(["v1", *lines]))
    (finding,) = judged(lake).findings
    assert (finding.severity, finding.commands) == ("note", ()) and finding.message.startswith(
        "source 0 has read 2 files that"
    )


def test_a_query_that_has_read_nothing_is_not_judged_by_it(lake):
    checkpoint = lake / "empty"
    plan_batch(checkpoint, 0, json.dumps({"logOffset": -1}))
    commit_batch(checkpoint, 0, json.dumps({"logOffset": -1}))
    (lake / "totals").rename(lake / "old")
    checkpoint.rename(lake / "totals")
    assert judged(lake) == TableLosses()
