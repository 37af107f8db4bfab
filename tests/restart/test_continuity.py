"""A query that goes on where it stopped is never accused; one that does not is always caught."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError, MalformedEntryError
from airflow_provider_ckpt.restart.bookmark import Bookmark, bookmark_from_dict, take_bookmark
from airflow_provider_ckpt.restart.continuity import Continuity, continuity
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.goldens import CASES, EXPECTED

QUERY_ID = "0f1e2d3c-0000-4000-8000-000000000001"
DELTA = {"sourceVersion": 1, "index": -1, "isStartingVersion": False}
TABLE = DELTA | {"reservoirId": "t", "reservoirVersion": 5}
SHARD = {"iteratorPosition": "1700000000000"}
ICEBERG = {"version": 1, "position": 0, "scan_all_files": False}
#: The offset of a source at position n, by declared type; the last one is of no known type.
OFFSETS = {
    "kafka": lambda n: json.dumps({"orders": {"0": n, "1": n // 2}}),
    "file": lambda n: json.dumps({"logOffset": n}),
    "rate": str,
    "rate-micro-batch": lambda n: json.dumps({"offset": n, "timestamp": 1000}),
    "delta": lambda n: json.dumps(DELTA | {"reservoirId": "t", "reservoirVersion": n}),
    "mystery": lambda n: json.dumps({"cursor": n}),
}


@dataclass(frozen=True)
class Log:
    """Both logs of a checkpoint: offset texts by batch and source, and what is committed."""

    version: int
    kinds: Mapping[str, str]
    ends: Mapping[int, Mapping[str, str | None]]
    committed: frozenset[int]
    query_id: str | None = QUERY_ID

    @property
    def declared(self) -> dict[str, str]:
        return {source_id: kind for source_id, kind in self.kinds.items() if kind != "mystery"}

    def view(self) -> CheckpointView:
        """What an observation of it gives; every entry goes through its bytes."""
        values = {
            **{f"offsets/{batch}": self._entry(batch) for batch in self.ends},
            **{f"commits/{batch}": CommitMetadata(1) for batch in self.committed},
            **({"metadata": QueryMetadata(self.query_id)} if self.query_id else {}),
        }
        entries = {name: codec.decode(name, value.encode()) for name, value in values.items()}
        objects = {name: StoredObject(name, 1, None, "1") for name in entries}
        return CheckpointView("memory://cp", 0, objects, entries)

    def _entry(self, batch: int) -> OffsetSeq:
        offsets = tuple((key, SourceOffset(text) if text else None) for key, text in self.ends[batch].items())
        return OffsetSeq(self.version, OffsetSeqMetadata(batch_watermark_ms=10 * batch), offsets)

    def until(self, batch: int, *, in_flight: bool = False) -> Log:
        """The logs as they were when that batch was the newest committed one."""
        last = batch + in_flight
        return replace(
            self,
            ends={key: ends for key, ends in self.ends.items() if key <= last},
            committed=frozenset(key for key in self.committed if key <= batch),
        )

    def without(self, *batches: int) -> Log:
        ends = {batch: ends for batch, ends in self.ends.items() if batch not in batches}
        return replace(self, ends=ends, committed=self.committed - set(batches))

    def ending(self, batch: int, **ends: str | None) -> Log:
        """Another end of some sources in one batch."""
        return replace(self, ends={**self.ends, batch: {**self.ends[batch], **ends}})


@st.composite
def logs(draw: st.DrawFn, min_batches: int = 3) -> Log:
    """A run of a query: sources of any type that only go forward, every batch committed but perhaps the last."""
    version = draw(st.sampled_from([1, 2]))
    chosen = draw(st.lists(st.sampled_from(sorted(OFFSETS)), min_size=1, max_size=3))
    names = ["0", "1", "2"] if version == 1 else ["clicks", "orders", "payments"]
    kinds = dict(zip(names, chosen, strict=False))
    first, count = draw(st.integers(0, 120)), draw(st.integers(min_batches, 8))
    positions, ends = dict.fromkeys(kinds, 10), {}
    for batch in range(first, first + count):
        positions = {key: at + draw(st.integers(0, 5)) for key, at in positions.items()}
        ends[batch] = {key: OFFSETS[kind](positions[key]) for key, kind in kinds.items()}
    newest_committed = first + count - 1 - draw(st.integers(0, 1))
    return Log(version, kinds, ends, frozenset(range(first, newest_committed + 1)))


def somewhere(draw: st.DataObject, log: Log) -> int:
    """A batch with a committed batch after it."""
    return draw.draw(st.sampled_from(sorted(log.committed)[:-1]), label="stopped after batch")


def compare(before: Log, after: Log) -> Continuity:
    return continuity(take_bookmark(before.view()), after.view(), after.declared)


def codes(result: Continuity, severity: str = "error") -> set[str]:
    return {finding.code for finding in result.findings if finding.severity == severity}


@given(logs(), st.data(), st.booleans())
def test_a_query_that_only_goes_forward_has_continued(log, data, in_flight):
    stopped = log.until(somewhere(data, log), in_flight=in_flight)
    result = compare(stopped, log)
    assert (result.status, result.findings) == ("continued", ())


@given(logs(), st.data(), st.booleans())
def test_a_query_that_has_not_committed_since_is_pending(log, data, planned):
    batch = somewhere(data, log)
    assert compare(log.until(batch), log.until(batch, in_flight=planned)).status == "pending"


@given(logs(), st.data(), st.booleans())
def test_a_bookmark_is_the_same_after_json(log, data, in_flight):
    taken = take_bookmark(log.until(somewhere(data, log), in_flight=in_flight).view())
    assert bookmark_from_dict(json.loads(json.dumps(taken.to_dict()))) == taken


@given(logs(), st.data())
def test_a_rollback_to_the_bookmark_and_other_batches_after_it_are_a_continuation(log, data):
    """What the deploy had done after the bookmark has been rolled back; the repaired query reads on in other steps."""
    batch = somewhere(data, log)
    ends = {key: OFFSETS[kind](1000) for key, kind in log.kinds.items()}
    other = log.until(batch)
    other = replace(other, ends={**other.ends, batch + 1: ends}, committed=other.committed | {batch + 1})
    assert compare(log.until(batch), other).status == "continued"
    in_flight = compare(log.until(batch, in_flight=True), other)
    assert in_flight.status == "doubtful" and codes(in_flight, "warning") == {"CKPT302"}


@given(logs(), st.data(), st.sampled_from([None, QUERY_ID[::-1].replace("-", "")[:8] + "-1-1-1-1"]))
def test_another_query_id_is_found(log, data, query_id):
    result = compare(log.until(somewhere(data, log)), replace(log, query_id=query_id))
    assert result.status == "broken" and codes(result) == {"CKPT301"}


@given(logs(), st.data())
def test_a_rewritten_last_batch_is_found(log, data):
    batch, source_id = somewhere(data, log), next(iter(log.kinds))
    other = OFFSETS[log.kinds[source_id]](9)
    assert "CKPT302" in codes(compare(log.until(batch), log.ending(batch, **{source_id: other})))


@given(logs(), st.data())
def test_a_rollback_past_the_bookmark_is_found(log, data):
    batch = somewhere(data, log)
    earlier = log.until(batch - 1)
    result = compare(log.until(batch), earlier)
    assert result.status == "broken" and codes(result) == {"CKPT302"}
    uncommitted = compare(log.until(batch), log.until(batch - 1, in_flight=True))
    assert uncommitted.status == "broken" and codes(uncommitted) == {"CKPT302"}


@given(logs(), st.data())
def test_a_missing_last_batch_is_found_when_an_earlier_one_is_there(log, data):
    batch = somewhere(data, log)
    assume(batch > min(log.ends))
    assert codes(compare(log.until(batch), log.without(batch))) == {"CKPT302"}


@given(logs(), st.data())
def test_purged_entries_are_a_doubt_and_no_accusation(log, data):
    batch = somewhere(data, log)
    result = compare(log.until(batch), log.without(*range(batch + 1)))
    assert result.status == "doubtful" and codes(result, "warning") == {"CKPT302"}


@given(logs(), st.data())
def test_a_source_that_goes_back_is_found_where_its_offsets_have_an_order(log, data):
    batch, source_id = somewhere(data, log), data.draw(st.sampled_from(sorted(log.kinds)))
    kind = log.kinds[source_id]
    result = compare(log.until(batch), log.ending(batch + 1, **{source_id: OFFSETS[kind](0)}))
    assert codes(result) == ({"CKPT303"} if kind != "mystery" else set())


@given(logs(), st.data())
def test_a_source_that_goes_back_later_is_found_too(log, data):
    """The newest entries are read as well as the first one after the bookmark."""
    batch, newest, source_id = min(log.ends), max(log.ends), data.draw(st.sampled_from(sorted(log.declared) or ["-"]))
    assume(source_id in log.declared)
    result = compare(log.until(batch), log.ending(newest, **{source_id: OFFSETS[log.kinds[source_id]](0)}))
    assert codes(result) == {"CKPT303"} and result.findings[0].batch_id == newest


@given(logs(), st.data())
def test_a_source_that_loses_its_offset_is_found(log, data):
    batch, source_id = somewhere(data, log), next(iter(log.kinds))
    assert codes(compare(log.until(batch), log.ending(batch + 1, **{source_id: None}))) == {"CKPT303"}


@given(logs(), st.data())
def test_a_renamed_source_is_found(log, data):
    assume(log.version == 2)
    batch, old = somewhere(data, log), next(iter(log.kinds))
    renamed = {
        at: {("renamed" if key == old and at > batch else key): text for key, text in ends.items()}
        for at, ends in log.ends.items()
    }
    result = compare(log.until(batch), replace(log, ends=renamed))
    assert codes(result) == {"CKPT303"} and "source renamed is read from its beginning" in result.findings[0].message


@given(logs(), st.data())
def test_a_source_that_was_added_is_a_note_and_one_that_was_dropped_a_doubt(log, data):
    assume(log.version == 2)
    batch, old = somewhere(data, log), next(iter(log.kinds))
    more = {at: ({**ends, "added": "1"} if at > batch else ends) for at, ends in log.ends.items()}
    added = compare(log.until(batch), replace(log, ends=more))
    assert added.status == "continued" and codes(added, "note") == {"CKPT303"}
    fewer = {
        at: {key: text for key, text in ends.items() if key != old or at <= batch} for at, ends in log.ends.items()
    }
    dropped = compare(log.until(batch), replace(log, ends=fewer))
    assert dropped.status == "doubtful" and codes(dropped, "warning") == {"CKPT303"}


@given(logs(min_batches=4), st.data())
def test_a_batch_that_is_jumped_over_is_found(log, data):
    batch = somewhere(data, log)
    assume(batch + 2 in log.ends)
    assert codes(compare(log.until(batch), log.without(batch + 1))) == {"CKPT304"}


@given(logs(min_batches=6))
def test_gaps_everywhere_are_those_of_async_progress_tracking(log):
    gappy = log.without(*sorted(log.ends)[1::2])
    assume(len(gappy.committed) >= 3)
    batch = sorted(gappy.committed)[1]
    result = compare(gappy.until(batch), gappy)
    assert result.status == "continued" and codes(result, "note") == {"CKPT304"}


@given(logs(min_batches=4), st.data())
def test_a_batch_that_was_never_committed_is_found(log, data):
    batch = somewhere(data, log)
    assume(batch + 2 in log.committed)
    result = compare(log.until(batch), replace(log, committed=log.committed - {batch + 1}))
    assert codes(result) == {"CKPT304"}
    purged = compare(log.until(batch), replace(log, committed=frozenset({max(log.committed)})))
    assert codes(purged) == set(), "a commit log that was purged further than the offset log"


@given(logs())
def test_a_query_that_had_never_committed_starts_anywhere(log):
    unstarted = replace(log, ends={}, committed=frozenset())
    view = unstarted.view()
    assert take_bookmark(view) == Bookmark(QUERY_ID, None, location=view.location)
    result = compare(unstarted, log)
    assert (result.status, result.findings) == ("continued", ())


@pytest.mark.parametrize(("kind", "before", "after", "severity", "said"), [
    ("kafka", {"t": {"0": 5, "1": 5}}, {"t": {"0": 9, "1": 4}}, "error", "source 0 went back: t-1 from 5 to 4"),
    ("kafka", {"t": {"0": 5, "1": 5}}, {"t": {"0": 9}}, "warning", "no longer reads t-1"),
    ("kafka", {"t": {"0": 5}}, {"t": {"0": 9, "1": 4}}, None, None),
    ("kinesis", {"s1": {"iteratorPosition": "5"}, "s2": {"iteratorPosition": "5"}}, {"s1": {"iteratorPosition": "6"}}, None, None),
    ("kinesis", {"s1": {"iteratorPosition": "5"}}, {"s1": {"iteratorPosition": "4"}}, "error", "s1 from 5 to 4"),
    ("delta", DELTA | {"reservoirId": "a", "reservoirVersion": 5}, DELTA | {"reservoirId": "b", "reservoirVersion": 9}, "error", "the sources are not the same: b, a"),
    ("kinesis", {"s1": SHARD | {"iteratorType": "AT_TIMESTAMP"}}, {"s1": SHARD}, None, None),
    ("kinesis", {"s1": SHARD | {"iteratorType": "LATEST"}, "s2": SHARD}, {"s1": SHARD | {"iteratorType": "LATEST"}, "s2": SHARD}, None, None),
    ("kinesis", {"metadata": {"streamName": "s"}, "s1": SHARD}, {"metadata": {"streamName": "r"}, "s1": SHARD}, "error", "now reads other data"),
    ("delta", TABLE | {"index": 7, "isStartingVersion": True}, TABLE | {"reservoirVersion": 6}, None, None),
    ("delta", TABLE | {"index": 7, "isStartingVersion": True}, TABLE, "error", "source 0 went back: table from 5/7 to 5/-100"),
    ("iceberg", ICEBERG | {"snapshot_id": 9}, ICEBERG | {"snapshot_id": 2}, None, None),
])  # fmt: skip
def test_what_each_type_of_source_shows(kind, before, after, severity, said):
    log = Log(1, {"0": kind}, {4: {"0": json.dumps(before)}, 5: {"0": json.dumps(after)}}, frozenset({4, 5}))
    findings = compare(log.until(4), log).findings
    assert [(finding.code, finding.severity) for finding in findings] == ([("CKPT303", severity)] if severity else [])
    assert said is None or said in findings[0].message


def test_a_watermark_that_was_rewritten_is_found():
    log = Log(1, {"0": "rate"}, {4: {"0": "1"}, 5: {"0": "2"}}, frozenset({4, 5}))
    bookmark = replace(take_bookmark(log.until(4).view()), watermark_ms=7)
    [finding] = continuity(bookmark, log.view()).findings
    assert (
        finding.code == "CKPT302"
        and "ran with the watermark 1970-01-01T00:00:00.007Z before, and its entry now says 1970-01-01T00:00:00.040Z"
        in finding.message
    )


def test_what_cannot_be_judged_is_an_error_and_no_verdict():
    log = Log(1, {"0": "rate"}, {4: {"0": "1"}, 5: {"0": "2"}}, frozenset({4, 5}))
    bookmark, view = take_bookmark(log.until(4).view()), log.view()
    for name in ("offsets/4", "offsets/5"):
        unread = {key: entry for key, entry in view.entries.items() if key != name}
        with pytest.raises(CheckpointNotFoundError, match=name):
            continuity(bookmark, replace(view, entries=unread))
    with pytest.raises(MalformedEntryError, match="not an offset of the source type kafka"):
        continuity(bookmark, view, {"0": "kafka"})
    with pytest.raises(CheckpointError, match="unknown source type"):
        continuity(bookmark, view, {"0": "carrier pigeon"})


def stopped_after(checkpoint: Path, batch: int, target: Path) -> Path:
    """A copy of a checkpoint without the log entries past a batch."""
    shutil.copytree(checkpoint, target)
    for log in ("offsets", "commits"):
        for path in (target / log).iterdir():
            number = path.name.removeprefix(".").removesuffix(".crc")
            if number.isdecimal() and int(number) > batch:
                path.unlink()
    return target


def look(checkpoint: Path, batch_id: int | None = None) -> CheckpointView:
    return observe(Store.open(str(checkpoint)), batch_id=batch_id)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.sweep
def test_every_run_that_spark_has_recorded_has_continued(goldens, tmp_path, case):
    """From its second batch on; only async progress tracking leaves a note."""
    version, _, name = case.partition("/")
    facts = EXPECTED[version][name]
    declared = {} if name == "continuous" else facts["deploy"]["sources"]
    kinds = {source: kind for source, kind in declared.items() if kind != "memory"}  # of tests of Spark alone
    checkpoint = goldens[case] / "checkpoint"
    batch = facts["committed_batches"][1]
    bookmark = take_bookmark(look(stopped_after(checkpoint, batch, tmp_path / "stopped")))
    result = continuity(bookmark, look(checkpoint, bookmark.next_batch), kinds)
    assert bookmark.batch_id == batch and result.status == "continued", result.findings
    assert codes(result, "note") == ({"CKPT304"} if name == "async-progress" else set())


def test_damage_to_a_recorded_run_is_found(golden, tmp_path):
    checkpoint = golden("named-sources")
    bookmark = take_bookmark(look(stopped_after(checkpoint, 1, tmp_path / "stopped")))
    newest = checkpoint / "offsets" / "3"
    newest.write_text(newest.read_text().replace("payments:", "refunds:"))
    result = continuity(bookmark, look(checkpoint, bookmark.next_batch))
    assert [(finding.code, finding.severity, finding.batch_id) for finding in result.findings] == [
        ("CKPT303", "error", 3),
        ("CKPT303", "warning", 3),
    ]
    document = result.to_dict()
    assert (document["status"], document["batch_id"], document["latest_committed_batch"]) == ("broken", 1, 3)
    assert document["findings"][0]["code"] in RULES and json.dumps(document)
