"""Rules about the two logs, each over a listing and a few entries: what is found, where, and what Spark stops with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS, STATE_PROVIDER
from airflow_provider_ckpt.checks import logs
from airflow_provider_ckpt.codec.jvm_text import INT_MAX
from airflow_provider_ckpt.errors import (
    CheckpointClosedError,
    IncompleteLogFileError,
    MalformedEntryError,
    UnsupportedVersionError,
)
from tests.log_entries import COMMIT, EMPTY_LINE, commit, entry, found
from tests.views import view_of

CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"
REFUSED, ILLEGAL = "IllegalArgumentException", "IllegalStateException"


def partitions(count: str) -> bytes:
    return entry(**{SHUFFLE_PARTITIONS: count})


# --- what cannot be read --------------------------------------------------------------------------------------------

INCOMPLETE = IncompleteLogFileError("cut off", spark_error=ILLEGAL)
MALFORMED = MalformedEntryError("no number", spark_error="NumberFormatException")
TOO_NEW = UnsupportedVersionError("version 9", spark_error=ILLEGAL)


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("offsets/3", INCOMPLETE, [("CKPT101", "error", "offsets/3", ILLEGAL)]),
        ("offsets/2", MALFORMED, [("CKPT102", "error", "offsets/2", "NumberFormatException")]),
        ("commits/2", TOO_NEW, [("CKPT103", "error", "commits/2", ILLEGAL)]),
        ("metadata", MALFORMED, [("CKPT102", "error", "metadata", "NumberFormatException")]),
        ("offsets/1", MALFORMED, [("CKPT102", "warning", "offsets/1", None)]),
        ("commits/1", INCOMPLETE, [("CKPT101", "warning", "commits/1", None)]),
        ("sources/0/1", MALFORMED, []),
        ("sources/0/offsets/0", MALFORMED, [("CKPT102", "error", "sources/0/offsets/0", "NumberFormatException")]),
    ],
)
def test_damage_stops_a_restart_where_it_reads_the_file(name, error, expected):
    view = view_of("offsets/1", "offsets/2", "offsets/3", "commits/1", "commits/2")
    assert found(logs.damaged_entries, replace(view, damaged={name: error})) == expected


@pytest.mark.parametrize(
    ("committed", "hint"),
    [
        (("commits/0",), "The batch was never committed. Roll back to batch 0."),
        (
            ("commits/0", "commits/1"),
            "Restore the file from a backup (ckpt backups ROOT lists the IDs), or roll back to batch 0.",
        ),
    ],
)
def test_the_way_out_of_an_incomplete_entry_depends_on_its_commit(committed, hint):
    view = replace(view_of("offsets/0", "offsets/1", *committed), damaged={"offsets/1": INCOMPLETE})
    (finding,) = logs.damaged_entries(view)
    salvage = "If other files are torn too, ckpt salvage finds the newest batch that can be saved."
    assert (finding.hint, finding.batch_id) == (f"{hint} {salvage}", 1)


def test_of_many_damaged_entries_some_are_named_and_the_others_counted(monkeypatch):
    monkeypatch.setattr(logs, "MOST_NAMED", 2)
    names = [f"commits/{batch}" for batch in range(5)]
    view = replace(view_of("offsets/9", "commits/9", *names), damaged=dict.fromkeys(names, MALFORMED))
    *named, counted = logs.damaged_entries(view)
    assert [finding.name for finding in named] == names[:2]
    assert (counted.name, counted.severity) == (None, "warning")
    assert counted.message == "3 more log entries cannot be read, but a restart does not need them"


@pytest.mark.parametrize(
    ("files", "restart"),
    [
        ((), ("metadata",)),
        (("commits/0",), ("metadata", "commits/0")),
        (("offsets/0",), ("metadata", "offsets/0")),
        (("offsets/4", "offsets/5", "commits/4"), ("metadata", "offsets/5", "commits/4", "offsets/4")),
        (("offsets/2", "offsets/5", "commits/5"), ("metadata", "offsets/5", "commits/5", "offsets/2")),
    ],
)
def test_a_restart_reads_the_newest_of_each_log_and_the_entry_before(files, restart):
    assert logs.read_at_restart(view_of(*files)) == restart


def test_an_entry_is_taken_only_where_it_was_read():
    assert logs.newest_entry(view_of()) is logs.entry_before(view_of()) is logs.newest_commit(view_of()) is None
    listed = view_of("offsets/0", "offsets/1", "commits/0")
    assert logs.newest_entry(listed) is logs.entry_before(listed) is logs.newest_commit(listed) is None
    read = view_of(**{"offsets/0": entry(5), "offsets/1": entry(7), "commits/0": commit(7)})
    assert logs.newest_entry(read).metadata.batch_watermark_ms == logs.newest_commit(read).next_batch_watermark_ms == 7
    assert logs.entry_before(read).metadata.batch_watermark_ms == 5


# --- what is missing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "error"),
    [
        (view_of("offsets/0"), "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"),
        (view_of("commits/0"), "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"),
        (replace(view_of("offsets/0"), folders=("metadata",)), "FileNotFoundException"),
        (view_of("offsets/0", "metadata"), None),
        (view_of(), None),
    ],
)
def test_the_query_id_is_missed_once_a_batch_was_planned(view, error):
    expected = [] if error is None else [("CKPT104", "error", "metadata", error)]
    assert found(logs.missing_metadata, view) == expected


@pytest.mark.parametrize(
    ("before", "newest", "committed", "name", "error"),
    [
        (entry(), EMPTY_LINE, False, "offsets/1", REFUSED),
        (entry(), EMPTY_LINE, True, "offsets/1", "NullPointerException"),
        (EMPTY_LINE, entry(), False, "offsets/0", REFUSED),
        (EMPTY_LINE, entry(), True, None, None),
        (EMPTY_LINE, EMPTY_LINE, False, None, None),
        (entry(), entry(), False, None, None),
    ],
)
def test_a_line_that_one_of_two_entries_lacks(before, newest, committed, name, error):
    files = {"offsets/0": before, "offsets/1": newest, "commits/0": COMMIT}
    view = view_of(**files, **({"commits/1": COMMIT} if committed else {}))
    expected = [] if name is None else [("CKPT105", "error", name, error)]
    assert found(logs.without_batch_metadata, view) == expected


# --- how the logs fit each other ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "name", "error"),
    [
        (("commits/0",), "commits/0", "AssertionError"),
        (("offsets/1", "commits/2"), "commits/2", CONCURRENT),
        (("offsets/1", "commits/1"), None, None),
        (("offsets/1",), None, None),
    ],
)
def test_commits_ahead_of_the_offsets(files, name, error):
    expected = [] if name is None else [("CKPT112", "error", name, error)]
    assert found(logs.commits_ahead, view_of(*files)) == expected


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (("offsets/0", "offsets/1", "offsets/2"), "batches 0 to 2"),
        (("offsets/1", "offsets/2", "offsets/3", "commits/1"), "batches 2 to 3"),
        (("offsets/1", "offsets/2", "commits/1"), None),
        (("offsets/1", "commits/1"), None),
        ((), None),
    ],
)
def test_commits_that_trail(files, text):
    messages = [finding.message for finding in logs.commits_trail(view_of(*files))]
    assert messages == (
        []
        if text is None
        else [f"{text} are planned and not committed; Spark runs only batch {text.split()[-1]} again"]
    )


def test_the_entry_that_closes_a_checkpoint_is_of_no_batch():
    """A batch in flight is healthy, and no rollback is proposed that would drop it."""
    view = view_of("offsets/1", "offsets/2", "offsets/3", "commits/1")
    view = replace(view, damaged={"offsets/3": CheckpointClosedError("closed", name="offsets/3")})
    assert list(logs.commits_trail(view)) == []


UNFINISHED = "STREAMING_UNFINISHED_REPARTITION_DETECTED"


@pytest.mark.parametrize(
    ("before", "newest", "expected"),
    [
        (partitions("2"), partitions("3"), [("CKPT119", "error", "offsets/1", UNFINISHED)]),
        (partitions("2"), partitions("2"), []),
        (partitions("2"), partitions("two"), [("CKPT116", "error", "offsets/1", "NumberFormatException")]),
        (partitions("two"), partitions("2"), [("CKPT116", "error", "offsets/0", "NumberFormatException")]),
        (entry(), partitions("2"), []),
        (partitions("2"), entry(), []),
        (EMPTY_LINE, partitions("2"), []),
    ],
)
def test_a_repartition_that_was_killed(before, newest, expected):
    files = {"offsets/0": before, "offsets/1": newest, "commits/0": COMMIT}
    assert found(logs.unfinished_repartition, view_of(**files)) == expected
    assert found(logs.unfinished_repartition, view_of(**files, **{"commits/1": COMMIT})) == []


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({STATE_PROVIDER: None}, [("CKPT116", "error", "offsets/0", REFUSED)]),
        ({"spark.of.mine": None}, [("CKPT116", "warning", "offsets/0", None)]),
        ({STATE_PROVIDER: "a.Provider"}, []),
    ],
)
def test_a_conf_without_a_value(conf, expected):
    assert found(logs.null_confs, view_of(**{"offsets/0": entry(**conf)})) == expected
    assert found(logs.null_confs, view_of("offsets/1", **{"offsets/0": entry(**conf)})) == []


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "refused"),
    [(0, INT_MAX, True), (0, INT_MAX - 1, False), (1, INT_MAX, False), (1, INT_MAX + 1, True)],
)
def test_more_batches_than_spark_counts(first, last, refused):
    view = view_of(f"offsets/{first}", f"offsets/{last}")
    expected = [("CKPT115", "error", f"offsets/{last}", REFUSED)] if refused else []
    assert found(lambda view: logs.ids_too_far_apart(view, "offsets"), view) == expected
    assert found(lambda view: logs.ids_too_far_apart(view, "commits"), view) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("offsets/1", "offsets/02"), [("CKPT115", "error", "offsets/02", "FileNotFoundException")]),
        (("offsets/2", "offsets/02"), [("CKPT115", "warning", "offsets/02", None)]),
        (("offsets/2", "offsets/01"), [("CKPT115", "warning", "offsets/01", None)]),
        (("offsets/1", "offsets/2"), []),
    ],
)
def test_names_that_spark_counts_and_cannot_open(files, expected):
    assert found(logs.odd_names, view_of(*files)) == expected


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("offsets/4", [("CKPT115", "error", "offsets/4", CONCURRENT)]),
        ("commits/5", [("CKPT115", "error", "commits/5", None)]),
        ("offsets/1", [("CKPT115", "warning", "offsets/1", None)]),
        ("state", []),
    ],
)
def test_directories_in_the_place_of_entries(folder, expected):
    view = replace(view_of("offsets/3", "commits/3"), folders=(folder,))
    assert found(logs.folders, view) == expected
