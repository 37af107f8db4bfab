"""Under a real scheduler and a real triggerer: waits end, streams schedule DAGs, and kills lose and double nothing."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import airflow
import pytest
from packaging.version import Version

from airflow_provider_ckpt.times import parse_time_ms
from tests.airflow.conftest import ROOT
from tests.airflow_stack import AirflowStack
from tests.kafka_checkpoint import commit_batch
from tests.lineage.events import problems, read_events
from tests.streams import Stream

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.skipif(Version(airflow.__version__) < Version("3.3"), reason="partitions and their mappers are of 3.3"),
]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, airflow_database: Callable[[Path], None]) -> Iterator[AirflowStack]:
    """One stack for all tests here."""
    airflow_database(home := tmp_path_factory.mktemp("stack"))
    connection = {"conn_type": "checkpoint", "host": str(home / "streams")}
    env = {"AIRFLOW_CONN_STREAMS": json.dumps(connection)}
    if os.environ.get("CKPT_EXHAUSTIVE"):  # it costs each task some CPU
        lineage = {"type": "file", "log_file_path": str(home / "lineage"), "append": True}
        env["AIRFLOW__OPENLINEAGE__TRANSPORT"] = json.dumps(lineage)
    stack = AirflowStack(home, HERE / "stack_dags", env)
    try:
        yield stack.start()
    finally:
        stack.stop()


def stream(stack: AirflowStack, name: str) -> Stream:
    """A new stream where the connection of the stack's DAGs looks for it."""
    return Stream(stack.home / "streams" / name)


@pytest.fixture(scope="module")
def watched(stack: AirflowStack) -> Stream:
    """The stream that schedules ``on_batch``."""
    return stream(stack, "watched")


@pytest.fixture(scope="module")
def windowed(stack: AirflowStack) -> Stream:
    """The stream whose hours are partitions."""
    return stream(stack, "windowed")


def batches(stack: AirflowStack) -> list[int]:
    """The batches that the events of the watched asset tell of, oldest first."""
    return [event["extra"]["payload"]["batch_id"] for event in stack.events("batches")]


def keys(stack: AirflowStack) -> list[str]:
    """The partitions of the asset with the hours."""
    return sorted(event["partition_key"] for event in stack.events("hours"))


def hours(first: str, count: int) -> list[str]:
    """Keys of so many hours."""
    start = datetime.fromisoformat(first)
    return [(start + timedelta(hours=number)).isoformat() for number in range(count)]


def finished(stack: AirflowStack, dag_id: str) -> list[str]:
    """Partitions that a DAG has finished runs of."""
    return [run["partition_key"] for run in stack.runs(dag_id) if run["state"] == "success"]


def fired_at(stack: AirflowStack, dag_id: str, run_id: str) -> datetime:
    """When the trigger of a run's first deferral has fired, by its log."""
    logs = (stack.home / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}").rglob("attempt=1.log.trigger.*.log")
    lines = [json.loads(line) for path in logs for line in path.read_text().splitlines()]
    [time] = [line["timestamp"] for line in lines if line["event"] == "Trigger fired event"]
    return datetime.fromisoformat(time)


def test_a_deferred_wait_ends_with_the_commit(stack):
    orders = stream(stack, "orders")
    orders.commit("2026-01-01")
    run = stack.trigger("wait", checkpoint="orders", batch_id=1)
    stack.wait_for_task("wait", run, "wait", "deferred")
    orders.commit("2026-01-01")
    stack.wait_for_task("wait", run, "wait", "success")
    assert stack.returned("wait", run, "wait")["batch_id"] == 1


def links(stack: AirflowStack, run: str, task: str, map_index: int = -1) -> dict[str, str]:
    """The buttons of a task instance, as the user interface asks for them."""
    path = f"/dags/linked/dagRuns/{run}/taskInstances/{task}/links"
    return stack.get(f"{path}?map_index={map_index}")["extra_links"]


def page(stack: AirflowStack, name: str) -> str:
    """The link to the page of a stream."""
    return f"plugin/checkpoints?at={quote(str(stack.home / 'streams' / name), safe='')}"


@pytest.mark.exhaustive
def test_deferred_mapped_and_failed_tasks_link_to_their_checkpoints_and_tell_openlineage(stack):
    first, second = (stream(stack, name) for name in ("linked_1", "linked_2"))
    first.commit("2026-01-01")
    second.commit("2026-01-01")
    run = stack.trigger("linked")
    stack.wait_for_task("linked", run, "deferred", "deferred")
    stack.wait_for("a link while it waits", lambda: links(stack, run, "deferred")["Checkpoint"])
    first.commit("2026-01-01")
    stack.wait_for_task("linked", run, "failed", "failed")
    ones = {
        ("deferred", -1): "linked_1",
        ("mapped", 0): "linked_1",
        ("mapped", 1): "linked_2",
        ("failed", -1): "linked_2",
    }
    for (task, map_index), name in ones.items():
        expected = {"Checkpoint": page(stack, name)}
        stack.wait_for(f"the link of {task}", lambda: links(stack, run, task, map_index) == expected)  # noqa: B023

    ends = {("deferred", "COMPLETE", None), ("mapped", "COMPLETE", "warn"), ("failed", "FAIL", "warn")}
    told = stack.wait_for("the events of the ends", lambda: ends <= (found := told_by(stack)).keys() and found)
    assert [problem for events in told.values() for event in events for problem in problems(event)] == []
    assert {task for task, kind, _ in told if kind == "START"} == {"deferred", "mapped", "failed"}
    assert {len(event["inputs"]) for event in told["deferred", "START", None]} == {0}, "both starts say the same"
    names = {end: {dataset["name"] for event in told[end] for dataset in event["inputs"]} for end in ends}
    one, two = (str(stack.home / "streams" / name) for name in ("linked_1", "linked_2"))
    assert names == dict(zip(sorted(ends), ({one}, {two}, {one, two}), strict=True))


def told_by(stack: AirflowStack) -> dict[tuple[str, str, str | None], list[dict[str, Any]]]:
    """The events of the tasks, by task, kind and decision; of the same, oldest first."""
    told: dict[tuple[str, str, str | None], list[dict[str, Any]]] = {}
    for event in read_events(stack.home / "lineage"):
        dag_id, _, task_id = event["job"]["name"].partition(".")
        if dag_id == "linked" and (facet := event["run"]["facets"].get("ckpt_task")) is not None:
            key = (task_id, event["eventType"], facet.get("decision"))
            told.setdefault(key, []).append(event)
    return told


def test_a_wait_can_start_in_the_triggerer(stack):
    run = stack.trigger("wait_from_trigger", checkpoint="orders", batch_id=1)
    stack.wait_for_task("wait_from_trigger", run, "wait", "success")
    assert stack.returned("wait_from_trigger", run, "wait")["batch_id"] == 1


def test_a_lag_is_waited_for_in_the_triggerer(stack):
    commit_batch(stack.home / "streams" / "lagging", 0, '{"logOffset":-1}')
    unread = stack.home / "landing"
    unread.mkdir()
    (unread / "a").write_text("1")
    conf = {"checkpoint": "lagging", "directory": str(unread), "most": "0"}
    runs = [(dag_id, stack.trigger(dag_id, **conf)) for dag_id in ("lag", "lag_from_trigger")]
    for dag_id, run in runs:
        stack.wait_for_task(dag_id, run, "wait", "deferred")
    (unread / "a").unlink()
    for dag_id, run in runs:
        stack.wait_for_task(dag_id, run, "wait", "success")
        assert stack.returned(dag_id, run, "wait")["checkpoints"][0]["sources"][0]["total"] == 0


def test_a_stream_schedules_a_dag(stack, watched):
    for expected in ([0], [0, 1]):
        watched.commit("2026-01-01")
        stack.wait_for(f"events {expected}", lambda: batches(stack) == expected)  # noqa: B023
    run = stack.wait_for("a run of the DAG", lambda: stack.runs("on_batch"))[0]
    stack.wait_for_task("on_batch", run["dag_run_id"], "batch_ids", "success")
    assert stack.returned("on_batch", run["dag_run_id"], "batch_ids")[0] == 0


def test_every_hour_that_the_watermark_has_passed_starts_its_run_once(stack, windowed):
    windowed.commit("2026-01-01T01:10")
    stack.wait_for("the first hour", lambda: keys(stack) == hours("2026-01-01T00", 1))
    windowed.commit("2026-01-02T02:00")
    stack.wait_for("all hours", lambda: keys(stack) == hours("2026-01-01T00", 26), 600)
    stack.wait_for("their runs", lambda: len(finished(stack, "hourly")) == 26, 600)
    assert sorted(finished(stack, "hourly")) == [key[:13] for key in hours("2026-01-01T00", 26)]
    stack.wait_for("the run of the day", lambda: finished(stack, "daily"))
    assert finished(stack, "daily") == ["2026-01-01"], "the second day is not complete"


def test_a_killed_triggerer_loses_and_doubles_nothing(stack, watched, windowed):
    parcels = stream(stack, "parcels")
    wait = stack.trigger("wait", checkpoint="parcels", batch_id=0)
    stack.wait_for_task("wait", wait, "wait", "deferred")

    stack.kill("triggerer")
    parcels.commit("2026-01-01")
    newest = [watched.commit("2026-01-01") for _ in range(3)][-1]
    for hour in (3, 4, 5):
        windowed.commit(f"2026-01-02T{hour:02}:30")
    stack.restart("triggerer")

    stack.wait_for_task("wait", wait, "wait", "success")
    stack.wait_for("the newest batch", lambda: batches(stack)[-1] == newest)
    assert batches(stack) == sorted(set(batches(stack)))
    stack.wait_for("the hours of the outage", lambda: keys(stack) == hours("2026-01-01T00", 29))
    stack.wait_for("their runs", lambda: len(finished(stack, "hourly")) == 29)


@pytest.mark.exhaustive
def test_a_deadline_does_not_begin_anew_with_the_triggerer(stack):
    stream(stack, "never")
    late = stack.trigger("wait_40_seconds", checkpoint="never", batch_id=99)
    stack.wait_for_task("wait_40_seconds", late, "wait", "deferred")
    deferred = datetime.now(UTC)
    stack.kill("triggerer")
    stack.wait_for("an outage of 15 seconds", lambda: datetime.now(UTC) > deferred + timedelta(seconds=15))
    stack.restart("triggerer")
    restarted = datetime.now(UTC)
    stack.wait_for_task("wait_40_seconds", late, "wait", "failed")
    fired = fired_at(stack, "wait_40_seconds", late)
    assert deferred + timedelta(seconds=30) < fired < restarted + timedelta(seconds=40)


@pytest.mark.exhaustive
def test_a_killed_scheduler_loses_and_doubles_no_window(stack, windowed):
    """Killed again and again, with the tasks that it runs, while the watermark goes on."""
    if not windowed.watermarks_ms:  # no test before this one has begun the stream
        windowed.commit("2026-01-01T01:10")
        stack.wait_for("the first hour", lambda: keys(stack) == hours("2026-01-01T00", 1))
    start = windowed.watermarks_ms[-1]
    count = (start - parse_time_ms("2026-01-01")) // 3_600_000 + 59
    done = threading.Event()

    def write() -> None:
        for hour in range(1, 60):
            windowed.commit(str(start + hour * 3_600_000))
            done.wait(1.0)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    kills = 0
    while not done.wait(7):
        stack.kill("scheduler")
        kills += 1
        stack.restart("scheduler")
        stack.wait_until_healthy()
    writer.join()
    assert kills >= 3
    stack.wait_for("all hours", lambda: keys(stack)[-1] == hours("2026-01-01T00", count)[-1], 600)
    stack.wait_for("their runs", lambda: len(finished(stack, "hourly")) >= count, 600)
    assert keys(stack) == hours("2026-01-01T00", count)
    assert sorted(finished(stack, "hourly")) == [key[:13] for key in hours("2026-01-01T00", count)]


@pytest.mark.exhaustive
def test_a_look_that_is_cleared_emits_nothing_again(stack):
    before = keys(stack)
    looks = [run["dag_run_id"] for run in stack.runs("windows") if run["state"] == "success"][-5:]
    tries = {run: stack.task("windows", run, "windows")["try_number"] for run in looks}
    for run in looks:
        clear = {"dry_run": False, "only_failed": False, "dag_run_id": run}
        stack.request("POST", "/api/v2/dags/windows/clearTaskInstances", clear)
    for run, try_number in tries.items():
        again = {"try_number": try_number + 1, "state": "success"}
        stack.wait_for("another try", lambda: stack.task("windows", run, "windows").items() >= again.items(), 300)  # noqa: B023
    assert keys(stack) == before
    assert None not in before, "no look without windows has left an event"


@pytest.mark.exhaustive
def test_standalone_runs_it_as_well(airflow_database, tmp_path):
    connection = {"conn_type": "checkpoint", "host": str(tmp_path / "streams")}
    env = {"AIRFLOW_CONN_STREAMS": json.dumps(connection)}
    (tmp_path / "home").mkdir()
    airflow_database(tmp_path / "home")
    stack = AirflowStack(tmp_path / "home", HERE / "stack_dags", env, standalone=True)
    try:
        stack.start()
        orders = Stream(tmp_path / "streams" / "orders")
        run = stack.trigger("wait", checkpoint="orders", batch_id=0)
        stack.wait_for_task("wait", run, "wait", "deferred")
        orders.commit("2026-01-01")
        stack.wait_for_task("wait", run, "wait", "success")
    finally:
        stack.stop()


@pytest.mark.exhaustive
@pytest.mark.spark
def test_a_pyspark_stream_starts_a_run_for_each_hour_and_each_day(airflow_database, tmp_path):
    """``dags/stream_windows.py`` as it is: every hour's run finds all rows of its hour."""
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "stream_windows.py").symlink_to(ROOT / "dags" / "stream_windows.py")
    (tmp_path / "home").mkdir()
    airflow_database(tmp_path / "home")
    stack = AirflowStack(tmp_path / "home", dags, {"CKPT_STREAM_HOME": str(tmp_path / "stream")})
    try:
        stack.start()
        for written in (26, 4):
            run = stack.trigger("stream_orders", hours=written)
            ended = ("success", "failed", "upstream_failed")
            assert stack.wait_for_task("stream_orders", run, "run_query", *ended, timeout_s=900)["state"] == "success"
        complete = [key[:13] for key in hours("2026-01-01T00", 29)]  # the watermark is in the thirtieth
        stack.wait_for("the hours", lambda: len(finished(stack, "stream_hourly")) >= len(complete), 600)
        assert sorted(finished(stack, "stream_hourly")) == complete
        for number, hour in enumerate(sorted(stack.runs("stream_hourly"), key=lambda run: run["partition_key"])):
            amount = 2 * sum(100 * number + minute for minute in range(60))
            assert stack.returned("stream_hourly", hour["dag_run_id"], "sum_up") == {
                "partition": complete[number],
                "events": 120,
                "amount": amount,
            }
        stack.wait_for("the day", lambda: finished(stack, "stream_daily"))
        [day] = stack.runs("stream_daily")
        assert stack.returned("stream_daily", day["dag_run_id"], "sum_up")["events"] == 24 * 120
    finally:
        stack.stop()
