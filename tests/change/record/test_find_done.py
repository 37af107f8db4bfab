"""Which change somebody asks for again: the newest one of the same task that asked for the same, and is in force."""

from __future__ import annotations

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.find_done import find_applied, find_done, find_undo_before, find_undo_of
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

BY, ASKED = "dag/monday/undo", "what was asked"


def query_at(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(6):
        query.commit(batch_id)
    return Stores(query.store)


def carry_out(plan, stores, by, asked=ASKED):
    apply(plan, stores, by=by, asked=asked, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    return plan


def test_a_change_is_known_by_who_asked_for_what(tmp_path):
    stores = query_at(tmp_path)
    plan = carry_out(make_rollback(stores, 4), stores, BY)
    assert find_applied(plan, stores).plan == plan
    found = {
        who: find_done(stores, *who) is not None
        for who in (
            ("rollback", BY, ASKED),
            ("rollback", "dag/tuesday/undo", ASKED),
            ("rollback", BY, "something else"),
            ("undo", BY, ASKED),
            ("rollback", "", ASKED),
        )
    }
    assert list(found.values()) == [True, False, False, False, False]


def test_an_undo_is_done_until_its_run_is_repeated(tmp_path):
    stores = query_at(tmp_path)
    first = carry_out(make_rollback(stores, 4), stores, "dag/monday/rollback")
    assert find_undo_before(stores) is None and find_undo_of(first.plan_id, stores) is None
    undo = carry_out(make_undo(stores), stores, BY)
    assert find_undo_before(stores).plan == find_undo_of(first.plan_id, stores).plan == undo
    assert find_applied(first, stores) is None and find_done(stores, "rollback", "dag/monday/rollback", ASKED) is None
    carry_out(make_rollback(stores, 4), stores, "another/monday/rollback")
    assert find_done(stores, "undo", BY, ASKED).plan == undo, "what somebody else has changed since is theirs"
    carry_out(make_rollback(stores, 3), stores, "dag/monday/rollback")
    assert find_done(stores, "undo", BY, ASKED) is None
