"""CKPT107: an empty line anywhere in a log entry is one finding with one remedy, whoever is asked, and it works."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.judge_cause import judge_causes
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate

COUNT = "There are [{}] sources in the checkpoint offsets and now there are [{}] sources requested by the query."
VERSION = "[MALFORMED_LOG_FILE] Log file was malformed: failed to read correct log version from ."
#: By golden, and by what an editor does to it: what Spark says then.
SAID = {
    ("two-sources", "insert offsets/{N} 3 ''"): COUNT.format(3, 2),
    ("two-sources", "insert offsets/{N-1} 2 '  '"): COUNT.format(3, 2),
    ("two-sources", "append offsets/{N} 0a0a"): COUNT.format(3, 2),
    ("agg-hdfs", "insert offsets/{N} 1 ''"): COUNT.format(2, 1),
    ("agg-hdfs", "insert offsets/{N} 0 ''"): VERSION,
    ("offset-log-v2", "insert offsets/{N} 2 ''"): "IllegalStateException: Invalid OffsetMap format: ",
    ("offset-log-v2", "insert offsets/{N} 1 ' '"): "IllegalStateException: VERSION_2 offset log requires metadata",
    ("agg-rocksdb-v2", "insert commits/{N} 0 ''"): VERSION,
    ("agg-hdfs", "insert commits/{N} 1 ' '"): "MismatchedInputException: No content to map due to end-of-input",
}
CASES = pytest.mark.parametrize(("name", "edit"), SAID, ids=map(" ".join, SAID))


@CASES
def test_plain_and_whole_checks_say_the_same_and_nothing_else(name, edit, golden):
    checkpoint = golden(name)
    mutate(checkpoint, [edit])
    found = [inspect(Store.open(str(checkpoint)), deep=deep) for deep in (False, True)]
    errors = [[item for item in items if item.severity == "error"] for items in found]
    assert errors[0] == errors[1]
    assert [(item.code, item.commands[0].split()[:2]) for item in errors[0]] == [("CKPT107", ["ckpt", "salvage"])]


@CASES
def test_its_remedy_gives_the_entry_back_and_loses_no_batch(name, edit, golden):
    checkpoint = golden(name)
    whole = {path: path.read_bytes() for log in ("offsets", "commits") for path in (checkpoint / log).glob("[0-9]*")}
    mutate(checkpoint, [edit])
    stores = Stores(Store.open(str(checkpoint)))
    plan = make_salvage(stores, sink=Sink("kafka"))
    assert plan.sink_effect == "exact"
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink=())
    assert {path: path.read_bytes() for path in whole} == whole
    assert not [item for item in inspect(stores.checkpoint, deep=True) if item.severity == "error"]


@CASES
def test_an_explanation_of_what_spark_says_has_this_cause_alone(name, edit, golden):
    checkpoint = golden(name)
    mutate(checkpoint, [edit])
    explanations = explain([SAID[name, edit]]).explanations
    (item,) = judge_causes(explanations, Store.open(str(checkpoint)))
    assert item.evidence is not None and item.evidence.result == "confirmed"
    assert [finding.code for finding in item.evidence.findings] == ["CKPT107"]


def test_an_empty_line_in_the_log_of_a_file_source(golden):
    checkpoint = golden("file-to-parquet-12")
    whole = (checkpoint / "sources/0/9.compact").read_bytes()
    mutate(checkpoint, ["insert sources/0/9.compact 4 ''"])
    stores = Stores(Store.open(str(checkpoint)))
    (found,) = [item for item in inspect(stores.checkpoint, deep=True) if item.severity == "error"]
    assert (found.code, found.name, found.spark_error) == ("CKPT107", "sources/0/9.compact", "MismatchedInputException")
    apply(make_salvage(stores, sink=Sink("kafka")), stores, query_is_stopped=True, quiet_s=0, accept_sink=())
    assert (checkpoint / "sources/0/9.compact").read_bytes() == whole


def test_an_empty_second_line_of_a_continuous_query_is_right(golden):
    checkpoint = golden("continuous")
    assert not [item for item in inspect(Store.open(str(checkpoint)), deep=True) if item.code == "CKPT107"]
    mutate(checkpoint, ["append offsets/{N} 0a0a"])
    (found,) = [item for item in inspect(Store.open(str(checkpoint)), deep=True) if item.code == "CKPT107"]
    assert "line 4 is empty, at the end" in found.message
