"""Stops of live queries on a real YARN, PySpark in cluster mode."""

from __future__ import annotations

import os
import threading

import pytest

from airflow_provider_ckpt.engines import yarn
from airflow_provider_ckpt.engines.run import Presence, Restarts
from airflow_provider_ckpt.engines.yarn import YarnEngine
from airflow_provider_ckpt.errors import EngineUnknownError
from tests.engines.real.killed_command import killed
from tests.engines.real.lab import until, yarn_lab
from tests.engines.real.yarn_cluster import YarnCluster

CYCLES = int(os.environ.get("CYCLES", "3"))
MIXED = [
    ("stateless", 0, 300),
    ("stateful", 200, 0),
    ("foreachBatch", 300, 0),
    ("foreachBatch", 5000, 0),
    ("stateless", 0, 60_000),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    here = YarnCluster(tmp_path_factory.mktemp("yarn"))
    yield here
    here.close()


@pytest.fixture
def lab(tmp_path, cluster, monkeypatch, request):
    monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.confs))
    made = []

    def make(*specs, attempts=2):
        made.append(
            yarn_lab(tmp_path / f"orders{abs(hash(request.node.name)) % 10**6}", cluster.url, specs, attempts=attempts)
        )
        made[-1].start(is_stopped=True)
        return made[-1]

    yield make
    for each in made:
        for run in each.engine.look(()).of(Presence.LIVE):
            each.engine.end(run)
        until(lambda each=each: not each.drivers(), "the end")


def test_each_stop_falls_between_two_batches(lab):
    here = lab(*MIXED)
    for _ in range(CYCLES):
        here.wait_for_batches(1)
        receipt = here.stop()
        assert (receipt.between_batches, here.drivers(), here.problems()) == (True, [], [])
        assert here.start().committed
    here.stop()
    assert here.problems() == []


def test_a_second_attempt_is_the_same_run_and_is_stopped(lab):
    here = lab(("foreachBatch", 500, 0))
    here.kill_driver()
    seen = here.engine.look(())
    assert seen.runs[0].presence is Presence.LIVE and seen.restarts is Restarts.UNKNOWN
    receipt = here.stop_after_a_death()
    assert (here.drivers(), here.problems(in_flight=True)) == ([], [])
    assert receipt.between_batches or receipt.queries[0].in_flight is not None
    assert here.start().committed
    here.kill_driver()
    here.wait_for_batches(1)
    assert here.stop_after_a_death().between_batches
    assert (here.drivers(), here.problems(in_flight=True)) == ([], [])


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_driver_that_dies_while_its_batch_is_waited_for(lab, attempts):
    here = lab(("foreachBatch", 8000, 0), attempts=attempts)
    here.wait_inside_a_batch()
    threading.Timer(3.0, here.kill_driver).start()
    receipt = here.stop_after_a_death()
    planned, committed = here.newest("offsets"), here.newest("commits")
    assert here.drivers() == []
    assert receipt.between_batches or receipt.queries[0].in_flight == committed + 1 == planned
    assert here.problems(in_flight=True) == []


def test_exit_code_0_with_a_batch_in_flight_is_told(lab):
    here = lab(("foreachBatch", 20_000, 0))
    here.wait_inside_a_batch()
    (here.root / "leave").touch()
    until(lambda: not here.engine.look(()).of(Presence.LIVE), "the end of the application")
    assert here.engine.look(()).runs[0].native == "FINISHED"
    receipt = here.stop()
    assert not receipt.between_batches
    assert receipt.queries[0].in_flight == here.newest("offsets") == here.newest("commits") + 1


def test_a_kill_without_a_fence_leaves_a_batch_and_is_not_said_to_be_between(lab):
    here = lab(("foreachBatch", 20_000, 0))
    here.wait_inside_a_batch()
    receipt = here.stop(interrupt_batch=True, wait_for_batch=0.5)
    assert receipt.queries[0].in_flight == here.newest("commits") + 1
    assert not receipt.between_batches and here.drivers() == []


@pytest.mark.parametrize("call", range(1, 9))
def test_a_command_that_is_killed_comes_to_the_same_end(lab, call, monkeypatch):
    monkeypatch.setattr(YarnEngine, "submit_s", 10.0)  # spark-submit has ended whenever it is killed here
    monkeypatch.setattr(yarn, "FORGETFUL_MS", 0)  # this ResourceManager is young, and was never another one
    here = lab(("foreachBatch", 400, 0), ("stateful", 0, 200))
    here.wait_for_batches(1)
    killed(here, "stop", call)
    receipt = here.stop()
    assert (receipt.between_batches, here.drivers(), here.problems()) == (True, [], [])
    killed(here, "start", call)
    assert here.start().committed
    here.stop()
    assert here.problems() == []
    assert len(here.engine.look(()).runs) == 2  # no start was submitted twice


def test_a_manager_that_has_forgotten_its_applications_says_nothing_of_them(lab, cluster):
    here = lab(("foreachBatch", 500, 0))
    cluster.forget()
    with pytest.raises(EngineUnknownError):
        here.stop()
