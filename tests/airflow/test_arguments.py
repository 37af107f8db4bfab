"""What operators and the sensor refuse of their arguments: for good, and with nothing done."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators import checkpoint as operators
from airflow_provider_ckpt.operators.base import texts_by_text, texts_of
from airflow_provider_ckpt.sensors.checkpoint import (
    CheckpointDataLossSensor,
    CheckpointLagSensor,
    CheckpointProgressSensor,
)
from tests.operators.parameters import parameters

pytestmark = pytest.mark.airflow

SENSORS = (CheckpointProgressSensor, CheckpointLagSensor, CheckpointDataLossSensor)
TASKS = (*(getattr(operators, name) for name in operators.__all__), *SENSORS)
CONTEXT = {"ti": SimpleNamespace(xcom_push=lambda **_: None, dag_id="d", run_id="r", task_id="t", map_index=-1)}


def flags() -> Iterator[Any]:
    """Every parameter of every task that takes a bool, as its signature says."""
    for task in TASKS:
        for name, parameter in parameters(task).items():
            if "bool" in str(parameter.annotation) and parameter.annotation != "Mapping[str, str | int | bool] | None":
                yield pytest.param(task, name, id=f"{task.__name__}-{name}")


def required(task: Any, place: Path) -> dict[str, Any]:
    """Arguments with which a task is made."""
    given: dict[str, Any] = {
        "task_id": "t",
        "backup_root": str(place / "backups"),
        "keep_last": 1,
        "group": "g",
        "source": "0=kafka:localhost:9092",
        "sources": {"0": "rate"},
        "most": 1,
        "will_lose_data_within": "1h",
        "fork": str(place / "fork"),
        "shadow_sink": "noop",
        "batches": {
            "first_batch": 1,
            "last_batch": 1,
            "stateful": False,
            "offsets": {},
            "watermark_ms": 0,
            "shadow_sink": "",
        },
        **({"sink": "kafka"} if task is operators.CheckpointCompareOperator else {}),
        "checkpoint_roots": str(place / "checkpoints"),
        "index": str(place / "index"),
    }
    taken = inspect.signature(task.__init__).parameters
    own = {name: value for name, value in given.items() if name in taken or name == "task_id"}
    of_many = ("Index", "Prune", "Queries", "Verify")
    return (
        own
        if task.__name__.startswith(tuple(f"Checkpoint{name}" for name in of_many))
        else {**own, "checkpoint": str(place / "checkpoint")}
    )


def carry_out(task: Any, place: Path, **arguments: Any) -> Any:
    """Make a task with arguments and execute it."""
    return task(**{**required(task, place), **arguments}).execute(CONTEXT)


@pytest.mark.parametrize("given", ["false!", "", 1, 0, None], ids=repr)
@pytest.mark.parametrize(("task", "name"), flags())
def test_a_flag_is_true_or_false_and_nothing_else(tmp_path, task, name, given):
    with pytest.raises(AirflowFailException, match=f"{name} must be True or False"):
        carry_out(task, tmp_path, **{name: given})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("task", "name"), flags())
def test_the_text_of_a_flag_is_no_flag_but_where_a_template_makes_it(tmp_path, task, name):
    if name in getattr(task, "template_fields", ()):
        with pytest.raises(AirflowFailException, match="exactly one of|does not exist"):  # what comes next
            carry_out(task, tmp_path, **{name: "False"})
    else:
        with pytest.raises(AirflowFailException, match=f"{name} must be True or False"):
            carry_out(task, tmp_path, **{name: "False"})


WRONG = {
    "a checkpoint that is a number": (operators.CheckpointCheckOperator, {"checkpoint": 5}),
    "a checkpoint that is nothing": (operators.CheckpointBackupOperator, {"checkpoint": None}),
    "a negative grace": (operators.CheckpointPruneOperator, {"grace": -5}),
    "a grace of ages": (operators.CheckpointPruneOperator, {"grace": 10**12}),
    "a backup that is a number, to verify": (operators.CheckpointVerifyOperator, {"backup_id": 5}),
    "a backup that is a number": (operators.CheckpointRestoreOperator, {"backup_id": 5}),
    "sinks that are a number": (operators.CheckpointRestoreOperator, {"sinks": 5}),
    "a sink that is a number": (operators.CheckpointRestoreOperator, {"sinks": [5]}),
    "an undo root that is a number": (operators.CheckpointRollbackOperator, {"to_batch": 1, "undo_root": 5}),
    "a backup root that is a number": (operators.CheckpointRollbackOperator, {"to_batch": 1, "backup_root": 5}),
    "the sink that is a number": (operators.CheckpointRollbackOperator, {"to_batch": 1, "sink": 5}),
    "a bookmark of text": (
        operators.CheckpointContinuityOperator,
        {"bookmark": {"query_id": None, "batch_id": "7"}},
    ),
    "a bookmark of a version that is no number": (
        operators.CheckpointContinuityOperator,
        {"bookmark": {"format_version": True, "query_id": None, "batch_id": 7}},
    ),
    "a fork that is a number": (operators.CheckpointStageOperator, {"fork": 5}),
    "a last batch that is a word": (operators.CheckpointStageOperator, {"last_batch": "newest"}),
    "shadow arguments that are a number": (operators.CheckpointStageOperator, {"shadow_args": 5}),
    "a shadow sink that is none": (operators.CheckpointStageOperator, {"shadow_sink": "somewhere"}),
    "a range that is a number": (operators.CheckpointCompareOperator, {"batches": 5}),
    "a range from nowhere": (operators.CheckpointCompareOperator, {"batches": {"first_batch": None, "last_batch": 1}}),
    "a difference that is ignored": (operators.CheckpointCompareOperator, {"on_difference": "ignore"}),
    "a shadow sink that is the live one": (operators.CheckpointCompareOperator, {"shadow_sink": "kafka"}),
    "sinks of a switch that are a number": (operators.CheckpointSwitchOperator, {"sinks": 5}),
    "an earlier judgement that is a number": (operators.CheckpointSwitchOperator, {"unchanged_since": 5}),
    "a probe that does not know": (operators.CheckpointSwitchOperator, {"query_is_stopped": lambda: None}),
    "a condition that is a number": (CheckpointProgressSensor, {"condition": 5}),
    "sources that are a text": (CheckpointLagSensor, {"sources": "0=rate"}),
    "sources that are a list, of a loss": (CheckpointDataLossSensor, {"sources": ["kafka"]}),
    "a lag of a text": (CheckpointLagSensor, {"most": "many"}),
    "an age that is no duration": (CheckpointLagSensor, {"max_age": "soon"}),
    "an age of months": (CheckpointLagSensor, {"max_age": "P1M"}),
    "a loss at no time": (CheckpointDataLossSensor, {"will_lose_data_within": "soon"}),
    "a gate at no time": (operators.CheckpointGateOperator, {"will_lose_data_within": "soon"}),
    "options that are a text": (CheckpointDataLossSensor, {"source_options": "failOnDataLoss"}),
}


@pytest.mark.parametrize(("task", "given"), WRONG.values(), ids=WRONG)
def test_what_is_of_another_type_fails_for_good_with_nothing_done(tmp_path, task, given):
    with pytest.raises(AirflowFailException):
        carry_out(task, tmp_path, **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["x", ["x"], {"a": 5}], ids=repr)
def test_paths_are_rewritten_from_text_to_text(given):
    with pytest.raises(CheckpointError, match="rewrite_paths must be a mapping from text to text"):
        texts_by_text("rewrite_paths", given)


def test_one_sink_as_text_is_one_sink():
    assert texts_of("sinks", "kafka") == ("kafka",) == texts_of("sinks", ["kafka"])
    assert (
        texts_of("sinks", None) == () == texts_of("sinks", "") == texts_of("sinks", "None") == texts_of("sinks", "[]")
    )
    for rendered in ("['file:/a', 'kafka']", '["file:/a", "kafka"]', "('file:/a', 'kafka')", "[file:/a, kafka]"):
        assert texts_of("sinks", rendered) == ("file:/a", "kafka")
    assert texts_of("downstream", "/data/[a]") == ("/data/[a]",)
