"""A deploy ends with the new version, or with the one before; killed anywhere, it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.engines.run import Presence
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError, PlanError
from airflow_provider_ckpt.query.engine import StartRule
from airflow_provider_ckpt.running.deploy_query import DeployRequest, deploy_query
from airflow_provider_ckpt.running.start_query import StartRequest
from airflow_provider_ckpt.running.stop_query import StopRequest
from tests.running.simulated import BAD, Application, Killed, newest, patience

BETTER = Application("command", {"start": ("better",)})


def deploy(unit, engine, application, **said):
    request = DeployRequest(
        stop=StopRequest(wait_for_batch=5.0), start=StartRequest(gate=False), accept_sink=("unknown", "duplicated")
    )
    return deploy_query(unit, engine, application, request, by="ann", settle_s=0.1, patience=patience(engine), **said)


def test_a_good_version_takes_the_place_of_the_old_one(run):
    unit, engine = run(restarts=2)
    backed_up: list[str] = []
    done = deploy(unit, engine, BETTER, back_up=lambda: backed_up.append("x"))
    assert (done.started.committed, done.back, backed_up) == (True, None, ["x"])
    assert done.stopped is not None and done.stopped.between_batches
    assert [each.state for each in engine.runs] == ["KILLED", "RUNNING"]
    assert deploy(unit, engine, BETTER).started == done.started  # nothing is left to do


def test_a_bad_version_ends_with_the_one_before_at_its_batch(run):
    unit, engine = run()
    done = deploy(unit, engine, BAD)
    assert not done.started.committed
    assert done.back is not None and done.back.committed
    assert done.back.from_batches == done.started.from_batches
    assert [each.token for each in engine.runs if each.state == "RUNNING"] == ["orders-3"]


def test_the_same_bad_version_may_be_tried_again(run):
    unit, engine = run()
    deploy(unit, engine, BAD)
    done = deploy(unit, engine, BAD)
    assert done.back is not None and done.back.token == "orders-5"


@pytest.mark.sweep
@pytest.mark.parametrize("application", [BETTER, BAD], ids=["good", "bad"])
@pytest.mark.parametrize("how", ["dies_at", "silent_at"])
@pytest.mark.parametrize("at", [*range(1, 20, 2), 40, 80, 90, 95, 99, 103])
def test_killed_anywhere_the_same_command_comes_to_the_same_end(run, application, how, at):
    unit, engine = run(restarts=2)
    setattr(engine, how, frozenset({at}))
    try:
        done = deploy(unit, engine, application)
    except (Killed, EngineUnknownError):
        engine.sleep(1)
        done = deploy(unit, engine, application)
    running = [each.token for each in engine.runs if each.state == "RUNNING"]
    assert len(running) == 1
    if application is BETTER:
        assert (done.started.committed, running) == (True, ["orders-2"])
    else:
        assert done.back is not None and done.back.committed and running == [done.back.token] == ["orders-3"]
    assert newest(engine.stores[0], "commits") >= 3


def test_killed_while_the_version_before_is_started_again_it_is_waited_for(run):
    """The version that has failed is not deployed again."""
    unit, engine = run()
    real = engine.start

    def killed(application, token):
        real(application, token)
        if token == "orders-3":
            raise Killed
        return engine._seen(engine.runs[-1])

    engine.start = killed
    with pytest.raises(Killed):
        deploy(unit, engine, BAD)
    engine.start = real
    done = deploy(unit, engine, BAD)
    assert done.back is not None and (done.back.token, done.back.committed) == ("orders-3", True)
    assert [each.token for each in engine.runs] == ["orders-1", "orders-2", "orders-3"]


def test_without_a_way_back_nothing_is_stopped(run):
    unit, engine = run()
    request = DeployRequest(start=StartRequest(gate=False))
    with pytest.raises(PlanError, match="the way back of orders would be refused: the effect of this rollback on"):
        deploy_query(unit, engine, BAD, request, settle_s=0.1, patience=patience(engine))
    assert engine.runs[0].state == "RUNNING" and find_fence(unit.members[0].stores) is None


def test_a_version_that_is_left_as_it_is_may_commit_later(run):
    unit, engine = run()
    unit = replace(unit, declared=replace(unit.declared, start=StartRule(5.0, "leave")))
    assert not deploy(unit, engine, BAD).started.committed
    engine.runs[-1].drivers[0].commits = True
    done = deploy(unit, engine, BAD)
    assert (done.started.committed, done.started.token) == (True, "orders-2")


def test_a_version_that_was_stopped_for_its_failure_may_be_tried_again(run):
    unit, engine = run()
    unit = replace(unit, declared=replace(unit.declared, start=StartRule(5.0, "stop")))
    for token in ("orders-2", "orders-3"):
        done = deploy(unit, engine, BAD)
        assert (done.started.token, done.started.committed, done.back) == (token, False, None)
        assert not engine.look(()).of(Presence.LIVE)


def test_where_the_engine_refuses_the_new_version_the_one_before_is_started_again(run):
    unit, engine = run(restarts=5)
    real = engine.start

    def refuse(application, token):
        if application == BETTER:
            raise EngineError("there is no spark-submit on this machine")
        return real(application, token)

    engine.start = refuse
    with pytest.raises(EngineError, match="there is no spark-submit") as refused:
        deploy(unit, engine, BETTER)
    assert refused.value.hint == "The version before was started again as orders-2."
    assert [each.state for each in engine.runs] == ["KILLED", "RUNNING"] and engine.is_armed
