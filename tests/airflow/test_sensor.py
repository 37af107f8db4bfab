"""The sensor: when it defers, when it must not, and how it ends."""

from __future__ import annotations

import json
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    PokeReturnValue,
)

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.sensors.checkpoint import NEVER_MS
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.waiting import (
    AnyOf,
    BatchCommitted,
    Idle,
    LagAtMost,
    NextBatch,
    SourceEndReached,
    Stalled,
    WatermarkPassed,
    condition_from_dict,
)
from airflow_provider_ckpt.waiting.wait import Reached
from tests.airflow.progress_sensor import deferred, sensor
from tests.walks import MOST, returning

pytestmark = pytest.mark.airflow

WATERMARK_MS = 1767225640000
YEAR_MS = 365 * 86_400_000


@pytest.fixture
def checkpoint(golden) -> str:
    """Eight committed batches, watermark 2026-01-01T00:00:40Z, file source at log entry 5."""
    return str(golden("agg-hdfs"))


REACHED = [
    {"batch_id": 7},
    {"batch_id": "3"},
    {"watermark": "2026-01-01T00:00:40Z"},
    {"watermark": datetime(2026, 1, 1, tzinfo=UTC)},
    {"watermark": WATERMARK_MS},
    {"watermark": "2026-01-01"},
    {"offsets": {"0": {"logOffset": 5}}, "sources": {"0": "file"}},
    {"offsets": '{"0": {"logOffset": 2}}', "sources": {"0": "file:s3://landing/orders"}},
    {"batch_id": 7, "watermark": "2026-01-01T00:00:40Z"},
    {"condition": {"condition": "batch", "batch_id": "7"}},
    {"condition": AnyOf((BatchCommitted(99), WatermarkPassed(WATERMARK_MS)))},
    {"condition": Idle(0)},
    {"condition": {"condition": "stalled", "for_ms": "PT0S"}},
    {"condition": NextBatch(0)},
]
NOT_REACHED = [
    {"batch_id": 8},
    {"watermark": "2026-01-01T00:00:40.001Z"},
    {"offsets": {"0": {"logOffset": 6}}, "sources": {"0": "file"}},
    {"batch_id": 7, "watermark": "2030-01-01"},
    {"condition": {"condition": "next_batch"}},
    {"condition": Stalled(100 * YEAR_MS)},
    {"condition": BatchCommitted(7), "batch_id": 8},
]


# --- reached or not --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deferrable", [False, True])
@pytest.mark.parametrize("target", REACHED)
def test_a_reached_target_never_defers(checkpoint, target, deferrable):
    result = sensor(checkpoint, deferrable=deferrable, **target).execute({})
    assert result["batch_id"] == 7 and result["met"] and "status" not in result
    assert result["watermark_ms"] == WATERMARK_MS and result["query_id"]


@pytest.mark.parametrize("target", NOT_REACHED)
def test_a_non_deferrable_sensor_never_defers(checkpoint, target):
    with pytest.raises(AirflowSensorTimeout):
        sensor(checkpoint, deferrable=False, timeout=0.3, **target).execute({})


def test_a_poke_looks_once(checkpoint, monkeypatch):
    listed, ls = [], Store.ls
    monkeypatch.setattr(Store, "ls", lambda self, directory="": listed.append(directory) or ls(self, directory))
    waiting, begun = sensor(checkpoint, batch_id=8), 0
    for pokes in (1, 2, 3):
        assert waiting.poke({}) is False
        begun = begun or len(listed)  # the beginning of a wait reads what the query is
        assert [listed[0], *listed[begun:]] == ["commits"] * pokes


def test_a_batch_that_is_committed_while_it_pokes(checkpoint, tmp_path):
    commit = Path(checkpoint) / "commits/7"
    commit.rename(tmp_path / "7")
    waiting = sensor(checkpoint, batch_id=7)
    assert waiting.poke({}) is False, "a planned batch does not count"
    shutil.copy(tmp_path / "7", commit)
    poked = waiting.poke({})
    assert isinstance(poked, PokeReturnValue) and poked.is_done and poked.xcom_value["batch_id"] == 7


def test_a_checkpoint_that_does_not_exist_yet_is_waited_for(tmp_path):
    deferred(sensor(str(tmp_path / "later"), batch_id=0, deferrable=True))
    assert sensor(str(tmp_path / "later"), batch_id=0).poke({}) is False


@pytest.mark.parametrize(("arguments", "message"), [
    ({}, "no condition is given"), ({"batch_id": "five"}, "five"), ({"watermark": "soon"}, "is not a time"),
    ({"watermark": datetime(2026, 1, 1)}, "no time zone"), ({"offsets": "{"}, "wait"),
    ({"offsets": {"0": 5}}, "type is not known"), ({"offsets": {"7": 5}}, "no source '7'"),
    ({"offsets": {"0": 5}, "sources": {"0": "nokind"}}, "unknown source type"),
    ({"condition": {"condition": "bach"}}, "not a condition"), ({"condition": SourceEndReached()}, "no source was declared"),
    ({"batch_id": 99, "trigger": "now"}, "trigger must be one of"),
    ({"batch_id": 99, "source_options": {"0.maxOffsets": 1}}, "source_options: .* no option of a source"),
    ({"batch_id": 99, "trigger": "once", "sources": {"0": "kakfa:x"}}, "is not a source"),
    ({"batch_id": 99, "deadline": "soon"}, "deadline: 'soon' is not a time"),
    ({"batch_id": 99, "deadline": datetime(2026, 1, 1)}, "deadline: .* no time zone"),
])  # fmt: skip
def test_arguments_that_make_no_sense_fail_at_once(checkpoint, arguments, message):
    for deferrable in (False, True):
        with pytest.raises(AirflowFailException, match=message):
            sensor(checkpoint, deferrable=deferrable, **arguments).execute({})


@pytest.mark.parametrize("deferrable", [False, True])
def test_a_damaged_checkpoint_fails_at_once(checkpoint, deferrable):
    (Path(checkpoint) / "offsets/7").write_bytes(b"")
    with pytest.raises(AirflowFailException, match="INCOMPLETE_LOG_FILE: .*offsets/7"):
        sensor(checkpoint, watermark=5, deferrable=deferrable).execute({})


@pytest.mark.parametrize("change", ["replaced", "rolled back"])
def test_it_fails_at_once_when_the_target_cannot_come_any_more(checkpoint, change):
    waiting = sensor(checkpoint, batch_id=9)
    assert waiting.poke({}) is False
    if change == "rolled back":
        (Path(checkpoint) / "commits/7").unlink()
    else:
        (Path(checkpoint) / "metadata").write_text(json.dumps({"id": "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"}))
        (Path(checkpoint) / "commits/7").unlink()
        (Path(checkpoint) / "commits/7").write_text("v1\n{}")
    with pytest.raises(AirflowFailException, match="WAIT_LOST"):
        waiting.poke({})


# --- deferring -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", NOT_REACHED)
def test_a_deferrable_sensor_defers_with_all_that_the_trigger_needs(checkpoint, target):
    before_ms = int(time.time() * 1000)
    defers = deferred(sensor(checkpoint, deferrable=True, checkpoint_conn_id=None, **target))
    path, arguments = defers.trigger.serialize()
    assert path == "airflow_provider_ckpt.triggers.checkpoint.CheckpointProgressTrigger"
    assert arguments["checkpoint"] == checkpoint and arguments["poke_interval"] == 0.1
    assert before_ms + 1000 <= arguments["deadline_ms"] <= before_ms + 60_000, "wall clock: it survives a restart"
    assert arguments["start"]["batch_id"] == 7, "where the query stood when the worker looked"
    assert CheckpointProgressTrigger(**json.loads(json.dumps(arguments))).serialize()[1] == json.loads(
        json.dumps(arguments)
    )
    assert defers.method_name == "execute_complete"


def test_every_parameter_reaches_the_trigger(checkpoint, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "checkpoint"}))
    ends = SimpleNamespace(end_at=lambda at_ms, progress, slack=0: BatchCommitted(99))
    monkeypatch.setattr(CheckpointHook, "source_ends", lambda *_: ends)
    monkeypatch.setattr(CheckpointHook, "foresight", lambda *_: None)
    waiting = sensor(
        checkpoint,
        batch_id=8,
        condition=LagAtMost(lag_ms=5),
        sources={"0": "kafka:host:9092"},
        source_options={"0.minOffsetsPerTrigger": 5},
        trigger="processingTime",
        kafka_conn_id="broker",
        checkpoint_conn_id="lake",
        poke_interval=7.5,
        timeout=3600,
        deadline="2020-01-01T00:00:00Z",
        deferrable=True,
    )
    _, arguments = deferred(waiting).trigger.serialize()
    start = arguments.pop("start")
    assert start["query_id"] and start["batch_id"] == 7 and start["committed_at_ms"]
    assert condition_from_dict(arguments.pop("condition")).conditions == (BatchCommitted(8), LagAtMost(lag_ms=5))
    assert arguments == {
        "checkpoint": checkpoint,
        "every": "batch",
        "timezone": "UTC",
        "sources": {"0": "kafka:host:9092"},
        "source_options": {"0.minOffsetsPerTrigger": 5},
        "trigger": "processingTime",
        "kafka_conn_id": "broker",
        "checkpoint_conn_id": "lake",
        "storage_options": None,
        "kafka_options": None,
        "kafka_clusters": None,
        "query": None,
        "query_file": None,
        "poke_interval": 7.5,
        "deadline_ms": 1_577_836_800_000,
    }


def test_now_is_when_the_worker_looked(checkpoint):
    before_ms = int(time.time() * 1000)
    trigger = deferred(sensor(checkpoint, deferrable=True, condition=NextBatch())).trigger
    assert before_ms <= trigger.condition["after_ms"] <= int(time.time() * 1000)


def test_a_storage_that_is_away_defers_and_the_trigger_begins(checkpoint, monkeypatch):
    def away(self, location):
        raise StoreUnavailableError("away", location=location)

    monkeypatch.setattr(CheckpointHook, "store", away)
    before_ms = int(time.time() * 1000)
    trigger = deferred(sensor(checkpoint, deferrable=True, condition=NextBatch())).trigger
    assert trigger.start is None and trigger.condition["after_ms"] >= before_ms, "now is the same for all that follows"
    with pytest.raises(AirflowException) as failed:
        sensor(checkpoint, batch_id=7).poke({})
    assert not isinstance(failed.value, AirflowFailException), "another try can help"


# --- deadlines -------------------------------------------------------------------------------------------------------


def test_a_poke_after_the_deadline_is_the_last(checkpoint):
    for deadline in ("2020-01-01", 1_577_836_800_000, datetime(2020, 1, 1, tzinfo=UTC)):
        with pytest.raises(AirflowSensorTimeout, match="deadline 2020|deadline 1577836800000"):
            sensor(checkpoint, batch_id=8, deadline=deadline).poke({})
        assert sensor(checkpoint, batch_id=7, deadline=deadline).poke({}), "what is reached is reached"
    assert sensor(checkpoint, batch_id=8, deadline="2999-01-01").poke({}) is False


def test_the_earlier_of_deadline_and_timeout_counts(checkpoint):
    now_ms = time.time() * 1000
    by_timeout = deferred(sensor(checkpoint, batch_id=8, deferrable=True, deadline="2999-01-01", timeout=60))
    assert by_timeout.trigger.deadline_ms == pytest.approx(now_ms + 60_000, abs=30_000)
    without = deferred(sensor(checkpoint, batch_id=8, deferrable=True, deadline="", timeout=timedelta(hours=1)))
    assert without.trigger.deadline_ms == pytest.approx(now_ms + 3_600_000, abs=30_000)
    assert sensor(checkpoint, batch_id=8)._deadline_ms() == NEVER_MS


# --- rescheduling ----------------------------------------------------------------------------------------------------


class TaskState:
    """What Airflow 3.3 gives a task to remember in: JSON, by key."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def get(self, key: str, default: object = None) -> object:
        return json.loads(self.kept[key]) if key in self.kept else default

    def set(self, key: str, value: object) -> None:
        self.kept[key] = json.dumps(value)


def rescheduled(checkpoint: str, memory: TaskState | None, try_number: int = 1, **arguments: object) -> object:
    """A poke in a process of its own."""
    context = {"ti": SimpleNamespace(try_number=try_number), "task_state_store": memory}
    return sensor(checkpoint, mode="reschedule", **arguments).poke(context)


def test_in_reschedule_mode_it_remembers_where_it_began(checkpoint):
    memory = TaskState()
    assert rescheduled(checkpoint, memory, batch_id=9) is False
    (Path(checkpoint) / "commits/7").unlink()
    with pytest.raises(AirflowFailException, match="WAIT_LOST"):
        rescheduled(checkpoint, memory, batch_id=9)
    assert rescheduled(checkpoint, memory, try_number=2, batch_id=9) is False, "another try begins anew"


def test_in_reschedule_mode_now_stays_what_it_was(checkpoint):
    memory = TaskState()
    assert rescheduled(checkpoint, memory, condition=NextBatch()) is False
    (kept,) = memory.kept.values()
    after_ms = json.loads(kept)["condition"]["after_ms"]
    assert after_ms
    assert rescheduled(checkpoint, memory, condition=NextBatch()) is False
    assert memory.kept == {"wait-1": kept}


def test_without_a_memory_a_target_that_means_now_is_refused_in_reschedule_mode(checkpoint):
    with pytest.raises(AirflowFailException, match="from 3.3 on; use deferrable=True"):
        rescheduled(checkpoint, None, condition=NextBatch())
    assert rescheduled(checkpoint, None, batch_id=8) is False


# --- the end of a deferral -------------------------------------------------------------------------------------------


def test_the_end_of_a_deferral(checkpoint):
    waiting = sensor(checkpoint, batch_id=8, deferrable=True)
    reached = {"status": "reached", "batch_id": 8, "watermark_ms": 5}
    assert waiting.execute_complete({}, reached) == {"format_version": 1, "batch_id": 8, "watermark_ms": 5}
    with pytest.raises(AirflowSensorTimeout):
        waiting.execute_complete({}, {"status": "timeout", "batch_id": 7, "watermark_ms": 5})
    error = {
        "status": "error",
        "code": "X",
        "message": "m",
        "location": "l",
        "name": "n",
        "hint": "h",
        "batch_id": None,
    }
    with pytest.raises(AirflowFailException, match=r"X: l/n: m\. h"):
        waiting.execute_complete({}, {**error, "retryable": False})
    with pytest.raises(AirflowException):
        waiting.execute_complete({}, {**error, "retryable": True})


# --- what will never be met ------------------------------------------------------------------------------------------
HOPELESS = {
    "a watermark for a query that has none": ("file-to-parquet-12", {"watermark": "2026-01-01"}, "watermark"),
    "a location that does not exist": (None, {"batch_id": 1}, "does not exist"),
}


@pytest.mark.parametrize("deferrable", [True, False])
@pytest.mark.parametrize(("case", "arguments", "said"), HOPELESS.values(), ids=HOPELESS)
def test_what_will_never_be_met_fails_fast_and_is_waited_for_otherwise(
    golden, tmp_path, capsys, case, arguments, said, deferrable
):
    location = str(golden(case)) if case else str(tmp_path / "nope")
    fast = sensor(location, fail_fast=True, deferrable=deferrable, **arguments)
    with pytest.raises(AirflowFailException, match="will not be met in the present state of the checkpoint") as refused:
        fast.execute({})
    assert said in str(refused.value)
    slow = sensor(location, deferrable=True, **arguments)
    deferred(slow)
    assert said in capsys.readouterr().out


def test_what_can_still_be_met_is_waited_for_with_fail_fast(checkpoint):
    deferred(sensor(checkpoint, batch_id=8, fail_fast=True, deferrable=True))


# --- the way of an entry ---------------------------------------------------------------------------------------------


def test_the_way_from_an_offset_entry_to_the_answer_is_short(checkpoint):
    """The functions that hand on what offsets/7 says, from the door of the storage to the answer of a poke."""
    data = (Path(checkpoint) / "offsets/7").read_bytes()
    waiting = sensor(checkpoint, watermark=WATERMARK_MS)

    def is_it(value: object) -> bool:
        """The entry as bytes, decoded, as the progress of the query, as the end of the wait, as the answer."""
        if isinstance(value, PokeReturnValue):
            return value.is_done
        if isinstance(value, dict):
            return value.get("watermark_ms") == WATERMARK_MS
        return value == data or isinstance(value, OffsetSeq | Progress | Reached)

    way = returning(is_it, lambda: waiting.poke({}))
    way = way[way.index("storage.store.Store.read") :]
    assert {"codec.decode", "waiting.wait.Waiting.step"} < {*way} and way[-1].endswith(".poke")
    assert len(way) <= MOST, way


class Beside:
    """A task instance, beside one that submits the query and is in some state."""

    dag_id, run_id = "d", "r"

    def __init__(self, state: str | None) -> None:
        self.state = state

    def get_task_states(self, *, dag_id: str, task_ids: list[str], run_ids: list[str]) -> dict[str, Any]:
        assert (dag_id, task_ids, run_ids) == ("d", ["restart"], ["r"])
        return {"r": {"restart": self.state}}

    def xcom_push(self, **_: object) -> None: ...


@pytest.mark.parametrize("state", ["failed", "upstream_failed"])
def test_a_wait_fails_with_the_task_that_submits_the_query(checkpoint, state):
    waiting = sensor(checkpoint, batch_id=99, fails_with="restart", deferrable=False)
    for going in (None, "running", "up_for_retry", "success"):
        assert waiting.poke({"ti": Beside(going)}) is False
    with pytest.raises(AirflowFailException, match=r"the task restart has failed, so no more is waited for.*batch 99"):
        waiting.poke({"ti": Beside(state)})
    reached = sensor(checkpoint, batch_id=0, fails_with=["restart"], deferrable=False).poke({"ti": Beside(state)})
    assert reached.is_done, "what was committed counts"


def test_a_triggerer_cannot_ask_for_other_tasks(checkpoint):
    with pytest.raises(ValueError, match="fails_with needs deferrable=False"):
        sensor(checkpoint, batch_id=99, fails_with="restart", deferrable=True)
