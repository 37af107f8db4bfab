"""The parts in which Spark's state reader is asked to read all the state of a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata

STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


@dataclass(frozen=True, slots=True)
class StateRead:
    """A part of the state, and the options with which the state reader reads it.

    Args:
        operator_id: The stateful operator.
        operator: Spark's name of it.
        part: The state store, side of a join, or state variable; empty when the operator has one store alone.
        options: Options of the state reader, beside the batch.
    """

    operator_id: int
    operator: str
    part: str
    options: Mapping[str, str]

    @property
    def text(self) -> str:
        """This part of the state, in words."""
        part = f", {self.part}" if self.part else ""
        return f"the state of operator {self.operator_id} ({self.operator}{part})"


def state_reads(view: CheckpointView) -> tuple[StateRead, ...]:
    """Every part of the state, of the operators whose metadata was read."""
    return tuple(
        StateRead(operator_id, operator.operator_name, part, {"operatorId": str(operator_id), **options})
        for operator_id, operator in view.operators.items()
        for part, options in _parts(operator)
    )


def _parts(operator: OperatorStateMetadata) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The parts that the state reader reads one by one."""
    properties = json.loads(operator.operator_properties or "{}")
    if "stateVariables" in properties:
        for variable in properties["stateVariables"]:
            yield variable["stateName"], {"stateVarName": variable["stateName"]}
        if properties.get("timeMode", "NoTime") != "NoTime":
            yield "timers", {"readRegisteredTimers": "true"}
    elif operator.version >= 2 and operator.operator_name == "symmetricHashJoin":
        for side in ("left", "right"):
            yield side, {"joinSide": side}
    else:
        for store in operator.stores:
            yield ("", {}) if store.store_name == "default" else (store.store_name, {"storeName": store.store_name})


def state_format(commit: CommitMetadata) -> str:
    """The state checkpoint format that a commit was written in, as the session conf has it.

    The state reader does not find out by itself that the names of state files hold ids, nor does a repartition.
    """
    return "2" if commit.state_unique_ids else "1"
