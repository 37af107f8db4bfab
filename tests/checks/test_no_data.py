"""Results of closed windows wait for new data where the batch without data that gives them has not run."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.no_data import reads_nothing_between, why_waiting
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.forgotten_reader import drop, make_lake

#: The newest batch of these has read no data; in the first two it has given rows.
NO_DATA = {"agg-hdfs": 7, "session-window": 5, "drop-duplicates": 7, "join-hdfs": 4}


@pytest.mark.parametrize("name", NO_DATA)
def test_a_rollback_to_before_the_batch_without_data_says_that_nothing_runs(golden, name):
    stores, newest = Stores(Store.open(str(golden(name)))), NO_DATA[name]
    now = observe(stores.checkpoint)
    assert (now.latest_committed, why_waiting(now)) == (newest, None)
    plan = make_rollback(stores, newest - 1, sink=parse_sink("noop"))
    (told,) = (text for text in plan.warnings if "nothing runs until there is new data" in text)
    assert told.startswith("After this rollback nothing runs") and f"batch {newest - 1} has moved the watermark" in told
    assert f"Until then the sink lacks the rows of batch {newest} where they go." in told
    apply(plan, stores, query_is_stopped=True, quiet_s=0)
    after = observe(stores.checkpoint)
    assert f"batch {newest - 1} has moved" in (why_waiting(after) or "") and reads_nothing_between(now, after)


@pytest.mark.parametrize(("name", "batch"), [("agg-hdfs", 5), ("agg-hdfs", 7), ("file-to-parquet-5", 3)])
def test_where_data_is_read_again_or_nothing_waits_nothing_is_said(golden, name, batch):
    plan = make_rollback(Stores(Store.open(str(golden(name)))), batch, sink=parse_sink("noop"))
    assert not [text for text in plan.warnings if "until there is new data" in text]


def test_the_gate_and_a_wait_say_it(golden, capsys):
    checkpoint = golden("agg-hdfs")
    assert run(["gate", str(checkpoint), "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["waits_for_data"] is False
    stores = Stores(Store.open(str(checkpoint)))
    plan = make_rollback(stores, 6, sink=parse_sink("noop"))
    apply(plan, stores, query_is_stopped=True, quiet_s=0)
    assert run(["gate", str(checkpoint), "--json"]) in (0, 1)
    told = json.loads(capsys.readouterr().out)
    assert told["waits_for_data"] is True and "CKPT225" in {item["code"] for item in told["findings"]}
    run(["gate", str(checkpoint)])
    assert "runs batch 7 when there is new data: until then nothing" in " ".join(capsys.readouterr().out.split())
    assert run(["wait", str(checkpoint), "--batch", "7", "--timeout", "0s"]) == 1
    assert "Nothing runs until there is new data: batch 6 has moved" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "waits"),
    [
        (["--source", "0=file:{lake}/orders"], True),
        (["--source", "0=file:{lake}/orders", "--trigger", "availableNow"], True),
        (["--source", "0=file:{lake}/orders", "--trigger", "continuous"], False),
        (["--source", "0=file"], False),
        (["--source", "0=file:{lake}/gone"], False),
        (["--source", "0=file:{lake}"], False),
        ([], False),
    ],
)
def test_a_query_that_has_read_all_of_its_sources_waits_for_data(tmp_path, capsys, options, waits):
    lake = make_lake(tmp_path)
    for batch_id in range(6):
        (lake / f"orders/{batch_id}.parquet").write_bytes(b"1")
    drop(lake, 5)  # the log of the sink is what Spark lists, and the query has read what it names
    words = ["gate", f"{lake}/totals", *(word.format(lake=lake) for word in options)]
    run([*words, "--json"])
    assert json.loads(capsys.readouterr().out)["waits_for_data"] is waits
    run(words)
    assert (
        "runs batch 5 when there is new data: until then nothing" in " ".join(capsys.readouterr().out.split())
    ) is waits


@pytest.mark.parametrize("options", [["--source", "0=file"], []])
def test_where_no_source_is_asked_nobody_knows_whether_the_batch_runs_at_once(tmp_path, capsys, options):
    lake = make_lake(tmp_path)
    run(["gate", f"{lake}/totals", *options])
    assert "; whether there is new data for it was not read" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("unread", ["a file", "a batch in flight"])
def test_a_query_with_something_to_read_runs(tmp_path, capsys, unread):
    lake = make_lake(tmp_path)
    for batch_id in range(6):
        (lake / f"orders/{batch_id}.parquet").write_bytes(b"1")
    if unread == "a batch in flight":
        drop(lake, 5)
        (lake / "totals/commits/4").unlink()
    run(["gate", f"{lake}/totals", "--source", f"0=file:{lake}/orders", "--json"])
    assert json.loads(capsys.readouterr().out)["waits_for_data"] is False
    run(["gate", f"{lake}/totals", "--source", f"0=file:{lake}/orders"])
    assert "was not read" not in capsys.readouterr().out
