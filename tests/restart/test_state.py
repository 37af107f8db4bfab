"""Steps of a restart that concern state, each over a listing and a deploy."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS, STATE_PROVIDER
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart import state
from airflow_provider_ckpt.restart.logs import STATE_FORMAT
from tests.views import offset_entry, operator_file, view_of

SPARKS_OWN = "org.apache.spark.sql.execution.streaming.state"
COMMIT, WITH_IDS = b"v1\n{}", b'v2\n{"stateUniqueIds":{"0":[["a"],["b"]]}}'
LOAD = "CANNOT_LOAD_STATE_STORE"


def found(step, view: CheckpointView, deploy: DeploySpec) -> list[tuple[str, str, str | None]]:
    """Code, severity and Spark's error of each finding."""
    return [(item.code, item.severity, item.spark_error) for item in step(view, deploy)]


def stateful(
    *names: str, operator: str | None = "stateStoreSave", commit: bytes = COMMIT, **conf: str
) -> CheckpointView:
    """Batch 1 of a query with this stateful operator is committed."""
    files = {"offsets/1": offset_entry(**conf), "commits/1": commit}
    if operator is not None:
        files["state/0/_metadata/metadata"] = operator_file(operator)
    return replace(view_of("state/0/0/2.delta", *names, **files), stateful=True)


@pytest.mark.parametrize(
    ("operators", "version", "error"),
    [
        (("stateStoreSave",), (4, 0), "_LEGACY_ERROR_TEMP_3102"),
        (None, (4, 0), "_LEGACY_ERROR_TEMP_3102"),
        (("transformWithStateExec",), (4, 0), None),
        (("stateStoreSave",), (3, 5), None),
        ((), (4, 0), None),
    ],
)
def test_avro_is_for_transform_with_state_alone(operators, version, error):
    deploy = DeploySpec(version, {state.ENCODING: "avro"}, operators=operators)
    assert found(state.encoding, stateful(), deploy) == ([] if error is None else [("CKPT230", "error", error)])
    assert found(state.encoding, stateful(), replace(deploy, confs={})) == []


def test_an_entry_of_version_2_without_partitions_has_those_of_the_first_run():
    fields = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}
    data = f"v2\n{json.dumps(fields)}\na:1".encode()
    operator = {"state/0/_metadata/metadata": operator_file("stateStoreSave")}
    assert state.logged_confs(view_of(**{"offsets/1": data}, **operator)) == {SHUFFLE_PARTITIONS: "1"}
    assert state.logged_confs(view_of(**{"offsets/1": data})) == {}
    assert state.logged_confs(stateful()) == {}, "version 1 falls back to the session"
    assert state.logged_confs(view_of(**{"offsets/1": b"v1\n\n1"})) is None
    assert state.logged_confs(view_of()) is None


#: The commit, what else is there, the partitions that the log says, and what Spark stops with.
PARTITIONS = {
    "as many": (COMMIT, (), "1", []),
    "fewer than wrote state": (WITH_IDS, (), "1", [None]),
    "more with ids": (WITH_IDS, (), "3", ["ArrayIndexOutOfBoundsException"]),
    "more of HDFS": (COMMIT, (), "3", [f"{LOAD}.CANNOT_READ_DELTA_FILE_NOT_EXISTS"]),
}


@pytest.mark.parametrize(("commit", "names", "partitions", "errors"), PARTITIONS.values(), ids=PARTITIONS)
def test_another_number_of_partitions_than_wrote_state(commit, names, partitions, errors):
    view = stateful(*names, commit=commit, **{SHUFFLE_PARTITIONS: partitions})
    assert found(state.state_partitions, view, DeploySpec()) == [("CKPT205", "error", error) for error in errors]


@pytest.mark.parametrize(
    ("kind", "folders", "error"),
    [
        ("zip", (), "CANNOT_READ_STREAMING_STATE_FILE"),
        ("zip", ("state/0/1/2.zip",), "UNCATEGORIZED"),
        ("zip", ("state/1/1/2.zip",), "CANNOT_READ_STREAMING_STATE_FILE"),
        ("delta", (), "CANNOT_READ_DELTA_FILE_NOT_EXISTS"),
    ],
)
def test_the_error_at_a_partition_that_has_no_state(kind, folders, error):
    files = {"offsets/1": offset_entry(partitions=2), "commits/1": COMMIT}
    view = replace(view_of(f"state/0/0/2.{kind}", **files), stateful=True, folders=folders)
    assert found(state.state_partitions, view, DeploySpec()) == [("CKPT205", "error", f"{LOAD}.{error}")]


@pytest.mark.parametrize(
    ("provider", "code", "error"),
    [
        (f"{SPARKS_OWN}.HDFSBackedStateStoreProvider", None, None),
        (f"{SPARKS_OWN}.RocksDBStateStoreProvider", None, None),
        (f"{SPARKS_OWN}.Rocks", "CKPT116", "ClassNotFoundException"),
        ("rocksdb", "CKPT116", "ClassNotFoundException"),
        ("com.example.Own", None, None),
    ],
)
def test_a_provider_that_is_no_class(provider, code, error):
    view = stateful(**{STATE_PROVIDER: provider})
    deploy = DeploySpec(operators=("stateStoreSave",))
    assert found(state.stateful_operators, view, deploy) == ([] if code is None else [(code, "error", error)])


NOT_MATCH = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"


@pytest.mark.parametrize(
    ("recorded", "deployed", "version", "expected"),
    [
        ("stateStoreSave", ("stateStoreSave",), None, []),
        ("stateStoreSave", None, None, []),
        ("stateStoreSave", ("dedupe",), None, [("CKPT230", "error", NOT_MATCH)]),
        ("stateStoreSave", ("dedupe",), (3, 5), [("CKPT230", "error", None)]),
        ("stateStoreSave", (), None, [("CKPT230", "error", NOT_MATCH)]),
        (None, (), None, [("CKPT230", "warning", None)]),
        (None, ("dedupe",), None, []),
    ],
)
def test_the_deploy_has_the_operators_that_the_state_belongs_to(recorded, deployed, version, expected):
    deploy = DeploySpec(version, operators=deployed)
    assert found(state.stateful_operators, stateful(operator=recorded), deploy) == expected


def test_an_operator_without_state_cannot_start():
    view = view_of(**{"offsets/1": offset_entry(), "commits/1": COMMIT})
    error = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
    assert found(state.stateful_operators, view, DeploySpec(operators=("dedupe",))) == [("CKPT132", "error", error)]
    assert found(state.stateful_operators, view, DeploySpec(operators=())) == []
    assert found(state.stateful_operators, view_of(), DeploySpec(operators=("dedupe",))) == []


@pytest.mark.parametrize(
    ("commit", "version", "wanted", "expected"),
    [
        (COMMIT, (4, 3), None, []),
        (COMMIT, (4, 3), "1", []),
        (COMMIT, (4, 3), "2", [("CKPT222", "error", None)]),
        (COMMIT, (4, 2), "2", [("CKPT222", "error", f"{LOAD}.UNCATEGORIZED")]),
        (WITH_IDS, (4, 2), None, [("CKPT222", "error", f"{LOAD}.UNCATEGORIZED")]),
        (WITH_IDS, (4, 2), "2", []),
        (WITH_IDS, (4, 3), None, []),
    ],
)
def test_the_state_format_of_the_deploy_and_of_the_checkpoint(commit, version, wanted, expected):
    deploy = DeploySpec(version, {} if wanted is None else {STATE_FORMAT: wanted})
    assert found(state.state_format_switched, stateful(commit=commit), deploy) == expected


def test_hdfs_has_no_ids():
    view = stateful(**{STATE_PROVIDER: f"{SPARKS_OWN}.HDFSBackedStateStoreProvider"})
    deploy = DeploySpec((4, 2), {STATE_FORMAT: "2"})
    error = "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED"
    assert found(state.state_format_switched, view, deploy) == [("CKPT222", "error", error)]


@pytest.mark.parametrize(("version", "severity"), [((4, 1), "warning"), ((4, 0), "error"), (None, "warning")])
def test_spark_before_4_1_does_not_make_up_for_a_broken_snapshot(version, severity):
    view = replace(stateful(), repaired=("state/0/0/1.snapshot: empty",))
    error = f"{LOAD}.UNCATEGORIZED" if severity == "error" else None
    assert ("CKPT134", severity, error) in found(state.state_loads, view, DeploySpec(version))


@pytest.mark.parametrize(
    ("left", "version", "operators", "error"),
    [
        ("state/0/0/_metadata/.schema.crc", (4, 3), None, "FileAlreadyExistsException"),
        ("state/0/0/_metadata/.schema.crc", (3, 5), ("stateStoreSave",), "FileAlreadyExistsException"),
        ("state/0/_metadata/.metadata.crc", (4, 0), None, "FileAlreadyExistsException"),
        ("state/0/_metadata/.metadata.crc", (3, 5), None, None),
        ("state/0/0/_metadata/.schema.crc", (4, 3), (), None),
        ("state/0/_metadata/v2/.0.crc", (4, 3), None, None),
        ("state/0/0/.3.delta.crc", (4, 3), None, None),
    ],
)
def test_a_checksum_file_in_the_way_of_what_spark_writes_of_an_operator(left, version, operators, error):
    view = stateful(left, operator=None)
    deploy = DeploySpec(declared_version=version, operators=operators)
    expected = [("CKPT120", "error", error)] if error else []
    assert found(state.metadata_can_be_written, view, deploy) == expected
