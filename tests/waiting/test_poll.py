"""Looking at a checkpoint: what it costs, what it sees while things change, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airflow_provider_ckpt.errors import CheckpointError, CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.requests import List, Read, answer_from, drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import (
    BatchCommitted,
    Idle,
    LagAtMost,
    Needs,
    NextBatch,
    OffsetsReached,
    SnapshotReached,
    SourceEndReached,
    Stalled,
    WatermarkPassed,
    all_of,
    any_of,
)
from airflow_provider_ckpt.waiting.poll import ATTEMPTS, Poller, poll_progress, with_offsets
from tests.fake_query import QUERY_ID, FakeQuery, purge, read_all, watermark_ms

OFFSETS = Needs(offsets=True)
CONDITIONS = {
    "batch": BatchCommitted(99),
    "next_batch": NextBatch(0),
    "watermark": WatermarkPassed(0),
    "offsets": OffsetsReached({"0": "5"}),
    "snapshot": SnapshotReached("0", 1, 1),
    "source_end": SourceEndReached(),
    "caught_up": LagAtMost(lag_ms=0),
    "idle": Idle(0),
    "stalled": Stalled(0),
    "all_of": all_of(Idle(0), WatermarkPassed(0), BatchCommitted(99)),
    "any_of": any_of(Idle(10**12), NextBatch(0)),
}


def written(store: Store, batches: int) -> FakeQuery:
    query = FakeQuery(store)
    for batch_id in range(batches):
        query.plan(batch_id)
        query._write(f"commits/{batch_id}", b"v1\n{}")
    return query


# --- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_look_asks_an_s3_api_no_more_than_twice(s3_store, s3_requests, name):
    """But for a third time when a batch is new, its offsets are wanted, and it is quiet for long enough already."""
    store, needs = s3_store("orders"), CONDITIONS[name].needs
    most = 3 if needs == Needs(offsets=True, planned_after_ms=0) else 2
    query = written(store, 3)
    poller = Poller(store.location)
    with s3_requests(store) as sent:
        drive(poller.poll(needs), answer_from(store))
        assert sent.total() <= 4, "the first look reads who the query is, and all that is needed"
        for batch_id in (3, 4, None, None, 5, None):
            if batch_id is not None:
                query.plan(batch_id)
                query._write(f"commits/{batch_id}", b"v1\n{}")
            sent.clear()
            progress = drive(poller.poll(needs), answer_from(store))
            assert sent.total() <= most and sent["ListObjectsV2"] >= 1
            assert not set(sent) - {"ListObjectsV2", "GetObject"}, "it never writes"
            assert progress.batch_id == (progress.batch_id if batch_id is None else batch_id)
        sent.clear()
        drive(poller.poll(needs), answer_from(store))
        assert sent.total() == (2 if needs.planned_after_ms == 0 else 1), "where nothing is new, nothing is read"


def test_the_watermark_costs_one_read_at_the_end_of_a_wait(s3_store, s3_requests):
    store = s3_store("orders")
    written(store, 3)
    polled = poll_progress(store, BatchCommitted(2).needs)
    with s3_requests(store) as sent:
        ended = with_offsets(store, polled)
        assert (polled.watermark_ms, ended.watermark_ms) == (None, watermark_ms(2))
        assert (sent.total(), sent["GetObject"]) == (1, 1)
        assert with_offsets(store, ended) is ended and sent.total() == 1, "what a poll has brought is not read again"


def test_looking_changes_nothing(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 4)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.rglob("*")}
    poller = Poller(store.location)
    for condition in CONDITIONS.values():
        drive(poller.poll(condition.needs), answer_from(store))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.rglob("*")} == before


# --- what it sees ----------------------------------------------------------------------------------------------------


def test_a_look_shows_the_newest_committed_batch(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    query = written(store, 4)
    query.plan(4)
    progress = poll_progress(store, Needs(offsets=True, planned_after_ms=0))
    assert (progress.batch_id, progress.planned, progress.query_id) == (3, 4, QUERY_ID)
    assert progress.watermark_ms == watermark_ms(3)
    modified_ms = int((tmp_path / "orders/commits/3").stat().st_mtime * 1000)
    assert progress.committed_at_ms == modified_ms and set(progress.commits) == {0, 1, 2, 3}


def test_what_was_planned_is_listed_only_when_the_query_is_quiet(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 2)
    assert poll_progress(store, Needs(planned_after_ms=60_000)).planned is None
    os.utime(tmp_path / "orders/commits/1", (0, 0))
    assert poll_progress(store, Needs(planned_after_ms=60_000)).planned == 1


def test_a_checkpoint_that_is_not_there_yet_has_made_no_progress(tmp_path):
    progress = poll_progress(Store.open(str(tmp_path / "later")), Needs(offsets=True, planned_after_ms=0))
    assert (progress.batch_id, progress.offsets, progress.planned, progress.query_id) == (None, None, None, None)


def test_without_metadata_the_query_is_not_known_and_is_asked_for_no_more(s3_store, s3_requests):
    store = s3_store("orders")
    query = written(store, 2)
    store.delete("metadata")
    poller = Poller(store.location)
    assert drive(poller.poll(OFFSETS), answer_from(store)).query_id is None
    query.plan(2)
    query._write("commits/2", b"v1\n{}")
    with s3_requests(store) as sent:
        assert drive(poller.poll(OFFSETS), answer_from(store)).batch_id == 2
        assert sent.total() <= 2


def test_another_query_in_the_same_place_is_seen_with_its_first_look(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 3)
    poller = Poller(store.location)
    assert drive(poller.poll(OFFSETS), answer_from(store)).query_id == QUERY_ID
    for name in read_all(store):
        store.delete(name)
    store.write("metadata", json.dumps({"id": QUERY_ID.replace("7f", "8f")}).encode())
    progress = drive(poller.poll(OFFSETS), answer_from(store))
    assert (progress.batch_id, progress.query_id) == (None, QUERY_ID.replace("7f", "8f"))


def test_a_batch_that_was_committed_anew_is_read_anew(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    query = written(store, 3)
    poller = Poller(store.location)
    before = drive(poller.poll(OFFSETS), answer_from(store))
    store.delete("commits/2")
    store.write("offsets/2", query.files["offsets/1"])
    store.write("commits/2", b"v1\n{}")
    os.utime(tmp_path / "orders/commits/2", (1, 1))
    assert drive(poller.poll(OFFSETS), answer_from(store)).offsets != before.offsets


def test_the_rate_is_taken_from_an_older_batch_when_a_request_is_to_spare(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 30)
    poller = Poller(store.location)
    drive(poller.poll(OFFSETS), answer_from(store))
    assert poller.earlier is None, "the first look had enough to do"
    latest = drive(poller.poll(OFFSETS), answer_from(store))
    assert poller.earlier.batch_id == 9 and latest.batch_id == 29
    took_ms = latest.happened_at_ms - poller.earlier.happened_at_ms
    assert took_ms == 20 * 60_000
    assert WatermarkPassed(watermark_ms(39)).eta_ms(poller.earlier, latest) == 10 * 60_000


def test_an_older_entry_that_is_damaged_only_costs_the_rate(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 3)
    store.write("offsets/0", b"")
    poller = Poller(store.location)
    for _ in range(3):
        assert drive(poller.poll(OFFSETS), answer_from(store)).batch_id == 2
    assert poller.earlier is None


# --- what changes while it looks -------------------------------------------------------------------------------------


class Changing:
    """Answers a look, and does something before each answer."""

    def __init__(self, store: Store, *changes) -> None:
        self.store, self.changes = store, list(changes)

    def ls(self, directory: str):
        self._change()
        return self.store.ls(directory)

    def read(self, name: str) -> bytes:
        self._change()
        return self.store.read(name)

    def _change(self) -> None:
        if self.changes:
            self.changes.pop(0)()


def nothing() -> None:
    pass


def test_an_entry_that_vanishes_while_we_look_is_looked_for_again(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 3)

    def roll_back() -> None:
        store.delete("commits/2")
        store.delete("offsets/2")

    progress = drive(Poller(store.location).poll(OFFSETS), answer_from(Changing(store, nothing, roll_back)))
    assert progress.batch_id == 1 and progress.watermark_ms == watermark_ms(1)


def test_a_purge_that_overtakes_us_is_caught_up_with(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    query = written(store, 3)

    def rush() -> None:
        for batch_id in range(3, 9):
            query.plan(batch_id)
            query._write(f"commits/{batch_id}", b"v1\n{}")
        purge(query, 8)

    assert drive(Poller(store.location).poll(OFFSETS), answer_from(Changing(store, nothing, rush))).batch_id == 8


def test_an_entry_that_never_is_there_is_an_error_that_names_it(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 3)
    store.delete("offsets/2")
    listings = []
    counting = Changing(store)
    counting.ls = lambda directory: listings.append(directory) or store.ls(directory)
    with pytest.raises(CheckpointNotFoundError, match="offsets/2"):
        drive(Poller(store.location).poll(OFFSETS), answer_from(counting))
    assert len(listings) == ATTEMPTS


def test_a_batch_planned_between_the_two_listings_is_not_idle(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    query = written(store, 3)
    plan = lambda: query.plan(3)  # noqa: E731
    progress = drive(Poller(store.location).poll(Idle(0).needs), answer_from(Changing(store, nothing, plan)))
    assert not Idle(0).reached(progress)
    assert Idle(0).reached(poll_progress(store, Needs())) is False, "what was not listed is not idle"


# --- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"v9\n{}\n5", b"\xff"])
def test_a_damaged_entry_is_an_error_that_names_the_place(tmp_path, data):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 3)
    store.write("offsets/2", data)
    with pytest.raises(CheckpointFormatError) as refused:
        poll_progress(store, OFFSETS)
    assert (refused.value.location, refused.value.name) == (str(tmp_path / "orders"), "offsets/2")
    assert poll_progress(store, Needs()).batch_id == 2, "a wait for a batch does not read it"


def test_damaged_metadata_is_an_error_that_names_the_place(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 1)
    store.write("metadata", b"{")
    with pytest.raises(CheckpointFormatError) as refused:
        poll_progress(store, OFFSETS)
    assert (refused.value.location, refused.value.name) == (str(tmp_path / "orders"), "metadata")


def test_a_storage_without_times_hurts_those_alone_that_ask_for_them(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    written(store, 2)
    asks = Poller(store.location).poll(OFFSETS | Idle(0).needs)
    reply = None
    try:
        while True:
            ask = asks.send(reply)
            assert isinstance(ask, List | Read)
            reply = store.read(ask.name) if isinstance(ask, Read) else without_times(store, ask.directory)
    except StopIteration as stop:
        progress = stop.value
    assert WatermarkPassed(1).reached(progress)
    for condition in (Idle(0), Stalled(0)):
        with pytest.raises(CheckpointError, match="does not say when"):
            condition.reached(progress)


def without_times(store: Store, directory: str) -> dict:
    from dataclasses import replace

    return {name: replace(stored, modified_ms=None) for name, stored in store.ls(directory)[0].items()}


def test_a_file_in_place_of_the_log_is_an_error(tmp_path):
    (tmp_path / "orders").mkdir()
    Path(tmp_path / "orders/commits").write_text("")
    with pytest.raises(CheckpointError, match="is a file"):
        poll_progress(Store.open(str(tmp_path / "orders")))
