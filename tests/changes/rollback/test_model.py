"""A checkpoint through any sequence of commits, purges, crashes, backups, rollbacks, undos and prunes, against a model.

The model is a dictionary of files, a stack of changes that can be taken back, and what each backup was taken of.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from airflow_provider_ckpt.backup.catalog import find_backup, list_backups
from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.prune import prune
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import BatchNotRestorableError, PlanError, StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, after_exchange, after_rollback, is_restorable, purge, read_all
from tests.faults import Fault, FaultyStore

Files = dict[str, bytes]
#: The storage call that fails, or none; most actions here take some 50 calls.
CRASHES = st.one_of(st.none(), st.integers(1, 120))


class Checkpoint(RuleBasedStateMachine):
    """One query, its checkpoint and its backups."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="model-"))
        self.query = FakeQuery(FaultyStore.over(str(self.root / "orders"), Fault()))
        self.backups = FaultyStore.over(str(self.root / "backups"), Fault())
        self.undoable: list[tuple[Files, Files]] = []  # before and after each change, oldest first
        self.taken: dict[str, Files] = {}
        self.query.commit(0)
        self.back_up(None, False, False)

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    # --- the query ---------------------------------------------------------------------------------------------

    @property
    def batches(self) -> list[int]:
        return sorted(int(name[8:]) for name in self.query.files if name.startswith("commits/"))

    @rule(content=st.sampled_from("abc"), count=st.integers(1, 3), keep=st.one_of(st.none(), st.integers(2, 4)))
    def the_query_runs(self, content: str, count: int, keep: int | None) -> None:
        """Some batches, and sometimes it purges all but the newest."""
        for _ in range(count):
            self.query.commit(self.batches[-1] + 1, content)
        if keep:
            purge(self.query, self.batches[-1] - keep + 1)

    @rule()
    def the_query_dies_in_a_batch(self) -> None:
        self.query.plan(self.batches[-1] + 1)

    # --- changes -----------------------------------------------------------------------------------------------

    @rule(data=st.data(), crash=CRASHES, after=st.booleans())
    def roll_back(self, data: st.DataObject, crash: int | None, after: bool) -> None:
        """Sometimes it crashes; then the same is done again, or what was done of it is undone."""
        target = data.draw(st.sampled_from([batch for batch in self.batches if is_restorable(self.query.files, batch)]))
        wanted = after_rollback(self.query.files, target)
        self._change(lambda: self._apply(make_rollback(self._stores, target)), wanted, data, crash, after)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), crash=CRASHES, after=st.booleans())
    def roll_back_to_a_backup(self, data: st.DataObject, crash: int | None, after: bool) -> None:
        """Whatever was purged, rolled back and run anew since: all of the backup is there, or nothing was done."""
        backup = find_backup(self.backups, data.draw(st.sampled_from(sorted(self.taken))))
        then = self.taken[backup.backup_id]
        wanted = after_exchange(self.query.files, {item.name: then[item.name] for item in backup.objects})
        target = ToBackup(self.backups.location, backup.backup_id)

        def act() -> None:
            self._apply(make_rollback(self._stores, target))

        if wanted is None:
            with pytest.raises(BatchNotRestorableError):
                act()
        else:
            self._change(act, wanted, data, crash, after)

    def _change(
        self, act: Callable[[], None], wanted: Files, data: st.DataObject, crash: int | None, after: bool
    ) -> None:
        before = dict(self.query.files)
        if self._crashes(act, crash, after):
            self._assert_sound()
            begun = history(self.query.store)[-1:]
            half_done = bool(begun) and begun[0].state == "interrupted"
            if half_done and data.draw(st.booleans(), "undo it"):
                self._undo()
                self.query.files = before
                return
            act()
        self.query.files = dict(wanted)
        if wanted != before:
            self.undoable.append((before, wanted))

    @precondition(lambda self: self.undoable)
    @rule(crash=CRASHES, after=st.booleans())
    def undo(self, crash: int | None, after: bool) -> None:
        """It gives every byte back, whatever has run since, unless that has purged something: then it refuses."""
        before, wanted = self.undoable[-1]
        if not wanted.items() <= self.query.files.items():
            with pytest.raises(PlanError):
                self._undo()
            return
        if self._crashes(self._undo, crash, after):
            self._assert_sound()
            if history(self.query.store)[-1].state != "applied" or self._changes() == len(self.undoable):
                self._undo()
        self.undoable.pop()
        self.query.files = dict(before)

    def _changes(self) -> int:
        """Changes that are not undone yet."""
        changes = history(self.query.store)
        return sum(item.plan.kind == "rollback" and item.state in ("applied", "interrupted") for item in changes)

    @property
    def _stores(self) -> Stores:
        return Stores(self.query.store, backups=self.backups)

    def _undo(self) -> None:
        self._apply(make_undo(self._stores))

    def _apply(self, plan: Plan) -> None:
        apply(plan, self._stores, by="the model", query_is_stopped=True, quiet_s=0, accept_sink="unknown")

    def _crashes(self, act, at: int | None, after: bool) -> bool:
        """Do something with a storage that fails at a call; whether that came to pass."""
        self.query.store.fault = self.backups.fault = Fault(at, after=after)
        try:
            act()
        except StoreUnavailableError as error:
            assert "injected" in str(error)
            return True
        finally:
            self.query.store.fault = self.backups.fault = Fault()
        return False

    def _assert_sound(self) -> None:
        """Spark refuses the newest batch, for want of the one before it in the log; or nothing is missing."""
        view = observe(self.query.store, deep=True)
        if view.latest_planned - 1 not in {-1, *view.planned}:
            return
        findings = inspect(self.query.store, deep=True)
        assert [finding for finding in findings if finding.severity == "error"] == []
        if view.in_flight is None or view.latest_committed - 1 in {-1, *view.planned}:
            assert find_restart_set(self.query.store, view, view.latest_committed).missing == ()

    # --- backups -----------------------------------------------------------------------------------------------

    @rule(crash=CRASHES, after=st.booleans(), full=st.booleans())
    def back_up(self, crash: int | None, after: bool, full: bool) -> None:
        """One that crashes does not exist, unless it was its last answer that got lost."""
        self._crashes(lambda: take_backup(self.query.store, self.backups, full=full, threads=1), crash, after)
        for backup in list_backups(self.backups):
            self.taken.setdefault(backup.backup_id, dict(self.query.files))

    @precondition(lambda self: self.taken)
    @rule(last=st.integers(1, 3), crash=CRASHES, after=st.booleans())
    def prune(self, last: int, crash: int | None, after: bool) -> None:
        """It keeps the newest ones, and those restore as before."""
        kept = sorted(self.taken)[-last:]

        def act() -> None:
            plan = make_prune(self.backups, RetentionPolicy(keep_last=last), grace_ms=0)
            prune(plan, self.backups, threads=1)

        if self._crashes(act, crash, after):
            assert set(kept) <= {backup.backup_id for backup in list_backups(self.backups)}
            act()
        assert [backup.backup_id for backup in list_backups(self.backups)] == kept
        self.taken = {backup_id: self.taken[backup_id] for backup_id in kept}

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        backup_id = data.draw(st.sampled_from(sorted(self.taken)))
        backup, target = find_backup(self.backups, backup_id), self.root / "restored"
        place = FaultyStore.over(str(target), Fault())
        restore(make_restore(self.backups, backup, place), self.backups, place, accept_sink="unknown")
        restored, then = read_all(place), self.taken[backup_id]
        assert restored.items() <= then.items()
        newest = max(int(name[8:]) for name in then if name.startswith("commits/"))
        assert backup.batch_id == newest and f"commits/{newest}" in restored
        view = observe(place, deep=True)
        assert find_restart_set(place, view, newest).missing == ()
        shutil.rmtree(target)

    # --- always ------------------------------------------------------------------------------------------------

    @invariant()
    def the_files_are_those_of_the_model(self) -> None:
        assert read_all(Store.open(str(self.root / "orders"))) == self.query.files

    @invariant()
    def what_can_be_undone_is_what_the_model_says(self) -> None:
        assert self._changes() == len(self.undoable)


def test_any_sequence_of_events():
    exhaustive = bool(os.environ.get("CKPT_EXHAUSTIVE"))
    rounds = settings(max_examples=400 if exhaustive else 20, stateful_step_count=25 if exhaustive else 15)
    run_state_machine_as_test(Checkpoint, settings=rounds)
