"""State where the next batch writes its own: what a batch in flight has left, and directories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate

CRASHED = "drop commits/{N}"
KEYED, TOTALS = "agg-hdfs", "count-all-hdfs"
#: A golden and its newest version, what its batch in flight has left, the sink, and what is said of the file.
LEFT = {
    "nobody knows the sink": (KEYED, 8, "", "error"),
    "the file sink holds the batch and skips it": (KEYED, 8, "file:OUT", "error"),
    "the file sink lacks the batch, so it is computed": (KEYED, 8, "file:OUT without 7", None),
    "the table holds the batch and skips it": (KEYED, 8, "delta:T at 7", "error"),
    "the table lacks the batch, so it is computed": (KEYED, 8, "delta:T at 6", None),
    "the table knows no batch of the query": (KEYED, 8, "delta:T at None", None),
    "a table that was not read": (KEYED, 8, "delta:T", "error"),
    "a file sink that was not read": (KEYED, 8, "parquet:T", "error"),
    "a function may skip the batch": (TOTALS, 6, "foreachBatch", "error"),
    "a console computes every batch": (TOTALS, 6, "console", None),
    "Kafka computes every batch": (TOTALS, 6, "kafka", None),
}


def found(home, sink, code):
    """Severity, place and Spark's error of what the gate finds."""
    kind, _, at = sink.partition(" at ")
    kind, _, _ = kind.partition(" without ")
    store = Store.open(str(home / "output")) if "OUT" in kind else None
    view = examine(Store.open(str(home / "checkpoint")), deep=True, sink=store)
    if at:
        marker = SinkMarker("delta", "T", last_batch=None if at == "None" else int(at))
        view = replace(view, marker=marker)
    findings = forecast(view, DeploySpec((4, 3), sink=Sink(kind.partition(":")[0], "/out") if kind else None)).findings
    return [(finding.severity, finding.name, finding.spark_error) for finding in findings if finding.code == code]


@pytest.mark.parametrize("case", LEFT)
@pytest.mark.parametrize("damage", ["empty", "truncate"])
def test_a_broken_file_stays_only_where_the_batch_is_skipped(golden_home, case, damage):
    name, version, sink, severity = LEFT[case]
    home = golden_home(name)
    lines = [CRASHED, f"{damage} state/0/0/{version}.delta"]
    mutate(home / "checkpoint", lines + ["drop ../output/_spark_metadata/7"] * ("without" in sink))
    assert found(home, sink, "CKPT137") == ([(severity, f"state/0/0/{version}.delta", None)] if severity else [])


CANNOT_WRITE = "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"
#: What is done to a golden whose newest version is 6, the directory that is in the way, and what Spark stops with.
FOLDERS = {
    "where the next batch writes": (("folder state/0/0/7.delta",), {"state/0/0/7.delta": CANNOT_WRITE}),
    "where a later batch writes": (("folder state/0/0/9.delta",), {"state/0/0/9.delta": None}),
    "where the next snapshot is written": (("folder state/0/0/7.snapshot",), {"state/0/0/7.snapshot": None}),
    "where the batch in flight writes": ((CRASHED, "folder state/0/0/6.delta"), {"state/0/0/6.delta": CANNOT_WRITE}),
    "where a committed batch has written": (("folder state/0/0/2.delta",), {}),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_a_directory_where_state_will_be_written_stops_the_query(golden_home, case):
    lines, errors = FOLDERS[case]
    home = golden_home(TOTALS)
    mutate(home / "checkpoint", lines)
    assert found(home, "noop", "CKPT115") == [("error", name, error) for name, error in errors.items()]
