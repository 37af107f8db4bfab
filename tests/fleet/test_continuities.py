"""What one flow did since its bookmark: a run that says that it is completed proves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.flows import Flow, Neighbour, Surroundings
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.fleet.continuities import flow_continuity, worst_status
from airflow_provider_ckpt.restart.bookmark import Bookmark, take_bookmark
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

NEW = Bookmark(None, None)


@pytest.fixture
def stopped(golden):
    """A checkpoint, where it had stopped by a bookmark, and what is there now by another batch."""
    home = golden("agg-hdfs")
    store = Store.open(str(home))
    return home, take_bookmark(observe(store)), lambda bookmark: observe(store, batch_id=bookmark.next_batch)


def test_a_flow_that_has_not_run_is_idle_until_it_has(stopped):
    nothing = CheckpointView("/c", 0, {}, complete=True)
    assert flow_continuity(NEW, nothing, {}).status == "idle"
    assert flow_continuity(NEW, stopped[2](NEW), {}).status == "continued"


def test_nothing_new_is_idle_and_a_batch_in_flight_is_not(stopped):
    home, bookmark, now = stopped
    assert flow_continuity(bookmark, now(bookmark), {}).status == "idle"
    (home / "commits" / "7").unlink()
    before = take_bookmark(now(replace(bookmark, batch_id=6)))
    found = flow_continuity(before, now(before), {})
    assert (found.status, [finding.code for finding in found.findings]) == ("in flight", ["CKPT306"])


def test_a_batch_that_is_gone_is_broken(stopped):
    home, bookmark, now = stopped
    for log in ("commits", "offsets"):
        (home / log / "7").unlink()
    assert flow_continuity(bookmark, now(bookmark), {}).status == "broken"


def test_another_version_and_a_log_that_two_write_are_broken(stopped):
    _, bookmark, now = stopped
    found = flow_continuity(bookmark, now(bookmark), {}, newest="/c/1")
    assert [finding.code for finding in found.findings] == ["CKPT305"]
    log = SinkLog("/t", {name: StoredObject(name, 1, 0, "") for name in [f"{layout.SINK_LOG}/0"]})
    flow, other = Flow("/s", ("c", "d", "t"), "q", 0), Neighbour("late", "/s/late/0", 1)
    around = Surroundings(flow, 0, (other,), log)
    found = flow_continuity(bookmark, replace(now(bookmark), surroundings=around), {})
    assert (found.status, [finding.code for finding in found.findings]) == ("broken", ["CKPT157"])


def test_the_worst_of_all_counts(stopped):
    _, bookmark, now = stopped
    idle, broken = (flow_continuity(bookmark, now(bookmark), {}, newest) for newest in (None, "/c/1"))
    assert worst_status({"a": idle, "b": broken}) == "broken"
    assert worst_status({}) == "idle"
