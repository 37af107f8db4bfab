"""Steps of a restart that read the query id and the two logs, each over a listing, a few entries and a deploy."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS, catalogue
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.errors import MalformedEntryError, UnsupportedVersionError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source import Source, count_of_sources
from airflow_provider_ckpt.restart import logs
from tests.views import offset_entry, sink_of, view_of

COMMIT, WITH_IDS = b"v1\n{}", b'v2\n{"stateUniqueIds":{"0":[["a"]]}}'
SINK = {"sinkName": "s", "commitOffset": "1", "providerName": "p", "apiVersion": "v2", "isActive": True}
NAMED_SINKS = f"v3\n{json.dumps({'sinkMetadataMap': {'s': SINK}})}".encode()
CONCURRENT, ILLEGAL = "CONCURRENT_STREAM_LOG_UPDATE", "IllegalStateException"
MAX, EXACT = "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION", "INVALID_LOG_VERSION.EXACT_MATCH_VERSION"


def found(step, view: CheckpointView, deploy: DeploySpec | None = None) -> list[tuple[str, str, str | None]]:
    """Code, severity and Spark's error of each finding."""
    return [(item.code, item.severity, item.spark_error) for item in step(view, deploy or DeploySpec())]


def entry(version: int = 1, *sources: str, at_ms: int = 1, **conf: str) -> bytes:
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": conf})
    return "\n".join([f"v{version}", metadata, *(sources or ("1" if version == 1 else "a:1",))]).encode()


# --- the query id ---------------------------------------------------------------------------------------------------

MISSING = "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"


@pytest.mark.parametrize(
    ("version", "confs", "error"),
    [
        ((4, 2), {}, MISSING),
        ((4, 1), {}, None),
        ((4, 2), {logs.VERIFY_METADATA: "false"}, None),
        ((4, 2), {logs.VERIFY_METADATA: "true"}, MISSING),
    ],
)
def test_a_missing_query_id_stops_later_sparks(version, confs, error):
    assert found(logs.query_id, view_of("offsets/0"), DeploySpec(version, confs)) == [("CKPT104", "error", error)]


def test_a_damaged_query_id_stops_every_spark():
    damaged = {"metadata": MalformedEntryError("no JSON", spark_error="JsonParseException")}
    view = replace(view_of("metadata", "offsets/0"), damaged=damaged)
    assert found(logs.query_id, view, DeploySpec((3, 5))) == [("CKPT102", "error", "JsonParseException")]


# --- the newest of each log -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "version", "expected"),
    [
        (entry(2), (4, 1), [("CKPT220", "error", MAX)]),
        (entry(2), (4, 2), []),
        (entry(1), (3, 5), []),
    ],
)
def test_the_version_of_the_offset_log(data, version, expected):
    assert found(logs.newest_offsets, view_of(**{"offsets/0": data}), DeploySpec(version)) == expected


def test_names_of_one_log_are_found_by_its_step_alone():
    view = view_of("offsets/1", "offsets/02", "commits/1")
    assert found(logs.newest_offsets, view) == [("CKPT115", "error", "FileNotFoundException")]
    assert found(logs.newest_commits, view) == []
    assert found(logs.newest_offsets, view_of()) == found(logs.newest_commits, view_of()) == []
    view = view_of("offsets/1", "commits/1", "commits/02")
    assert found(logs.newest_offsets, view) == []
    assert found(logs.newest_commits, view) == [("CKPT115", "error", "FileNotFoundException")]


FORMAT_2 = {logs.STATE_FORMAT: "2"}


@pytest.mark.parametrize(
    ("data", "version", "confs", "expected", "hint"),
    [
        (WITH_IDS, (3, 5), {}, [("CKPT221", "error", MAX)], "Stay on the Spark that wrote it, "),
        (WITH_IDS, (4, 0), {}, [("CKPT221", "error", EXACT)], f"Deploy with {logs.STATE_FORMAT}=2, or a later Spark."),
        (WITH_IDS, (4, 1), FORMAT_2, [], ""),
        (COMMIT, (4, 1), FORMAT_2, [("CKPT221", "error", EXACT)], f"Deploy with {logs.STATE_FORMAT}=1, "),
        (NAMED_SINKS, (4, 1), {}, [("CKPT221", "error", EXACT)], "Stay on the Spark that wrote it."),
        (NAMED_SINKS, (4, 2), {}, [], ""),
        (WITH_IDS, (4, 2), {}, [], ""),
        (COMMIT, (3, 5), {}, [], ""),
    ],
)
def test_the_version_of_the_commit_log(data, version, confs, expected, hint):
    view = view_of("offsets/0", **{"commits/0": data})
    assert found(logs.newest_commits, view, DeploySpec(version, confs)) == expected
    for finding in logs.newest_commits(view, DeploySpec(version, confs)):
        assert finding.hint.startswith(hint)


@pytest.mark.parametrize(("version", "error"), [((4, 1), EXACT), ((4, 2), ILLEGAL), ((3, 5), ILLEGAL)])
def test_a_commit_of_a_later_version_than_any_known(version, error):
    damaged = {"commits/0": UnsupportedVersionError("version 9", spark_error=ILLEGAL)}
    view = replace(view_of("offsets/0", "commits/0"), damaged=damaged)
    assert found(logs.newest_commits, view, DeploySpec(version)) == [("CKPT103", "error", error)]


# --- the entry before -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "async_progress", "expected"),
    [
        (("offsets/1", "offsets/3", "commits/3"), False, [("CKPT231", "error", ILLEGAL)]),
        (("offsets/1", "offsets/3", "commits/1"), False, [("CKPT231", "error", "IllegalArgumentException")]),
        (("offsets/1", "offsets/3", "commits/3"), True, []),
        (("offsets/1", "offsets/3", "commits/3"), None, [("CKPT231", "warning", None)]),
        (("offsets/2", "offsets/3", "commits/3"), False, []),
        (("offsets/0",), False, []),
        ((), False, []),
    ],
)
def test_batches_that_async_progress_tracking_skipped(files, async_progress, expected):
    assert found(logs.entry_before_newest, view_of(*files), DeploySpec(async_progress=async_progress)) == expected


@pytest.mark.parametrize(("version", "error"), [((4, 1), ILLEGAL), ((4, 2), "IllegalArgumentException")])
def test_the_entry_before_a_batch_in_flight_is_missed(version, error):
    assert found(logs.entry_before_newest, view_of("offsets/3"), DeploySpec(version)) == [("CKPT110", "error", error)]


DELTA = '{"sourceVersion":1,"reservoirId":"t","reservoirVersion":3,"index":-1,"isStartingVersion":false}'
FILE = (Source("0", "file"),)


@pytest.mark.parametrize(
    ("before", "sources", "expected"),
    [
        (entry(1, "1"), count_of_sources(2), [("CKPT210", "error", "AssertionError")]),
        (entry(1, "1"), count_of_sources(1), []),
        (entry(1, "1"), None, []),
        (entry(2, "a:1"), count_of_sources(2), []),
        (entry(1, '{"topic":{"0":1}}'), FILE, [("CKPT212", "error", "MappingException")]),
    ],
)
def test_the_entry_before_fits_the_sources(before, sources, expected):
    view = view_of("offsets/1", **{"offsets/0": before})
    assert found(logs.entry_before_newest, view, DeploySpec(sources=sources)) == expected


@pytest.mark.parametrize(
    ("kind", "committed", "expected"),
    [
        ("rate-micro-batch", True, ("CKPT212", "warning", None)),
        ("rate-micro-batch", False, ("CKPT212", "error", "MappingException")),
        ("delta", True, ("CKPT212", "error", "DELTA_INVALID_SOURCE_VERSION")),
    ],
)
def test_a_source_reads_the_offset_before_only_where_a_batch_begins_there(kind, committed, expected):
    newest = {"delta": DELTA, "rate-micro-batch": '{"offset":5,"timestamp":1}'}[kind]
    files = {"offsets/0": entry(1, '{"topic":{"0":1}}'), "offsets/1": entry(1, newest)}
    view = view_of(**files, **({"commits/1": b"v1\n{}"} if committed else {}))
    deploy = DeploySpec(sources=(Source("0", kind),))
    assert found(logs.entry_before_newest, view, deploy) == [expected]


# --- confs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (entry(2), ["CKPT117"]),
        (entry(2, **{SHUFFLE_PARTITIONS: "2"}), []),
        (entry(1), []),
    ],
)
def test_entries_that_do_not_say_the_partitions(data, codes):
    assert [item.code for item in logs.shuffle_partitions_missing(view_of(**{"offsets/3": data}))] == codes


def all_confs(version: tuple[int, int]) -> dict[str, str]:
    return {conf.key: conf.default for conf in catalogue(version)}


@pytest.mark.parametrize(
    ("conf", "version", "expected"),
    [
        (all_confs((4, 3)), (4, 3), []),
        (all_confs((4, 2)), (4, 3), [("CKPT202", "note", None)]),
        (all_confs((4, 3)), (4, 2), [("CKPT224", "warning", None)]),
        (all_confs((3, 5)), (4, 1), []),
    ],
)
def test_confs_of_another_spark(conf, version, expected):
    assert found(logs.confs, view_of(**{"offsets/3": entry(**conf)}), DeploySpec(version)) == expected


def test_confs_of_another_spark_are_named():
    (later,) = logs.confs(view_of(**{"offsets/3": entry(**all_confs((4, 0)))}), DeploySpec((3, 5)))
    assert later.message.endswith("it has the confs spark.sql.streaming.stateStore.encodingFormat")
    (earlier,) = logs.confs(view_of(**{"offsets/3": entry(**all_confs((3, 4)))}), DeploySpec((3, 5)))
    assert earlier.message.endswith("spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan = true")
    assert found(logs.confs, view_of("offsets/3")) == found(logs.confs, view_of()) == []


# --- the next batch -------------------------------------------------------------------------------------------------


def test_commits_without_offsets_are_found_where_spark_begins_anew():
    files = ("commits/0", "state/0/0/1.delta")
    expected = [
        ("CKPT112", "error", "AssertionError"),
        ("CKPT131", "error", "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"),
    ]
    assert found(logs.empty_log, replace(view_of(*files), stateful=True)) == expected
    assert found(logs.empty_log, replace(view_of("offsets/0", *files), stateful=True)) == []
    assert found(logs.logs_agree, view_of("commits/0")) == []


NO_FILE = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"


@pytest.mark.parametrize(
    ("commit", "sink", "error"),
    [
        (COMMIT, None, CONCURRENT),
        (WITH_IDS, None, NO_FILE),
        (WITH_IDS, sink_of("0"), NO_FILE),
        (WITH_IDS, sink_of("1"), "AssertionError"),
    ],
)
def test_a_commit_ahead_of_the_offsets_with_ids_of_state_files(commit, sink, error):
    view = replace(view_of("offsets/0", "offsets/1", **{"commits/2": commit}), sink=sink)
    assert found(logs.logs_agree, view) == [("CKPT112", "error", error)]


def test_the_logs_are_compared():
    same = view_of(**{"offsets/0": entry(), "offsets/1": entry(), "commits/0": COMMIT})
    assert [code for code, *_ in found(logs.logs_agree, same)] == ["CKPT106"]
    back = view_of(**{"offsets/0": offset_entry(2), "offsets/1": offset_entry(1), "commits/0": COMMIT})
    assert [code for code, *_ in found(logs.logs_agree, back)] == ["CKPT126", "CKPT123"]


@pytest.mark.parametrize(("version", "error"), [((4, 2), "STREAMING_UNFINISHED_REPARTITION_DETECTED"), ((4, 1), None)])
def test_a_repartition_that_was_killed_stops_later_sparks(version, error):
    counts = [entry(1, at_ms=at_ms, **{SHUFFLE_PARTITIONS: count}) for at_ms, count in ((1, "2"), (2, "3"))]
    view = view_of(**dict(zip(("offsets/0", "offsets/1"), counts, strict=True)), **{"commits/0": COMMIT})
    assert found(logs.logs_agree, view, DeploySpec(version)) == [("CKPT119", "error", error)]


@pytest.mark.parametrize(
    ("files", "folder", "first", "last"),
    [
        (("offsets/1", "commits/1"), "offsets/2", 1, 0),
        (("offsets/1", "commits/1"), "commits/2", 0, 1),
        (("offsets/1", "commits/0"), "commits/1", 0, 1),
        (("offsets/1", "commits/0"), "offsets/2", 0, 1),
    ],
)
def test_a_batch_writes_its_offsets_first_and_its_commit_last(files, folder, first, last):
    view = replace(view_of(*files), folders=(folder,))
    assert len(found(logs.offsets_can_be_written, view)) == first
    assert len(found(logs.batch_can_be_committed, view)) == last


def test_checksum_files_in_the_way_of_a_batch():
    view = view_of("offsets/1", "commits/1", "offsets/.2.crc", "commits/.2.crc")
    orphaned = ("CKPT120", "error", "_LEGACY_ERROR_TEMP_2207")
    assert found(logs.offsets_can_be_written, view) == found(logs.batch_can_be_committed, view) == [orphaned]
    other = HadoopChecksum.of(b"something else").encode()
    stale = view_of(**{"offsets/1": entry(), "offsets/.1.crc": other, "commits/1": COMMIT})
    assert found(logs.batch_can_be_committed, stale) == [("CKPT121", "warning", None)]


def test_what_no_restart_reads_comes_last():
    damaged = dict.fromkeys(("offsets/1", "offsets/3"), MalformedEntryError("no number", spark_error="AnError"))
    view = replace(view_of("offsets/1", "offsets/2", "offsets/3"), damaged=damaged)
    assert [item.name for item in logs.other_damage(view, DeploySpec())] == ["offsets/1"]
