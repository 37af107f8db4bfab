"""Rules about state, each over a listing and a few entries: what is found, where, and what Spark stops with."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.operator_files import OTHER_PLACE, OTHER_STORE
from airflow_provider_ckpt.checkpoint.spark_confs import COMPRESSION_CODEC
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import confs, state
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError
from tests.views import offset_entry, view_of

LOAD = "CANNOT_LOAD_STATE_STORE"
COMMIT, WITH_IDS = b"v1\n{}", b'v2\n{"stateUniqueIds":{"0":[["a"]]}}'


def entry(watermark_ms: int = 0, offset: int = 1) -> bytes:
    metadata = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": 1, "conf": {}}
    return f"v1\n{json.dumps(metadata)}\n{offset}".encode()


def found(rule, view: CheckpointView) -> list[tuple[str, str, str | None, str | None]]:
    """Code, severity, file and Spark's error of each finding."""
    return [(item.code, item.severity, item.name, item.spark_error) for item in rule(view)]


STATE_FILE = "state/0/0/1.delta"
NO_DIRECTORY = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
#: Entries of both logs of a checkpoint without state, and what is said of that.
WITHOUT_STATE = {
    "a query without state": ({"offsets/0": entry(), "commits/0": COMMIT}, None),
    "a commit that names state files": ({"offsets/0": entry(), "commits/0": WITH_IDS}, "error"),
    "a batch that moved the watermark alone": ({"offsets/0": entry(5), "offsets/1": entry(9)}, "error"),
    "a watermark that moved with data": ({"offsets/0": entry(5), "offsets/1": entry(9, 2)}, "warning"),
    "a batch that moved nothing": ({"offsets/0": entry(), "offsets/1": entry()}, None),
    "entries that are not next to each other": ({"offsets/0": entry(5), "offsets/2": entry(9)}, "warning"),
    "a watermark": ({"offsets/0": entry(5)}, "warning"),
    "an entry without metadata": ({"offsets/0": b"v1\n\n1", "offsets/1": b"v1\n\n1"}, None),
}


@pytest.mark.parametrize(("files", "severity"), WITHOUT_STATE.values(), ids=WITHOUT_STATE)
def test_state_that_is_lost_is_seen_in_the_logs(files, severity):
    error = NO_DIRECTORY if severity == "error" else None
    expected = [] if severity is None else [("CKPT132", severity, "state", error)]
    assert found(state.missing_state_directory, view_of(**files)) == expected
    assert found(state.missing_state_directory, replace(view_of(**files), stateful=True)) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((STATE_FILE,), [("CKPT131", "error", "state", "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY")]),
        ((STATE_FILE, "offsets/0"), []),
        ((), []),
    ],
)
def test_state_without_a_log(files, expected):
    assert found(state.state_without_log, replace(view_of(*files), stateful=STATE_FILE in files)) == expected


IDS = "state/0/0/1_a.zip"
#: What is listed and read, and where a batch finds no ids of its state files.
NO_IDS = {
    "every batch is committed": (("offsets/1", "offsets/2", "commits/1"), {"commits/2": WITH_IDS}, None),
    "the batch before is committed": (("offsets/1", "offsets/2"), {"commits/1": WITH_IDS}, None),
    "the batch before is planned": (("offsets/2", "offsets/3"), {"commits/1": WITH_IDS}, "commits/2"),
    "the batch before was skipped": (("offsets/1", "offsets/3"), {"commits/1": WITH_IDS}, None),
    "format 1": (("offsets/2", "offsets/3"), {"commits/1": COMMIT}, None),
    "no commit at all": (("offsets/1", IDS), {}, "commits"),
    "no commit of the first batch": (("offsets/0", IDS), {}, None),
    "no commit and no ids": (("offsets/1", STATE_FILE), {}, None),
}


@pytest.mark.parametrize(("files", "read", "name"), NO_IDS.values(), ids=NO_IDS)
def test_a_batch_that_runs_on_state_whose_ids_nobody_knows(files, read, name):
    said = found(state.ids_of_rerun, view_of(*files, **read))
    assert [(code, place) for code, _, place, _ in said] == ([] if name is None else [("CKPT133", name)])


@pytest.mark.parametrize(
    ("commit", "file", "is_found"), [(COMMIT, IDS, True), (WITH_IDS, IDS, False), (COMMIT, STATE_FILE, False)]
)
def test_a_commit_that_does_not_name_the_state_files_with_ids(commit, file, is_found):
    view = replace(view_of("offsets/1", file, **{"commits/1": commit}), stateful=True)
    assert found(state.commit_without_ids, view) == (
        [("CKPT133", "error", "commits/1", f"{LOAD}.UNCATEGORIZED")] if is_found else []
    )


SCHEMA, V2 = "state/0/0/_metadata/schema", "state/0/_metadata/v2"
#: What the restart lacks, and what Spark stops with.
LACKED = {
    "commits/1": None,
    "state/0": "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "state/0/0": (),
    "state/0/0/1.delta": f"{LOAD}.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    "state/0/0/1.snapshot": f"{LOAD}.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    "state/0/0/1.changelog": f"{LOAD}.CANNOT_READ_STREAMING_STATE_FILE",
    "state/0/0/1.zip": f"{LOAD}.CANNOT_READ_STREAMING_STATE_FILE",
    "state/0/0/1_?.zip": f"{LOAD}.UNCATEGORIZED",
    "state/0/0/1.zip: empty": f"{LOAD}.UNCATEGORIZED",
    "state/0/0/9.zip": f"{LOAD}.UNCATEGORIZED",  # a directory
    "state/0/0/SSTs/a.sst": f"{LOAD}.UNCATEGORIZED",
    "state/0/0/SSTs/a.sst: 5 bytes long instead of 6": f"{LOAD}.UNEXPECTED_FILE_SIZE",
    "state/1/0/SSTs/a.sst: 5 bytes long instead of 6": f"{LOAD}.UNCATEGORIZED",
    "state/0/0/SSTs/folder.sst": f"{LOAD}.UNEXPECTED_FILE_SIZE",
    V2: "STDS_FAILED_TO_READ_OPERATOR_METADATA",
    "state/1/_metadata/v2": "FileNotFoundException",
    SCHEMA: "FileNotFoundException",
    f"{SCHEMA}: not a state schema (not UTF-8 at byte 3)": "UTFDataFormatException",
    f"{SCHEMA}: not a state schema (the state schema has 'x', which is no data type of Spark's)": "UNSUPPORTED_DATATYPE",
    f"{SCHEMA}: not a state schema (the state schema is not JSON)": "UNSUPPORTED_DATATYPE",
    f"{SCHEMA}: not a state schema (the state schema is cut off)": "EOFException",
    f"{SCHEMA}: {OTHER_STORE}": "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    f"state/0/_metadata/v2/0: {OTHER_PLACE}": "FileNotFoundException",
    "state/2/_metadata/v2/0: not operator metadata (empty)": "INTERNAL_ERROR",
    "state/3/_metadata/v2/0: not operator metadata (wrong)": "MappingException",
}


@pytest.mark.parametrize(("problem", "error"), LACKED.items())
def test_what_spark_stops_with_at_a_file_that_the_restart_lacks(problem, error):
    view = replace(
        view_of("offsets/1", "commits/1", "state/1/_stateSchema/default/0_x"),
        missing=(problem,),
        folders=("state/0/0/9.zip", "state/0/0/SSTs/folder.sst", "state/1/_metadata/v2/0"),
        damaged={
            "state/2/_metadata/v2/0": IncompleteLogFileError("empty"),
            "state/3/_metadata/v2/0": MalformedEntryError("wrong", spark_error="MappingException"),
        },
    )
    name = problem.partition(": ")[0]
    expected = [] if error is None else [("CKPT130", "error", name, error or None)]
    assert found(state.incomplete_chain, view) == expected


def test_a_file_at_odds_with_its_checksum_has_a_code_of_its_own():
    view = replace(view_of("offsets/1", "commits/1"), missing=(f"{STATE_FILE}: {state.MISMATCH}",))
    assert found(state.incomplete_chain, view) == [("CKPT122", "error", STATE_FILE, f"{LOAD}.UNCATEGORIZED")]


def test_operator_metadata_that_no_restart_reads_is_a_warning():
    lost = {"state/0/_metadata/metadata": MalformedEntryError("wrong"), "offsets/0": MalformedEntryError("wrong")}
    view = replace(view_of("offsets/1"), damaged=lost)
    assert found(state.damaged_operator_metadata, view) == [
        ("CKPT102", "warning", "state/0/_metadata/metadata", None),
    ]
    needed = replace(view, missing=("state/0/_metadata/metadata: wrong",))
    assert found(state.damaged_operator_metadata, needed) == []


@pytest.mark.parametrize(
    ("codec", "file", "expected"),
    [
        (None, STATE_FILE, None),
        ("lz4", STATE_FILE, None),
        ("org.apache.spark.io.ZStdCompressionCodec", STATE_FILE, None),
        ("brotli", STATE_FILE, ("error", f"{LOAD}.UNCATEGORIZED")),
        ("brotli", "state/0/0/1.zip", None),
        ("com.example.Own", STATE_FILE, ("warning", None)),
    ],
)
def test_a_codec_that_spark_does_not_know_matters_where_state_is_compressed(codec, file, expected):
    conf = {} if codec is None else {COMPRESSION_CODEC: codec}
    view = view_of(file, **{"offsets/1": offset_entry(**conf)})
    said = [] if expected is None else [("CKPT116", expected[0], "offsets/1", expected[1])]
    assert found(confs.unknown_codec, view) == said


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (("offsets/1", "state/0/0/3.delta"), "state/0/0"),
        (("offsets/1", "state/0/0/2.delta"), None),
        (("offsets/1", "state/0/0/3.zip"), None),
        (("offsets/1", "state/0/0/3.zip", "state/0/0/1.changelog"), "state/0/0"),
        (("offsets/1", "state/0/0/3_a.changelog"), None),
        (("offsets/1", "state/0/0/3.delta", "state/0/1/4.delta"), "state/0/1"),
        (("state/0/0/3.delta",), None),
    ],
)
def test_state_of_batches_that_the_offset_log_does_not_have(files, place):
    said = found(state.state_ahead, view_of(*files))
    assert said == ([] if place is None else [("CKPT138", "warning", place, None)])


@pytest.mark.parametrize(
    ("folder", "error"),
    [
        ("state/0/0/2.snapshot", f"{LOAD}.UNCATEGORIZED"),
        ("state/0/0/3.delta", "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"),
        ("state/0/0/3.snapshot", None),
        ("state/0/0/4.delta", None),
        (SCHEMA, "FileNotFoundException"),
    ],
)
def test_a_directory_in_the_place_of_a_state_file(folder, error):
    view = replace(view_of("offsets/1", "commits/1", STATE_FILE), folders=(folder,))
    assert found(state.folders, view) == [("CKPT115", "error", folder, error)]


def test_a_directory_in_the_place_of_a_file_that_is_not_written_again_is_no_problem():
    assert found(state.folders, replace(view_of("offsets/1", "commits/1"), folders=("state/0/0/1.delta", "x"))) == []


def test_a_snapshot_that_older_files_make_up_for():
    repaired = ("state/0/0/2.snapshot: empty", "state/0/1/2.snapshot: empty", "state/0/1/1.delta")
    view = replace(view_of("offsets/1", "commits/1"), repaired=repaired, missing=("state/0/1/1.delta",))
    said = list(state.repaired_snapshot(view))
    assert [item.name for item in said] == ["state/0/0/2.snapshot", "state/0/1/2.snapshot"]
    assert ["cannot replace it" in item.message for item in said] == [False, True]
