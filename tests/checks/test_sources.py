"""Rules about what sources keep, each over a listing and a few entries: what is found, and what Spark stops with."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import sources
from airflow_provider_ckpt.codec.jvm_text import INT_MAX
from airflow_provider_ckpt.codec.source_log import FileEntry
from airflow_provider_ckpt.errors import (
    IncompleteLogFileError,
    MalformedEntryError,
    TooLargeError,
    UnsupportedVersionError,
)
from tests.views import offset_entry, view_of

COMMIT = b"v1\n{}"


def log_entry(*entry_ids: int) -> bytes:
    """An entry of a file source's log: files that these entries took."""
    lines = [FileEntry(f"file:/in/{entry_id}", 1, entry_id).json() for entry_id in entry_ids]
    return "\n".join(["v1", *lines]).encode()


def own(*entry_ids: int) -> dict[str, bytes]:
    """Sound entries of the log of source 0."""
    return {f"sources/0/{entry_id}": log_entry(entry_id) for entry_id in entry_ids}


def at(now: int, before: int = 0, *names: str, **files: bytes) -> CheckpointView:
    """Batch 1 is in flight and has read up to entry ``now``, batch 0 up to ``before``."""
    both = {"offsets/0": offset_entry(before), "offsets/1": offset_entry(now)}
    return view_of(*names, **both, **{"commits/0": COMMIT}, **files)


def found(rule, view: CheckpointView) -> list[tuple[str, str, str | None, str | None]]:
    """Code, severity, file and Spark's error of each finding."""
    return [(item.code, item.severity, item.name, item.spark_error) for item in rule(view)]


# --- offsets --------------------------------------------------------------------------------------------------------


def offsets(version: int, *texts: str) -> bytes:
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}})
    return "\n".join([f"v{version}", metadata, *texts]).encode()


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        (offsets(1, "1", "2"), offsets(1, "3", "-"), ["1"]),
        (offsets(1, "1", "-"), offsets(1, "3", "-"), []),
        (offsets(1, "1", "2"), offsets(1, "3"), []),  # another finding says that the numbers differ
        (offsets(2, "a:1", "b:2"), offsets(2, "a:3"), ["b"]),
        (offsets(1, "1"), offsets(1, "1"), []),
    ],
)
def test_a_source_that_lost_its_offset(before, now, lost):
    files = {"offsets/0": before, "offsets/1": now, "commits/0": COMMIT}
    in_flight = list(sources.void_offsets(view_of(**files)))
    committed = list(sources.void_offsets(view_of(**files, **{"commits/1": COMMIT})))
    assert [item.message.split()[1] for item in in_flight] == [item.message.split()[1] for item in committed] == lost
    assert {item.severity for item in (*in_flight, *committed)} <= {"error"}, "rows are lost, or written twice"


def test_without_a_newest_entry_nothing_is_compared():
    assert list(sources.void_offsets(view_of())) == list(sources.file_source_logs(view_of())) == []
    assert list(sources.orphaned_checksums(view_of())) == []


YEAR_MS = 366 * 86_400_000
#: When the newest batch was planned, and the date of the newest file that the source has read.
DATES = {
    "before the batch": (5_000, 4_000, False),
    "within the year after it": (5_000, 5_000 + YEAR_MS // 2, False),
    "later": (5_000, 5_000 + YEAR_MS, True),
    "a time that nobody reads": (5_000, 10**18, True),
    "after a batch without a time": (0, YEAR_MS, False),
}


@pytest.mark.parametrize(("batch_ms", "file_ms", "is_found"), DATES.values(), ids=DATES)
def test_a_file_that_is_dated_long_after_the_batches(batch_ms, file_ms, is_found):
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": batch_ms, "conf": {}})
    log = "\n".join(["v1", FileEntry("file:/in/a", 1, 0).json(), FileEntry("file:/in/b", file_ms, 0).json()])
    view = view_of(**{"offsets/0": f'v1\n{metadata}\n{{"logOffset":0}}'.encode(), "sources/0/0": log.encode()})
    said = list(sources.inputs_from_the_future(view))
    assert [(item.code, item.severity, item.name) for item in said] == (
        [("CKPT129", "warning", "sources/0/0")] if is_found else []
    )
    assert all("file:/in/b" in item.message for item in said)


def test_a_file_from_the_future_is_forgotten_with_the_entries_before_a_compacted_one():
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}})
    late = f"v1\n{FileEntry('file:/in/b', 9 * YEAR_MS, 0).json()}".encode()
    view = view_of(
        **{"offsets/0": f'v1\n{metadata}\n{{"logOffset":1}}'.encode(), "sources/0/0": late},
        **{"sources/0/1.compact": log_entry(0, 1)},
    )
    assert list(sources.inputs_from_the_future(view)) == []


# --- the log of a file source ---------------------------------------------------------------------------------------

BACK = ("CKPT126", "error", "offsets/1", "AssertionError")


def early(at_entry: int, error: str | None) -> tuple[str, str, str, str | None]:
    return ("CKPT123", "error", f"sources/0/{at_entry}", error)


def hole(at_entry: int) -> tuple[str, str, str, str]:
    return ("CKPT124", "error", f"sources/0/{at_entry}", "FileNotFoundException")


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (at(2, 1, **own(0, 1, 2)), []),
        (at(1, 2, **own(0, 1, 2)), [BACK]),
        (at(2, 0, **own(0, 2)), [hole(1)]),
        (at(3, 0, **own(0, 1)), [early(3, "IllegalStateException")]),
        (at(3, 0), [early(3, "IllegalStateException")]),
        (at(INT_MAX + 1, 0, **own(0)), [early(INT_MAX + 1, "IllegalArgumentException")]),
        (at(3, 3, **own(0, 1)), [early(3, "AssertionError")]),
        (at(3, 3, **own(0, 1, 2)), [early(3, None)]),
        (at(-1, -1), []),
        (at(9, 8, **{"sources/0/9.compact": log_entry(*range(10))}), []),
        (replace(at(3, 0, **own(0, 1)), complete=False), []),
    ],
)
def test_a_log_reaches_the_offset_without_a_hole(view, expected):
    assert found(sources.file_source_logs, view) == expected
    assert list(sources.file_source_logs(view, {"0": "kafka"})) == []


def test_it_is_said_what_spark_does_where_the_newest_batch_read_nothing():
    (far,) = sources.file_source_logs(at(3, 3, **own(0, 1)))
    (near,) = sources.file_source_logs(at(3, 3, **own(0, 1, 2)))
    (none,) = sources.file_source_logs(at(3, 0))
    assert "writes entry 2, and stops because the offset went back" in far.message
    assert "into entry 3, which counts as read: these files, new ones too, are never read" in near.message
    assert none.message == "source 0 has read up to log entry 3, but its log ends at none"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (log_entry(1), []),
        (log_entry(0), [("CKPT127", "says that it is the entry 0")]),
        (log_entry(), [("CKPT127", "names no file")]),
        (b"\x00v1\n{}", [("CKPT102", "has a file that is not an entry of such a log")]),
    ],
)
def test_what_an_entry_names(data, expected):
    findings = list(sources.file_source_logs(at(1, 0, **own(0), **{"sources/0/1": data})))
    assert [finding.code for finding in findings] == [code for code, _ in expected]
    assert all(text in finding.message for finding, (_, text) in zip(findings, expected, strict=True))


@pytest.mark.parametrize(
    ("name", "data", "severity"),
    [
        ("sources/0/2", log_entry(1), "warning"),
        ("sources/0/2", log_entry(0), "warning"),
        ("sources/0/1", log_entry(0), "error"),  # a batch has read it, and its own files are forgotten
        ("sources/0/2", log_entry(0).replace(b"/in/0", b"/in/new"), "error"),  # a file that is never read
        ("sources/0/2", log_entry(), "error"),
        ("sources/0/2", log_entry(2), None),
    ],
)
def test_a_copy_that_no_batch_has_read_loses_nothing(name, data, severity):
    findings = list(sources.file_source_logs(at(1, 0, **{**own(0, 1), name: data})))
    assert [(item.code, item.name, item.severity) for item in findings] == [("CKPT127", name, severity)] * bool(
        severity
    )
    assert all(("reads them again" in item.message) == (severity == "error") for item in findings)


@pytest.mark.parametrize(
    ("named", "lacks"),
    [(range(10), None), ((*range(10), *range(10)), None), ((9,), 0), ((0, 1, 2, 4, 5, 6, 7, 8, 9), 3)],
)
def test_a_compacted_entry_names_files_of_every_entry_before_it(named, lacks):
    findings = list(sources.file_source_logs(at(9, 8, **{"sources/0/9.compact": log_entry(*named)})))
    said = [] if lacks is None else [f"sources/0/9.compact names no file of entry {lacks}: Spark forgets"]
    assert [finding.code for finding in findings] == ["CKPT127"] * len(said)
    assert all(text in finding.message for text, finding in zip(said, findings, strict=True))


@pytest.mark.parametrize(("data", "error"), [(b"\x00v1\n{}", "MALFORMED_LOG_FILE"), (b"v1\n7", "MappingException")])
def test_another_source_wrote_the_entry(data, error):
    findings = found(sources.file_source_logs, at(1, 0, **own(0), **{"sources/0/1": data}))
    assert findings == [("CKPT102", "error", "sources/0/1", error)]


@pytest.mark.parametrize(("says", "codes"), [(1, []), (4, ["CKPT127"]), (None, ["CKPT127"])])
def test_of_an_entry_too_large_to_hold_the_newest_number_is_known(says, codes):
    view = replace(at(1, 0, **own(0), **own(1)), long_source_logs={"sources/0/1": says})
    assert [finding.code for finding in sources.file_source_logs(view)] == codes


STOPS = "IllegalStateException"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (IncompleteLogFileError("cut off", spark_error=STOPS), ("CKPT101", "error", STOPS)),
        (UnsupportedVersionError("version 9", spark_error=STOPS), ("CKPT103", "error", STOPS)),
        (MalformedEntryError("no number", spark_error=STOPS), ("CKPT102", "error", STOPS)),
        (TooLargeError("9 GB"), ("CKPT102", "warning", None)),
    ],
    ids=lambda item: type(item).__name__,
)
def test_an_entry_that_cannot_be_read(error, expected):
    view = replace(at(1, 0, **own(0), **own(1)), damaged={"sources/0/1": error})
    code, severity, spark_error = expected
    assert found(sources.file_source_logs, view) == [(code, severity, "sources/0/1", spark_error)]


def test_damage_before_the_newest_compacted_entry_is_not_read():
    files = {"sources/0/9.compact": log_entry(*range(10)), **own(8, 9, 10)}
    damaged = dict.fromkeys(("sources/0/8", "sources/0/9"), MalformedEntryError("no number"))
    assert found(sources.file_source_logs, replace(at(10, 9, **files), damaged=damaged)) == []


# --- where a source writes its next entry ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "committed", "expected"),
    [
        ("sources/0/2", True, [("sources/0/2", "IllegalStateException")]),
        ("sources/0/2", False, [("sources/0/2", None)]),
        ("sources/0/3", True, [("sources/0/3", None)]),
        ("sources/0/1", True, []),
        ("offsets/2", True, []),
    ],
)
def test_a_directory_where_the_next_entry_is_written(folder, committed, expected):
    view = replace(at(1, 0, **own(0, 1), **({"commits/1": COMMIT} if committed else {})), folders=(folder,))
    assert [(finding.name, finding.spark_error) for finding in sources.log_folders(view)] == expected


@pytest.mark.parametrize(
    ("left", "committed", "expected"),
    [
        ("sources/0/.2.crc", True, ["_LEGACY_ERROR_TEMP_2207"]),
        ("sources/0/.2.crc", False, [None]),
        ("sources/0/.3.crc", True, [None]),
        ("sources/0/.9.compact.crc", True, [None]),
        ("sources/0/.1.crc", True, []),
        ("sources/7/.2.crc", True, []),
        ("offsets/.2.crc", True, []),
    ],
)
def test_a_checksum_file_without_its_entry(left, committed, expected):
    files = {**own(0, 1), **({"commits/1": COMMIT} if committed else {})}
    assert [finding.spark_error for finding in sources.orphaned_checksums(at(1, 0, left, **files))] == expected


# --- Kinesis ---------------------------------------------------------------------------------------------------------


def kinesis(batch_id: str) -> bytes:
    shard = {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": "5"}
    offset = {"metadata": {"streamName": "s", "batchId": batch_id}, "shardId-000": shard}
    return f"v1\n{{}}\n{json.dumps(offset)}".encode()


@pytest.mark.parametrize(
    ("then", "now", "committed", "expected"),
    [
        ("93", "92", False, [("CKPT109", "error", "offsets/2", "INTERNAL_ERROR")]),
        ("93", "92", True, [("CKPT109", "error", "offsets/2", None)]),
        ("93", "93", False, []),
        ("92", "93", False, []),
        ("x", "92", False, []),
        ("93", "", True, []),
    ],
)
def test_the_batches_of_a_kinesis_source_do_not_go_back(then, now, committed, expected):
    commit = {"commits/2": b"v1\n{}"} if committed else {}
    view = view_of(**{"offsets/1": kinesis(then), "commits/1": b"v1\n{}", "offsets/2": kinesis(now), **commit})
    assert found(sources.kinesis_goes_back, view) == expected
