"""What Spark's state reader is asked for, by the kind of state."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.state.reads import state_format, state_reads
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.storage.store import Store

#: Operator, part and options by golden.
READS = {
    "agg-rocksdb": [("stateStoreSave", "", {"operatorId": "0"})],
    "join-state-format-3": [
        ("symmetricHashJoin", "left", {"operatorId": "0", "joinSide": "left"}),
        ("symmetricHashJoin", "right", {"operatorId": "0", "joinSide": "right"}),
    ],
    "transform-with-state": [("transformWithStateInPandasExec", "count", {"operatorId": "0", "stateVarName": "count"})],
    "file-to-parquet-5": [],
}


@pytest.mark.parametrize("name", READS)
def test_every_part_of_the_state_is_read(goldens, name):
    view = examine(Store.open(str(goldens[f"4.3.0/{name}"] / "checkpoint")), deep=True)
    assert [(read.operator, read.part, dict(read.options)) for read in state_reads(view)] == READS[name]


def test_a_part_is_named_in_words(goldens):
    view = examine(Store.open(str(goldens["4.3.0/join-state-format-3"] / "checkpoint")), deep=True)
    assert state_reads(view)[0].text == "the state of operator 0 (symmetricHashJoin, left)"


@pytest.mark.parametrize(("name", "expected"), [("agg-rocksdb", "1"), ("agg-rocksdb-v2", "2"), ("agg-hdfs", "1")])
def test_the_format_is_that_of_the_commit(goldens, name, expected):
    view = examine(Store.open(str(goldens[f"4.3.0/{name}"] / "checkpoint")), deep=True)
    assert state_format(view.commit(view.latest_committed)) == expected
