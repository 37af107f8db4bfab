"""Names in the directories of state stores that Spark reads as numbers; all names were put to Spark (tests/oracle)."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checkpoint.spark_confs import STATE_PROVIDER
from airflow_provider_ckpt.checks import state_names
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.checks.state_names import names_of_no_version
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.views import offset_entry, view_of

_OF_SPARK = "org.apache.spark.sql.execution.streaming.state"
HDFS, ROCKSDB = (f"{_OF_SPARK}.{name}StateStoreProvider" for name in ("HDFSBacked", "RocksDB"))


def odd(provider: str, *names: str) -> list[str | None]:
    entries = {"offsets/6": offset_entry(0), "offsets/7": offset_entry(1, **{STATE_PROVIDER: provider})}
    return [finding.name for finding in names_of_no_version(view_of(*names, **entries))]


@pytest.mark.parametrize(
    "stem", ["._8", "8 copy", "8 (1)", "8 - Copy", "Copy of 8", "x", "", "8.old", "8_1", "8a", "_8"]
)
def test_a_name_that_does_not_begin_with_a_number(stem):
    zip_file, snapshot = f"state/0/1/{stem}.zip", f"state/0/1/{stem}.snapshot"
    assert odd(ROCKSDB, "state/0/1/7.zip", zip_file, snapshot) == [zip_file]
    assert odd(HDFS, "state/0/1/7.delta", zip_file, snapshot) == [snapshot]


@pytest.mark.parametrize(
    "name",
    [
        "8.zip~",
        "8.zip.bak",
        "8.zip (1)",
        ".8.zip.swp",
        ".8.zip.crc",
        "8.zip.crc",
        "._8.changelog",
        "x.delta",
        ".DS_Store",
    ],
)
def test_another_ending_is_passed_over(name):
    assert odd(ROCKSDB, "state/0/1/7.zip", f"state/0/1/{name}") == []


def test_another_spelling_of_a_number_is_another_file():
    """Of snapshots Spark opens the newest one that it sees, under the number that it has read."""
    names = ("state/0/1/7.delta", "state/0/1/08.snapshot", "state/0/1/+3.snapshot", "state/0/1/-1.snapshot")
    assert odd(HDFS, *names, "state/0/1/09.snapshot") == ["state/0/1/+3.snapshot", "state/0/1/08.snapshot"]
    assert odd(ROCKSDB, "state/0/1/7.zip", "state/0/1/08.zip", "state/0/1/+3.zip") == []


@pytest.mark.parametrize(
    ("stem", "is_odd"),
    [("._8_0b1f", False), ("_8", True), ("Copy of 8_0b1f", True), ("8_0b1f copy", False), ("x", False)],
)
def test_with_ids_a_name_of_two_parts_begins_with_a_number(stem, is_odd):
    ids = {"nextBatchWatermarkMs": 0, "stateUniqueIds": {"0": [["0b1f"]]}}
    entries = {
        "offsets/7": offset_entry(1, **{STATE_PROVIDER: ROCKSDB}),
        "commits/7": f"v2\n{json.dumps(ids)}".encode(),
    }
    view = view_of("state/0/0/8_0b1f.zip", f"state/0/0/{stem}.zip", **entries)
    assert bool(list(names_of_no_version(view))) == is_odd


def test_only_the_directory_of_a_store_is_searched():
    names = (
        "state/0/1/left/7.zip",
        "state/0/1/x.zip",
        "state/0/1/left/x.zip",
        "state/0/1/left/SSTs/y.zip",
        "state/z.zip",
    )
    assert odd(ROCKSDB, *names) == ["state/0/1/left/x.zip"]


def test_a_directory_counts_by_its_name():
    assert odd(HDFS, "state/0/1/7.delta", "state/0/1/.snapshot/1/file") == ["state/0/1/.snapshot"]


ONE, TWO = [["a"]], [["a"], ["b"]]
#: Ids of operator 0 in the newest commit, state files beside those of partition 0, and whether it names too few.
NAMED = {
    "one partition": (ONE, (), False),
    "two": (TWO, ("state/0/1/2_b.changelog",), False),
    "fewer than wrote state": (ONE, ("state/0/1/2_b.changelog",), True),
    "older state, from before a repartition": (ONE, ("state/0/1/1_b.changelog",), False),
    "the state of the batch in flight": (ONE, ("state/0/1/3_b.changelog",), False),
    "state without ids": (ONE, ("state/0/1/2.changelog",), False),
    "another operator": (ONE, ("state/1/1/2_b.changelog",), False),
}


@pytest.mark.parametrize(("ids", "files", "is_found"), NAMED.values(), ids=NAMED)
def test_a_commit_names_the_state_files_of_every_partition(ids, files, is_found):
    commit = f"v2\n{json.dumps({'stateUniqueIds': {'0': ids}})}".encode()
    view = view_of("offsets/1", "state/0/0/2_a.changelog", *files, **{"commits/1": commit})
    said = [
        (item.code, item.severity, item.name, item.spark_error) for item in state_names.ids_of_fewer_partitions(view)
    ]
    assert said == ([("CKPT133", "error", "commits/1", "ArrayIndexOutOfBoundsException")] if is_found else [])


def test_a_commit_that_was_cut_by_hand_closes_the_gate(golden):
    checkpoint = golden("agg-rocksdb-v2")
    commit = checkpoint / "commits/7"
    version, body = commit.read_text().split("\n")
    fields = json.loads(body)
    fields["stateUniqueIds"] = {operator: ids[:1] for operator, ids in fields["stateUniqueIds"].items()}
    commit.write_text(f"{version}\n{json.dumps(fields)}")
    (checkpoint / "commits/.7.crc").unlink()
    foretold = forecast(examine(Store.open(str(checkpoint)), deep=True), DeploySpec())
    assert (foretold.decision, foretold.spark_error) == ("block", "ArrayIndexOutOfBoundsException")
    assert [item.code for item in foretold.findings if item.severity == "error"] == ["CKPT133"]


def test_operators_whose_directories_were_exchanged_close_the_gate(golden):
    checkpoint = golden("count-then-limit")
    assert list(state_names.metadata_of_another(examine(Store.open(str(checkpoint)), deep=True))) == []
    (checkpoint / "state/0").rename(checkpoint / "state/x")
    (checkpoint / "state/1").rename(checkpoint / "state/0")
    (checkpoint / "state/x").rename(checkpoint / "state/1")
    view = examine(Store.open(str(checkpoint)), deep=True)
    said = [(item.code, item.severity, item.name) for item in state_names.metadata_of_another(view)]
    assert said == [("CKPT230", "error", f"state/{number}/_metadata/metadata") for number in (0, 1)]
    assert forecast(view, DeploySpec()).decision == "block"
