"""A power cut at each call of an operator, on a disk that keeps the order of names and loses bytes that were not synced.

That is what journaling file systems do; POSIX promises no order of names either, which is not tried here. Whatever is
there afterwards, Spark starts right from it or refuses, nothing is lost, and the same command completes the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.errors import CheckpointError
from tests.interleavings.actors import ACCEPTED, BACKUPS, CHECKPOINT, backing_up, changing, pruning
from tests.interleavings.clock import decided
from tests.interleavings.lake import Lake
from tests.interleavings.scheduler import Run
from tests.interleavings.search import Scenario
from tests.interleavings.stores import PAGE, open_store
from tests.interleavings.world import World


@pytest.fixture(autouse=True, scope="module")
def nothing_is_random() -> Iterator[None]:
    with decided(PAGE):
        yield


def a_rollback(lake: Lake) -> Plan:
    return lake.rollback_plan(0)


def an_undo(lake: Lake) -> Plan:
    lake.roll_back(0)
    return make_undo(Stores(lake.checkpoint))


def a_reset(lake: Lake) -> Plan:
    lake.plan_batch()
    return lake.reset_plan(45)


def an_exchange(lake: Lake) -> Plan:
    backup = lake.back_up()
    lake.run_on(3)
    return lake.exchange_plan(backup)


def laid_out(make: Callable[[Lake], Plan]) -> tuple[Lake, Plan]:
    lake = Lake("disk")
    return lake, make(lake)


def worlds_after_cuts(scenario: Scenario) -> dict[int, World]:
    """What may be there after a cut at any call of the one actor."""
    found: dict[int, World] = {}

    def choose(run: Run) -> int | None:
        found.update((world.key, world) for world in run.world.cuts())
        return 0 if run.ready else None

    run = Run(scenario.world.copy(), scenario.checkpoint, scenario.parts, choose)
    run.on_crash = scenario.on_crash
    run.carry_out()
    assert [actor.error for actor in run.actors] == [None]
    for actor in run.actors:
        scenario.on_crash(actor)
    return found


def judged(scenario: Scenario, world: World) -> None:
    invariants = replace(scenario.invariants(), must_start=False)
    invariants.judge(Run(world, scenario.checkpoint, (), lambda run: None))


@pytest.mark.parametrize("make", [a_rollback, an_undo, a_reset, an_exchange])
def test_a_change_is_completed_after_a_power_cut(make):
    other, done = laid_out(make)
    after = other.carry_out(done)
    lake, plan = laid_out(make)
    before = lake.files
    scenario = lake.scenario("power", changing("disk", "ann", plan), moved=(3, 45))
    cuts = worlds_after_cuts(scenario)
    assert len(cuts) > 20
    completed = 0
    for world in cuts.values():
        judged(scenario, world)
        here, backups = (open_store("disk", world, None, name) for name in (CHECKPOINT, BACKUPS))
        was = world.files(here.root)
        stores = Stores(here, backups=backups)
        try:
            apply(plan, stores, by="ann", query_is_stopped=True, quiet_s=0, accept_sink=ACCEPTED, break_lock=True)
        except CheckpointError:  # the record was cut, and no step had been taken
            assert was == world.files(here.root) == before
        else:
            completed += 1
            there = world.files(here.root)
            assert {name: data for name, data in there.items() if not name.endswith(".tmp")} == after
    assert completed > len(cuts) / 2


def test_a_backup_that_is_there_after_a_power_cut_is_whole():
    lake = Lake("disk")
    lake.back_up()
    lake.run_on()
    scenario = lake.scenario("power", backing_up("disk", "ann"), keeps_backups=True)
    for world in worlds_after_cuts(scenario).values():
        judged(scenario, world)


def test_a_prune_leaves_whole_backups_after_a_power_cut():
    lake = Lake("disk")
    for _ in range(2):
        lake.back_up()
        lake.run_on()
    scenario = lake.scenario("power", pruning("disk", "ann", lake.prune_plan()), keeps_backups=True)
    for world in worlds_after_cuts(scenario).values():
        judged(scenario, world)
