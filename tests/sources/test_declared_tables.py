"""The ends of several sources at once, some of them real Delta tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.query.source import parse_asked
from airflow_provider_ckpt.sources.open_end import Access, open_table_end
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import SourceEnds
from tests.goldens import unpack

DELTA = Path(__file__).parents[1] / "data" / "sources" / "delta.tar.gz"


@pytest.fixture
def lake(tmp_path) -> tuple[str, str]:
    """A Delta table, and the offset of a query that has read all of it."""
    home = unpack(DELTA, tmp_path / "delta")
    story = json.loads((home / "story.json").read_text())
    return f"delta:{home / 'table'}", story["queries"]["whole"][-1]["offset"]


def standing(**offsets: str | None) -> Progress:
    """A query that stands there."""
    entries = tuple((name[1:], text and SourceOffset(text)) for name, text in offsets.items())
    return Progress(0, OffsetSeq(1, None, entries), polled_at_ms=2_000)


def test_several_sources_have_to_be_read(ends, tmp_path, lake):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("x")
    declared: SourceEnds = ends(tmp_path, s0=lake[0], s1=lake[0], s2=f"file:{tmp_path / 'in'}")
    progress = standing(s0=lake[1], s1=lake[1], s2='{"logOffset":-1}')
    condition = declared.end_at(None, progress)
    delta, files = condition.conditions
    assert set(delta.offsets) == {"0", "1"}
    assert delta.reached(progress)
    assert not files.at_poll(declared, progress).reached(progress)


def test_the_slack_is_for_all_sources_together(ends, tmp_path, lake):
    declared = ends(tmp_path, s0=lake[0], s1=lake[0])
    behind = json.loads(lake[1]) | {"reservoirVersion": json.loads(lake[1])["reservoirVersion"] - 3}
    progress = standing(s0=json.dumps(behind), s1=json.dumps(behind))
    missing = declared.end_at(None, progress).remaining(progress)
    assert missing > 0
    assert [declared.end_at(None, progress, slack=int(missing) - less).reached(progress) for less in (1, 0)] == [
        False,
        True,
    ]


def test_a_time_that_is_still_to_come_is_refused(ends, tmp_path, lake):
    declared = ends(tmp_path, s0=lake[0])
    assert declared.end_at(2_000, standing(s0=lake[1]))
    with pytest.raises(CheckpointError, match="is in the future"):
        declared.end_at(2_001, standing(s0=lake[1]))


def test_a_source_that_the_query_does_not_have_is_refused(ends, tmp_path, lake):
    with pytest.raises(CheckpointError, match="the query has no source '1'; its sources are 0"):
        ends(tmp_path, s0=lake[0], s1=lake[0]).end_at(None, standing(s0=lake[1]))


def test_a_source_that_was_forgotten_is_an_error_and_one_without_an_end_is_named_by_its_type(ends, tmp_path, lake):
    progress = standing(s0=lake[1], s1="5")
    with pytest.raises(CheckpointError, match="source 1 was not declared, so its latest offsets are not known"):
        ends(tmp_path, s0=lake[0]).end_at(None, progress)
    assert ends(tmp_path, s0=lake[0], s1="rate").end_at(None, progress).reached(progress)


def test_files_are_asked_for_of_file_sources(ends, tmp_path, lake):
    with pytest.raises(CheckpointError, match="source 0 is not declared as a file source"):
        ends(tmp_path, s0=lake[0]).files_at("0", 0, standing(s0=lake[1]))


def test_a_first_snapshot_counts_when_it_is_read_to_its_end(lake):
    """An offset in it has a version that is later than that of data which it has not read."""
    at = json.loads(lake[1]) | {"index": 0, "isStartingVersion": True}
    view = SourceOffset(json.dumps(at)).view("delta")
    earlier = SourceOffset(json.dumps(at | {"isStartingVersion": False, "reservoirVersion": 2})).view("delta")
    assert not view.has_reached(earlier)
    assert view.has_reached(view)
    assert view.has_reached(SourceOffset(json.dumps(at | {"index": -1})).view("delta"))


# --- what is left to be read ----------------------------------------------------------------------------------------

#: Each file that was appended has two rows; the newest table has so many rows that were ever appended.
APPENDED = {"delta": 18, "iceberg": 20}
#: Delta wrote one more file, for the rest of one of which a row was deleted, in this version.
REWRITTEN = 10


@pytest.mark.parametrize(
    ("kind", "queries"), [("delta", ("whole", "one-file")), ("iceberg", ("whole", "one-file", "late-one-file"))]
)
def test_unread_files_are_those_whose_rows_a_real_query_had_not_read(tmp_path, kind, queries):
    home = unpack(DELTA.with_name(f"{kind}.tar.gz"), tmp_path / kind)
    story = json.loads((home / "story.json").read_text())
    place = f"{home}/table" if kind == "delta" else f"{home}/table/metadata/{story['steps'][-1]['end']}"
    end = open_table_end(parse_asked(f"{kind}:{place}"), "0", Access(Store.open))
    for batch in (batch for query in queries for batch in story["queries"][query]):
        unread = end.unread_now(SourceOffset(batch["offset"]))
        files = (APPENDED[kind] - batch["rows"]) // 2
        files += kind == "delta" and json.loads(batch["offset"])["reservoirVersion"] <= REWRITTEN
        assert unread.files == files, batch
        if kind == "iceberg" and unread.rows is not None:
            assert unread.rows == APPENDED[kind] - batch["rows"], batch
        assert unread.is_partial == bool(json.loads(batch["offset"]).get("isStartingVersion"))
        assert (unread.size > 0, unread.oldest_ms is not None) == (unread.count > 0, unread.count > 0)
    assert unread.count == 0, "the last batch has read everything"
    assert unread.rows == (0 if kind == "iceberg" else None)
    assert end.unread_now(None).files == APPENDED[kind] // 2 + (kind == "delta")
    assert end.unread_now(None).rows == (APPENDED[kind] if kind == "iceberg" else None)


def test_a_first_snapshot_that_is_still_read_is_not_counted(tmp_path):
    home = unpack(DELTA, tmp_path / "delta")
    (first, *_) = json.loads((home / "story.json").read_text())["queries"]["seldom"]
    unread = open_table_end(parse_asked(f"delta:{home}/table"), "0", Access(Store.open)).unread_now(
        SourceOffset(first["offset"])
    )
    assert "what the table held when it began" in unread.note
    assert unread.is_partial
    assert unread.count > 0


def test_versions_that_are_missing_are_an_error(tmp_path):
    home = unpack(DELTA, tmp_path / "delta")
    (first, *_) = json.loads((home / "story.json").read_text())["queries"]["whole"]
    end = open_table_end(parse_asked(f"delta:{home}/table"), "0", Access(Store.open))
    assert end.unread_now(None).count  # the table was opened; its log is read anew each time
    (home / "table/_delta_log/00000000000000000002.json").unlink()
    with pytest.raises(StoreError, match="versions from 1 on are missing"):
        end.unread_now(SourceOffset(first["offset"]))
