"""The engine ``standalone``, with the answers of the REST server of Spark 4.3.0; ``make engines`` asks a real one."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run
from airflow_provider_ckpt.engines.standalone import StandaloneEngine, submission
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from tests.engines.recorded import CREATE, KILL, STATUS, status
from tests.engines.recorded import DRIVER as ID

JAR = {"file": "file:///jobs/orders.jar", "class": "Orders"}


@pytest.fixture
def engine(service):
    service.answers["GET /v1/submissions/readyz"] = {"action": "ReadyzResponse", "success": True}
    return StandaloneEngine(DeclaredEngine("standalone", "master"), "orders", lambda connection: service.connection)


@pytest.mark.parametrize(
    ("said", "presence"),
    [
        *((status(state), Presence.LIVE) for state in ("SUBMITTED", "RUNNING", "RELAUNCHING")),
        *((status(state), Presence.ENDED) for state in ("FINISHED", "KILLED", "FAILED")),
        (status("ERROR", message="Exception from the cluster:\njava.nio.file.NoSuchFileException"), Presence.ENDED),
        (status("ERROR"), Presence.UNKNOWN),  # its Worker is lost, and it may run there
        (status("UNKNOWN"), Presence.UNKNOWN),
        (status("PAUSED"), Presence.UNKNOWN),
        (status(None), Presence.UNKNOWN),
        (status(None, success=False), Presence.ABSENT),
    ],
)
def test_what_a_state_means(engine, service, said, presence):
    service.answers[STATUS] = said
    seen = engine.look((ID,))
    assert seen.runs == (Run(ID, presence, str(said.get("driverState", ""))),)
    assert seen.restarts is (Restarts.UNKNOWN if presence is Presence.LIVE else Restarts.NONE)
    assert not seen.complete and seen.is_quiet == (presence is Presence.ENDED)


def test_without_an_id_nothing_can_be_found(engine):
    seen = engine.look(())
    assert (seen.runs, seen.complete, engine.submit_s) == ((), False, None)
    assert engine.look(("app-1",)).runs[0].presence is Presence.UNKNOWN


@pytest.mark.parametrize(
    "answer", [{"action": "ErrorResponse"}, status("KILLED", submissionId="driver-2"), {}, (503, b""), b"<html>"]
)
def test_an_answer_of_another_kind_is_no_answer(engine, service, answer):
    service.answers[STATUS] = answer
    with pytest.raises(EngineUnknownError):
        engine.look((ID,))


def test_an_end_is_asked_for_and_the_answer_says_nothing(engine, service):
    for success in (True, False):
        service.answers[KILL] = {"action": "KillSubmissionResponse", "submissionId": ID, "success": success}
        engine.end(Run(ID, Presence.LIVE))
    assert not engine.disarm()


def test_a_start_sends_what_spark_submit_would(engine, service):
    service.answers[CREATE] = {"action": "CreateSubmissionResponse", "submissionId": ID, "success": True}
    submit = (
        "--supervise",
        "--driver-memory",
        "1g",
        "--conf=spark.x=1=2",
        "--conf",
        "spark.y=3",
        "--deploy-mode",
        "cluster",
    )
    run = engine.start(Application("standalone", {**JAR, "args": ("a", "b"), "submit": submit}), "orders-3")
    assert run == Run(ID, Presence.LIVE, "SUBMITTED", 3)
    body = service.asked[-1][2]
    assert (body["mainClass"], body["appResource"], body["appArgs"]) == ("Orders", JAR["file"], ["a", "b"])
    assert body["sparkProperties"] == {
        "spark.app.name": "orders-3",
        "spark.jars": JAR["file"],
        "spark.driver.supervise": "true",
        "spark.driver.memory": "1g",
        "spark.x": "1=2",
        "spark.y": "3",
        "spark.ckpt.token": "orders-3",
    }


@pytest.mark.parametrize("answer", [{"success": False, "message": "no"}, {"success": True}, {"submissionId": "x"}])
def test_a_start_without_a_driver_is_not_known(engine, service, answer):
    service.answers[CREATE] = {"action": "CreateSubmissionResponse", **answer}
    with pytest.raises(EngineUnknownError, match="has not named a driver of orders"):
        engine.start(Application("standalone", JAR), "orders-3")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"file": "orders.py"}, "runs no Python and no R in cluster mode"),
        ({"file": "a.jar"}, "the application of orders has no class"),
        ({**JAR, "submit": ("--py-files", "x")}, "submit of orders has --py-files"),
        ({**JAR, "submit": ("--driver-memory",)}, "submit of orders has --driver-memory"),
        ({**JAR, "submit": ("--properties-file", "x")}, "--properties-file is a file that only the cluster has"),
    ],
)
def test_what_no_driver_can_be_begun_with_is_told(said, problem):
    with pytest.raises(EngineError, match=problem):
        submission("orders", Application("standalone", said), "orders-1")


def test_an_application_of_another_engine_is_not_started():
    with pytest.raises(EngineError, match="is one of the engine yarn"):
        submission("orders", Application("yarn", JAR), "orders-1")


def test_without_a_connection_nothing_is_done():
    bare = StandaloneEngine(DeclaredEngine("standalone"), "orders", lambda connection: pytest.fail(connection))
    with pytest.raises(EngineError, match="its engine_connection is not declared"):
        bare.look(())
