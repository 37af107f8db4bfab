"""The DAG ``checkpoint_fleet_rollback`` in real runs: many queries, one approval, exactly the plans that were approved."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import airflow
import pytest
from packaging.version import Version

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.restart.bookmark import take_bookmark
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import ROOT, read_run, run
from tests.airflow.spark_jobs import PERSON
from tests.fake_query import FakeQuery, purge, read_all

pytestmark = pytest.mark.airflow
#: There the answer of a person is known to the triggerer alone; test_fleet_rollback_stack.py has a real one.
asks = pytest.mark.skipif(Version(airflow.__version__) < Version("3.3"), reason="dags test of 3.1 cannot answer")

DAG, UNDO = "checkpoint_fleet_rollback", "checkpoint_fleet_undo"
#: A name that a template would make 49 of.
HOSTILE = "{{ 7 * 7 }}"
SHARED = {"find", "plan", "weigh", "asks", "approve", "summary"}
TASKS = {DAG: {*SHARED, "rollback"}, UNDO: {*SHARED, "undo"}}


class Fleet:
    """Queries that have committed batches 0 to 2 before a deploy, with a bookmark of each, and two more since."""

    def __init__(self, home: Path) -> None:
        self.home, self.bookmarks = home, home / "bookmarks"
        self.bookmarks.mkdir(parents=True)
        self.queries: dict[str, FakeQuery] = {}

    def deploy(self, *names: str) -> None:
        """Bookmark new queries, and let the bad version run."""
        for name in names:
            query = self.queries[name] = FakeQuery(
                Store.open(str(self.home / name)), query_id=f"7f0c55e2-9a1b-4b5e-9c3d-{len(self.queries):012}"
            )
            for batch_id in range(3):
                query.commit(batch_id)
            bookmark = take_bookmark(observe(query.store))
            (self.bookmarks / f"{name}.json").write_text(json.dumps(bookmark.to_dict()))
            query.commit(3)
            query.commit(4)

    def newest(self) -> dict[str, int | None]:
        """The newest committed batch of each query."""
        return {name: observe(query.store).latest_committed for name, query in self.queries.items()}


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Three queries."""
    fleet = Fleet(tmp_path / "lake")
    fleet.deploy("clicks", "orders", HOSTILE)
    return fleet


@pytest.fixture
def roll_back(airflow_env, fleet):
    """Runs the DAG with somebody who answers; states, values, what was asked, and what was said."""
    env = {
        **airflow_env,
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW_CONN_LAKE": json.dumps({"conn_type": "checkpoint", "host": str(fleet.home)}),
        "AIRFLOW__CORE__DEFAULT_TASK_RETRIES": "0",
    }

    def execute(person: str = PERSON, dag: str = DAG, **params: Any) -> tuple[dict[str, str], dict[str, Any], str, str]:
        conf = {"checkpoint_conn_id": "lake", **({"bookmarks": "bookmarks"} if dag == DAG else {}), **params}
        answering = subprocess.Popen([sys.executable, "-c", person], env=env, stdout=subprocess.PIPE, text=True)
        try:
            done = run(["dags", "test", dag, "--conf", json.dumps(conf)], env, check=False)
        finally:
            answering.terminate()
        states, values = read_run(env, dag)
        said = done.stdout + done.stderr
        assert set(states) == TASKS[dag], said[-4000:]
        return states, values, answering.communicate()[0], said

    return execute


@asks
def test_one_approval_takes_a_fleet_back_to_before_the_deploy(roll_back, fleet):
    states, values, asked, said = roll_back(queries=[{"checkpoint": "orders", "sink": "kafka"}, "clicks", HOSTILE])
    assert states == dict.fromkeys(TASKS[DAG], "success"), said[-4000:]
    assert fleet.newest() == {"clicks": 2, "orders": 2, HOSTILE: 2}
    assert "Take 3 queries back to before the deploy?" in asked and "3 of 3 queries go back." in asked
    assert "Sink effect: **unknown** for 2, **duplicated** for 1. To approve is to accept that." in asked
    for name, query in fleet.queries.items():
        (change,) = history(query.store)
        assert change.plan.plan_id in asked and str(fleet.home / name) in asked
        assert change.approved_by == "admin" and change.by.startswith(f"{DAG}/")
    assert {item["checkpoint"] for item in values["summary"]["back"]} == {
        str(fleet.home / name) for name in fleet.queries
    }


#: One who rejects.
AGAINST = PERSON.replace('["Approve"]', '["Reject"]')


@asks
@pytest.mark.exhaustive
def test_a_rejected_fleet_is_left_alone(roll_back, fleet):
    states, values, asked, said = roll_back(AGAINST)
    assert "3 of 3 queries go back." in asked
    assert states == {**dict.fromkeys(TASKS[DAG], "success"), "rollback": "skipped", "summary": "skipped"}, said[-4000:]
    assert "the plans of 3 queries were rejected" in said and "summary" not in values
    assert set(fleet.newest().values()) == {4} and not any(history(query.store) for query in fleet.queries.values())


def spoil(fleet: Fleet) -> dict[str, str]:
    """Make a fleet of which most cannot go back; what each is refused with."""
    fleet.deploy("cut", "empty", "purged", "twice", "other", "unstarted", "gone")
    at = fleet.bookmarks
    (at / "cut.json").write_text((at / "cut.json").read_text()[:60])
    (at / "empty.json").write_text("")
    purge(fleet.queries["purged"], 4)
    (at / "again.json").write_text((at / "twice.json").read_text().replace('"batch_id": 2', '"batch_id": 1'))
    other = json.loads((at / "other.json").read_text())
    (at / "other.json").write_text(json.dumps({**other, "query_id": "another"}))
    unstarted = json.loads((at / "unstarted.json").read_text())
    nothing = {"batch_id": None, "offsets": {}, "watermark_ms": None, "batch_timestamp_ms": None}
    (at / "unstarted.json").write_text(json.dumps({**unstarted, **nothing}))
    shutil.rmtree(fleet.home / "gone")
    del fleet.queries["gone"]
    (at / "directory").mkdir()
    return {
        "cut.json": "is not JSON",
        "empty.json": "is not JSON",
        "purged": "cannot be read any more",
        "twice": "more than one bookmark",
        "other": "of query another",
        "unstarted": "no batch was committed when the bookmark was taken",
        "gone": "does not exist",
        "directory": "A directory is no bookmark",
    }


@pytest.mark.exhaustive
def test_a_query_that_is_refused_stops_the_fleet_before_anybody_is_asked(roll_back, fleet):
    refused = spoil(fleet)
    states, _, asked, said = roll_back("")
    ended = ("asks", "approve", "rollback")
    assert {states[name] for name in ended} == {"upstream_failed"}, said[-4000:]
    assert (states["find"], states["weigh"], states["summary"], asked) == ("success", "failed", "failed", "")
    assert f"Nothing was done, as {len(refused)} queries are refused" in said
    for name, reason in refused.items():
        assert any(f"/{name}`" in line and reason in line for line in said.splitlines()), name
    assert set(fleet.newest().values()) == {4} and not any(history(query.store) for query in fleet.queries.values())


@asks
@pytest.mark.exhaustive
def test_what_is_refused_is_left_alone_when_the_user_says_so(roll_back, fleet):
    refused = spoil(fleet)
    states, values, asked, said = roll_back(skip_refused=True)
    assert states["rollback"] == states["summary"] == "success", said[-4000:]
    assert f"3 of 11 queries go back; refused: {len(refused)}." in asked and "**Refused, and left alone:**" in asked
    for name, reason in refused.items():
        assert any(f"/{name}`" in line and reason in line for line in asked.splitlines()), name
    back = ("clicks", "orders", HOSTILE)
    assert fleet.newest() == {name: 2 if name in back else 4 for name in fleet.queries}
    assert len(values["summary"]["back"]) == 3


#: Runs between the plan and the approval: one query has run, another one is locked, and a third one is as it was.
MEANWHILE = """
from tests.fake_query import FakeQuery, purge, read_all
from airflow_provider_ckpt.storage.store import Store
store = Store.open({path!r})
for log in ("offsets", "commits"):
    store.write(log + "/5", store.read(log + "/4"))
"""


@asks
@pytest.mark.exhaustive
def test_one_plan_that_went_stale_stops_no_other_and_a_new_run_completes_the_fleet(roll_back, fleet):
    at = "with create_session() as session:\n    answer"
    person = PERSON.replace(at, f"{MEANWHILE.format(path=str(fleet.home / 'orders'))}\n{at}")
    states, _, _, said = roll_back(person)
    assert (states["approve"], states["summary"]) == ("success", "failed"), said[-4000:]
    assert "2 of 3 queries are back, and 1 are not:" in said
    assert any(f"{fleet.home}/orders`" in line and "has changed since" in line for line in said.splitlines())
    assert fleet.newest() == {"clicks": 2, "orders": 5, HOSTILE: 2}

    states, values, asked, said = roll_back()
    assert set(states.values()) == {"success"}, said[-4000:]
    assert "1 of 3 queries go back; already there: 2." in asked and fleet.newest() == {
        "clicks": 2,
        "orders": 2,
        HOSTILE: 2,
    }
    assert [item["checkpoint"] for item in values["summary"]["back"]] == [f"{fleet.home}/orders"]

    states, values, asked, said = roll_back("")
    assert (states["summary"], states["approve"], asked) == ("success", "skipped", ""), said[-4000:]
    assert values["summary"] == {"back": []}


@asks
@pytest.mark.exhaustive
def test_an_undo_leaves_alone_what_cannot_be_read_and_takes_the_others_back(roll_back, fleet):
    before = {name: read_all(query.store) for name, query in fleet.queries.items()}
    roll_back()
    (change,) = history(fleet.queries["orders"].store)
    run_id = change.by.split("/")[1]
    (fleet.home / "_ckpt_undo" / "orders" / change.plan.plan_id / "plan.json").write_text("{")

    states, _, asked, said = roll_back("", UNDO, run_id=run_id)
    assert (states["find"], states["weigh"], states["undo"], asked) == ("success", "failed", "upstream_failed", "")
    assert "Nothing was done, as 1 queries are refused" in said and "plan.json" in said

    states, _, asked, said = roll_back(PERSON, UNDO, run_id=run_id, skip_refused=True)
    assert set(states.values()) == {"success"}, said[-4000:]
    assert "Take 2 queries back to after the deploy?" in asked and "2 of 3 queries go back; refused: 1." in asked
    for name in ("clicks", HOSTILE):
        assert read_all(fleet.queries[name].store) == before[name]
    assert fleet.newest() == {"clicks": 4, "orders": 2, HOSTILE: 4}
