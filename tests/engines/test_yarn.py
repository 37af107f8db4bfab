"""The engine ``yarn``, with the answers of a real ResourceManager 3.5.0; ``make engines`` asks a real one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.engines import yarn
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run
from airflow_provider_ckpt.engines.yarn import YarnEngine, tag_key
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from tests.engines.recorded import APPLICATION as ID
from tests.engines.recorded import APPS, INFO, NOT_FOUND, SINCE, app, info


@pytest.fixture
def engine(service):
    service.answers |= {APPS: {"apps": {}}, INFO: info(), f"{APPS}/{ID}": NOT_FOUND}
    return YarnEngine(DeclaredEngine("yarn", "rm"), "orders", lambda connection: service.connection)


@pytest.mark.parametrize(
    ("state", "presence"),
    [
        *((state, Presence.LIVE) for state in ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")),
        *((state, Presence.ENDED) for state in ("FINISHED", "FAILED", "KILLED")),
        *((state, Presence.UNKNOWN) for state in ("KILLING", "", "running")),
    ],
)
def test_what_a_state_means(engine, service, state, presence):
    service.answers[APPS] = {"apps": {"app": [app(state)]}}
    seen = engine.look((ID,))
    assert seen.runs == (Run(ID, presence, state, 1, "u"),)
    assert seen.restarts is (Restarts.UNKNOWN if presence is Presence.LIVE else Restarts.NONE)
    assert "applicationTags=ckpt-query%3Aorders" in service.asked[0][1]


def test_a_run_of_other_means_is_one_of_the_query_and_of_no_start(engine, service):
    service.answers[APPS] = {"apps": {"app": [app("RUNNING", applicationTags="ckpt-query:orders,ckpt-start:x-1")]}}
    assert engine.look(()).runs[0].generation is None


@pytest.mark.parametrize(
    ("said", "is_quiet"),
    [
        (info(), True),  # it drops what has ended, and nothing else
        (info("NullRMStateStore"), True),  # it has, since the application began
        (info(since=SINCE + 1), False),  # the application is of an earlier life of it
        (info("NullRMStateStore", since=SINCE + 1), False),
    ],
)
def test_an_application_that_is_not_there_any_more_has_ended_only_in_the_life_of_its_manager(
    engine, service, said, is_quiet
):
    service.answers[INFO] = said
    seen = engine.look((ID,))
    assert seen.runs == (Run(ID, Presence.ABSENT),)
    assert seen.is_quiet is is_quiet


@pytest.mark.parametrize(("store", "complete"), [("ZKRMStateStore", True), ("NullRMStateStore", False), ("", False)])
def test_a_manager_that_keeps_nothing_and_has_just_started_knows_not_all(engine, service, store, complete):
    service.answers[INFO] = info(store, since=2**62)
    assert engine.look(()).complete is complete


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        (APPS, {}, "no key apps"),
        (APPS, {"apps": []}, "no key apps"),
        (APPS, {"apps": {"app": {}}}, "no key apps"),
        (APPS, {"apps": {"app": [{"state": "KILLED"}]}}, "an application has no id"),
        (INFO, {"clusterInfo": None}, "since when it runs"),
        (INFO, info(haState="STANDBY"), "it is STARTED and STANDBY, not the active one"),
        (f"{APPS}/{ID}", {"app": app("KILLED", f"{ID}2")}, f"asked for {ID}, it answers with {ID}2"),
        (APPS, (503, b""), "answers with HTTP 503"),
    ],
)
def test_an_answer_of_another_kind_is_no_answer(engine, service, path, answer, said):
    service.answers[path] = answer
    with pytest.raises(EngineUnknownError, match=said):
        engine.look((ID,))


def test_an_id_of_another_engine_is_not_known(engine):
    assert engine.look(("driver-1",)).runs == (Run("driver-1", Presence.UNKNOWN, "no application of YARN"),)


def test_an_end_is_asked_for_and_that_it_is_accepted_says_nothing(engine, service):
    put = f"PUT /ws/v1/cluster/apps/{ID}/state"
    for answer in ((202, {"state": "KILLING"}), (200, {"state": "KILLED"}), NOT_FOUND):
        service.answers[put] = answer
        engine.end(Run(ID, Presence.LIVE))
    assert service.asked[0] == ("PUT", f"/ws/v1/cluster/apps/{ID}/state", {"state": "KILLED"})
    service.answers[put] = (403, {"RemoteException": {"message": "User ann may not kill it"}})
    with pytest.raises(EngineError, match="refuses: HTTP 403: User ann may not kill it"):
        engine.end(Run(ID, Presence.LIVE))
    assert not engine.disarm()


@pytest.fixture
def submit(tmp_path: Path) -> Application:
    """A spark-submit that writes its words down."""
    script = tmp_path / "spark-submit"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(tmp_path / 'words')!r}, 'a').write(repr(sys.argv[1:]))"
    )
    script.chmod(0o755)
    words = ("--conf", "spark.yarn.tags=mine", "--master", "local")
    return Application(
        "yarn", {"spark_submit": str(script), "file": "a.jar", "class": "A", "args": ("1",), "submit": words}
    )


def test_a_start_submits_with_its_tags_and_finds_the_application_by_them(engine, service, submit, tmp_path):
    service.answers[APPS] = [{"apps": {}}, {"apps": {"app": [app("ACCEPTED", generation=3)]}}]
    assert engine.start(submit, "orders-3") == Run(ID, Presence.LIVE, "ACCEPTED", 3, "u")
    words = (tmp_path / "words").read_text()
    assert "spark.yarn.tags=mine,ckpt-query:orders,ckpt-start:orders-3" in words
    assert words.index("'local'") < words.index("'yarn'") < words.index("'a.jar'")
    assert engine.start(submit, "orders-3").id == ID  # which is there
    assert (tmp_path / "words").read_text() == words


def test_an_application_of_another_checkpoint_is_none_of_the_query(engine, service, submit, tmp_path):
    """Another user's query may have the same name."""
    declared = DeclaredEngine("yarn", "rm", place="0123456789ab")
    engine = YarnEngine(declared, "orders", lambda connection: service.connection)
    tags = {"": True, ",ckpt-checkpoint:0123456789ab": True, ",ckpt-checkpoint:ba9876543210": False}
    for more, is_own in tags.items():
        service.answers[APPS] = {"apps": {"app": [app("RUNNING", applicationTags=f"ckpt-query:orders{more}")]}}
        assert [run.id for run in engine.look(()).runs] == [ID] * is_own
    service.answers[APPS] = [{"apps": {}}, {"apps": {"app": [app("ACCEPTED", generation=3)]}}]
    engine.start(submit, "orders-3")
    assert "ckpt-start:orders-3,ckpt-checkpoint:0123456789ab" in (tmp_path / "words").read_text()


def test_a_start_that_no_one_sees_is_not_known(engine, service, submit):
    with pytest.raises(EngineUnknownError, match="has no application with the tag ckpt-start:orders-3"):
        engine.start(submit, "orders-3")
    twice = [app("RUNNING", f"{ID}{number}", 3) for number in (1, 2)]
    service.answers[APPS] = {"apps": {"app": twice}}
    with pytest.raises(EngineUnknownError, match="have the same tag ckpt-start:orders-3"):
        engine.start(submit, "orders-3")


def test_what_cannot_be_started_is_told(engine, monkeypatch):
    with pytest.raises(EngineError, match="there is no /no/spark-submit on this machine"):
        engine.start(Application("yarn", {"file": "a.py", "spark_submit": "/no/spark-submit"}), "orders-1")
    with pytest.raises(EngineError, match="is one of the engine local"):
        engine.start(Application("local", {"file": "a.py"}), "orders-1")
    bare = YarnEngine(DeclaredEngine("yarn"), "orders", lambda connection: pytest.fail(connection))
    with pytest.raises(EngineError, match="its engine_connection is not declared"):
        bare.look(())


def test_a_login_alone_is_the_user_of_each_question(service, engine):
    engine._connect = lambda connection: replace(service.connection, login="ann")
    engine.look(())
    assert all("user.name=ann" in path for _, path, _ in service.asked)


@pytest.mark.parametrize("name", ["Orders", "o" * 80, "bestellungen-ä"])
def test_a_name_that_is_no_tag_of_yarn_has_one_of_its_own(name):
    key = tag_key(name)
    assert key == key.lower() and key.isascii() and len(f"{yarn.OF_START}{key}-999999") <= 100
    assert key not in (tag_key(name.upper()), name) and tag_key("orders") == "orders"
