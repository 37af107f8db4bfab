"""What YARN and a Master say that is not so: a stop believes none of it. The answers are those that were recorded of both."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.engines.run import Presence, Run
from airflow_provider_ckpt.engines.standalone import StandaloneEngine
from airflow_provider_ckpt.engines.yarn import YarnEngine
from airflow_provider_ckpt.errors import EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.running.ask_engine import Patience
from airflow_provider_ckpt.running.record_runs import Event, begin, read_events
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from airflow_provider_ckpt.storage.store import Store
from tests.engines import recorded
from tests.fake_query import FakeQuery
from tests.running.simulated import BATCHES, unit_of, with_batches


class Time:
    """A clock that goes on when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def patience(self) -> Patience:
        return Patience(30.0, 1.0, 5.0, lambda: self.now, self.sleep)


@pytest.fixture
def store(tmp_path) -> Store:
    return with_batches(Store.open(str(tmp_path / "orders")))


def stop(store: Store, engine, known: str, **said):
    """Stop a query of which a run is recorded."""
    unit, time = unit_of(store), Time()
    begin(unit, Event(1, "start", "ann", 0, 1, (known,), from_batches={}))
    return stop_query(unit, engine, StopRequest(**said), settle_s=0.01, patience=time.patience)


def in_flight(store: Store) -> None:
    """A batch that is planned and not committed."""
    query = FakeQuery(store)
    query.plan(BATCHES)


@pytest.fixture
def yarn(service):
    service.answers |= {recorded.APPS: {"apps": {}}, recorded.INFO: recorded.info()}
    service.answers[f"PUT /ws/v1/cluster/apps/{recorded.APPLICATION}/state"] = (202, {"state": "RUNNING"})
    return YarnEngine(DeclaredEngine("yarn", "rm"), "orders", lambda connection: service.connection)


@pytest.fixture
def standalone(service):
    killed = {"action": "KillSubmissionResponse", "message": "Driver has already finished or does not exist"}
    service.answers[recorded.KILL] = {**killed, "submissionId": recorded.DRIVER, "success": False}
    return StandaloneEngine(DeclaredEngine("standalone", "master"), "orders", lambda connection: service.connection)


def apps(*states: str):
    """What the ResourceManager says one time after the other."""
    return [{"apps": {"app": [recorded.app(state)]}} for state in states]


@pytest.mark.parametrize("state", ["FINISHED", "FAILED", "KILLED"])
def test_an_application_that_has_succeeded_may_leave_a_batch_in_flight(store, yarn, service, state):
    in_flight(store)
    service.answers[recorded.APPS] = {"apps": {"app": [recorded.app(state, finalStatus="SUCCEEDED")]}}
    receipt = stop(store, yarn, recorded.APPLICATION)
    assert (receipt.between_batches, receipt.queries[0].in_flight) == (False, BATCHES)
    assert find_fence(unit_of(store).members[0].stores) is None


def test_a_kill_that_is_accepted_and_not_done_is_no_stop(store, yarn, service):
    service.answers[recorded.APPS] = apps("RUNNING")
    with pytest.raises(EngineUnknownError, match="not every run of orders has ended within 30 s"):
        stop(store, yarn, recorded.APPLICATION)
    assert read_events(unit_of(store))[-1].stopped is None


def test_an_application_that_comes_again_between_two_answers_has_not_ended(store, yarn, service):
    service.answers[recorded.APPS] = apps(*["RUNNING"] * 3, "KILLED", "ACCEPTED", "RUNNING", "KILLED")
    receipt = stop(store, yarn, recorded.APPLICATION)
    assert receipt.between_batches
    assert len(service.answers[recorded.APPS]) == 1  # it has asked until the last one


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({recorded.INFO: recorded.info(since=recorded.SINCE + 1)}, "was not found, and the list may lack runs"),
        ({recorded.INFO: recorded.info(haState="STANDBY")}, "not the active one"),
        ({recorded.APPS: {"apps": {"app": [recorded.app("KILLING")]}}}, "is in the state KILLING"),
        ({recorded.APPS: (200, b"<html>This is standby RM</html>")}, "what is no JSON object"),
    ],
    ids=["forgotten", "standby", "unknown state", "a page"],
)
def test_what_yarn_does_not_say_is_not_taken_for_stopped(store, yarn, service, answers, said):
    service.answers |= {f"{recorded.APPS}/{recorded.APPLICATION}": recorded.NOT_FOUND, **answers}
    with pytest.raises(EngineUnknownError, match=said):
        stop(store, yarn, recorded.APPLICATION)
    assert find_fence(unit_of(store).members[0].stores) is None
    assert [event.verb for event in read_events(unit_of(store))] == ["start"]


def test_a_list_that_is_empty_proves_nothing(store, yarn):
    with pytest.raises(EngineUnknownError, match="knows no run of orders, which does not prove"):
        stop_query(unit_of(store), yarn, StopRequest(), settle_s=0.01, patience=Time().patience)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (recorded.status("ERROR"), "is in the state ERROR"),
        (recorded.status("UNKNOWN"), "is in the state UNKNOWN"),
        (recorded.status(None, success=False), "was not found, and the list may lack runs"),
    ],
    ids=["lost Worker", "unknown", "forgotten"],
)
def test_what_a_master_does_not_say_is_not_taken_for_stopped(store, standalone, service, answer, said):
    service.answers[recorded.STATUS] = answer
    with pytest.raises(EngineUnknownError, match=said):
        stop(store, standalone, recorded.DRIVER)
    assert find_fence(unit_of(store).members[0].stores) is None


@pytest.mark.parametrize("state", ["RUNNING", "RELAUNCHING"])
def test_a_driver_that_a_kill_says_does_not_exist_is_there_as_long_as_its_state_says(store, standalone, service, state):
    service.answers[recorded.STATUS] = recorded.status(state)
    with pytest.raises(EngineUnknownError, match=f"the run {recorded.DRIVER} is {state}"):
        stop(store, standalone, recorded.DRIVER)


def test_a_driver_that_is_running_may_have_passed_the_fence_and_is_fenced_again(store, standalone, service):
    """With --supervise: RUNNING all the time, while it has died of the fence, begun again and run its batch."""
    answer = service.answer

    def passes(method, path, body):
        if "kill" in path:
            if (fence := find_fence(unit_of(store).members[0].stores)) is not None and not state["passed"]:
                query = FakeQuery.__new__(FakeQuery)
                query.store, query.files, query.written, query.watermark_ms = store, {}, 0, lambda batch_id: 0
                query.files[f"offsets/{fence.batch_id + 1}"] = b""  # the entry of the fence is that of this batch
                query.commit(fence.batch_id + 1)
                state["passed"] = True
            else:
                service.answers[recorded.STATUS] = recorded.status("KILLED")
        return answer(method, path, body)

    state = {"passed": False}
    service.answers[recorded.STATUS] = recorded.status("RUNNING")
    service.answer = passes
    receipt = stop(store, standalone, recorded.DRIVER)
    assert state["passed"] and receipt.between_batches
    assert receipt.queries[0].batch_id == BATCHES and receipt.queries[0].fence
    assert receipt.runs == (Run(recorded.DRIVER, Presence.ENDED, "KILLED"),)
