"""What people say of a change: the effects that they accept, their names, and how old an approval may be."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.make_restore import make_restore
from airflow_provider_ckpt.backup.restore import restore
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.acceptance import effects_of, require_names
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

NO_NAMES = [5, 20261122, ["anna"], {"name": "anna"}, b"anna", None, True, "a" * 4_097]


@pytest.mark.parametrize(
    ("given", "effects"),
    [
        (None, ()),
        ("", ()),
        ("skipped", ("skipped",)),
        ("skipped, duplicated", ("duplicated", "skipped")),
        (["unknown"], ("unknown",)),
    ],
)
def test_effects_are_accepted_by_name(given, effects):
    assert set(effects_of(given)) == set(effects)


def test_an_effect_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="not 'lost'"):
        effects_of("lost")


def test_a_name_is_a_text_that_the_history_can_hold():
    require_names("/checkpoint", by="", approved_by="anna")
    for name in NO_NAMES:
        with pytest.raises(PlanError, match="approved_by is .* and must be a text of at most 4096 characters"):
            require_names("/checkpoint", by="dag/run/task", approved_by=name)


@pytest.mark.parametrize("people", [{"by": 5}, {"approved_by": ["anna"]}], ids=str)
def test_a_change_that_its_record_could_not_name_is_not_begun(tmp_path, people):
    """The rollback was carried out, and its undo refused the record that it had written itself."""
    store = Store.open(str(tmp_path / "checkpoint"))
    query = FakeQuery(store)
    for batch_id in range(4):
        query.commit(batch_id)
    stores, before = Stores(store), store.find()
    plan = make_rollback(stores, 1)
    with pytest.raises(PlanError, match="Nothing was done"):
        apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown", **people)
    assert (store.find(), stores.record(plan.plan_id).find()) == (before, {})

    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "restored"))
    again = make_restore(root, take_backup(store, root), target)
    with pytest.raises(PlanError, match="Nothing was done"):
        restore(again, root, target, accept_sink="unknown", **people)
    assert target.find() == {}
