"""A repartition, with lock and records, on a storage that fails at every call in turn: the same command completes it."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.errors import CheckpointError
from tests.changes.repartition.forged_spark import GOLDEN, PARTITIONS, Case, Forged, before_and_batch
from tests.faults import Fault, FaultyStore, calls_to_fail

pytestmark = pytest.mark.usefixtures("unwatched")

SAMPLES = 6


def act(case: Case, stores: Stores, name: str) -> None:
    if name == "repartition":
        plan = make_repartition(stores, PARTITIONS, sink=case.sink)
    else:
        plan = make_undo(stores, sink=case.sink)
    apply(plan, stores, query_is_stopped=True, quiet_s=0)


@pytest.mark.sweep
@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("name", ["repartition", "undo"])
def test_a_fault_at_every_call(golden_home, forge, tmp_path, name, after):
    whole = Case(*before_and_batch(golden_home(GOLDEN)))

    def prepared(root: str) -> tuple[Case, Stores, Fault]:
        home = tmp_path / root
        shutil.copytree(whole.checkpoint.parent, home, ignore=shutil.ignore_patterns("_ckpt_undo"))
        case = Case(home / "checkpoint", home / "output", whole.batch)
        forge(Forged(case.checkpoint, case.batch))
        if name == "undo":
            act(case, case.stores, "repartition")
        fault = Fault()
        checkpoint = FaultyStore.over(str(case.checkpoint), fault)
        return case, replace(case.stores, checkpoint=checkpoint), fault

    case, stores, counted = prepared("counted")
    act(case, stores, name)
    wanted, wanted_sink = case.files(), case.sink_files()
    for at in calls_to_fail(counted.calls, SAMPLES):
        case, stores, fault = prepared(f"round-{at}")
        fault.at, fault.after = at, after
        try:
            act(case, stores, name)
        except CheckpointError as error:
            assert "injected" in str(error), f"call {at}: {error}"
        fault.at = None
        try:
            act(case, case.stores, name)
        except CheckpointError as error:  # it was complete, and only its answer was lost
            assert "already" in str(error) or "no change that can be undone" in str(error), f"call {at}: {error}"
        assert (case.files(), case.sink_files()) == (wanted, wanted_sink), f"call {at}"
