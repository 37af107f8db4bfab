"""Stops of live queries on a real standalone cluster."""

from __future__ import annotations

import os
import threading

import pytest

from airflow_provider_ckpt.engines.run import Presence
from airflow_provider_ckpt.errors import EngineUnknownError
from airflow_provider_ckpt.running.record_runs import read_events
from tests.engines.real.killed_command import killed
from tests.engines.real.lab import compile_jar, standalone_lab, until
from tests.engines.real.standalone_cluster import StandaloneCluster

CYCLES = int(os.environ.get("CYCLES", "3"))
#: Without state, with state, with effects, with a long batch, between two triggers that are far apart.
MIXED = [
    ("stateless", 0, 300),
    ("stateful", 200, 0),
    ("foreachBatch", 300, 0),
    ("foreachBatch", 5000, 0),
    ("stateless", 0, 60_000),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    here = StandaloneCluster(tmp_path_factory.mktemp("standalone"))
    yield here
    here.close()


@pytest.fixture(scope="module")
def jar(tmp_path_factory):
    return compile_jar(tmp_path_factory.mktemp("jar"))


@pytest.fixture
def lab(tmp_path, cluster, jar):
    made = []

    def make(*specs, supervise=False):
        made.append(standalone_lab(tmp_path / "orders", cluster.url, specs, jar, supervise=supervise))
        made[-1].start(is_stopped=True)
        return made[-1]

    yield make
    for each in made:
        for run in each.engine.look(each.runs()).runs:
            each.engine.end(run)
        each.kill_driver()


@pytest.mark.parametrize("supervise", [False, True])
def test_each_stop_falls_between_two_batches(lab, supervise):
    here = lab(*MIXED, supervise=supervise)
    for _ in range(CYCLES):
        here.wait_for_batches(1)
        receipt = here.stop()
        assert (receipt.between_batches, here.drivers(), here.problems()) == (True, [], [])
        assert here.start().committed
    here.stop()
    assert here.problems() == []


def test_running_is_said_of_a_driver_that_its_worker_begins_again(lab):
    here = lab(("foreachBatch", 300, 0), supervise=True)
    (pid,) = here.drivers()
    here.kill_driver()
    until(lambda: here.drivers() not in ([], [pid]), "another driver")
    run = here.engine.look(here.runs()).runs[0]
    assert (run.presence, run.native) == (Presence.LIVE, "RUNNING")
    receipt = here.stop_after_a_death()
    assert (receipt.between_batches, here.drivers(), here.problems(in_flight=True)) == (True, [], [])


@pytest.mark.parametrize("supervise", [False, True])
def test_a_driver_that_dies_while_its_batch_is_waited_for(lab, supervise):
    here = lab(("foreachBatch", 8000, 0), supervise=supervise)
    here.wait_inside_a_batch()
    threading.Timer(3.0, here.kill_driver).start()
    receipt = here.stop_after_a_death()
    planned, committed = here.newest("offsets"), here.newest("commits")
    assert here.drivers() == []
    assert receipt.between_batches or receipt.queries[0].in_flight == committed + 1 == planned
    assert here.problems(in_flight=True) == []


def test_a_driver_whose_worker_is_lost_is_not_taken_for_stopped(lab, cluster):
    here = lab(("foreachBatch", 300, 0))
    cluster.worker.kill()
    until(lambda: here.engine.look(here.runs()).runs[0].native != "RUNNING", "that the Worker is lost")
    assert here.drivers() != []
    with pytest.raises(EngineUnknownError, match="is in the state ERROR"):
        here.stop()
    here.kill_driver()
    cluster.start_worker()


@pytest.mark.parametrize("call", range(1, 9))
def test_a_command_that_is_killed_comes_to_the_same_end(lab, call):
    here = lab(("foreachBatch", 400, 0), ("stateful", 0, 200))
    here.wait_for_batches(1)
    killed(here, "stop", call)
    receipt = here.stop()
    assert (receipt.between_batches, here.drivers(), here.problems()) == (True, [], [])
    killed(here, "start", call)
    started = [event for event in read_events(here.unit) if event.verb == "start"][1:]
    if started and started[0].run is None:  # its answer was lost: a person says whether there is a driver
        with pytest.raises(EngineUnknownError, match="does not say whether it has begun a run"):
            here.start()
        assert len(here.drivers()) <= 1
        return
    assert here.start().committed
    here.stop()
    assert here.problems() == []
