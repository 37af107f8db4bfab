"""The query that a block is about, as its operators take it and as people read it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, TaskGroup

from airflow_provider_ckpt.dags import params


@dataclass(frozen=True)
class Subject:
    """A query.

    Attributes:
        name: As people read it: a text, or a template of one.
        arguments: What an operator or a sensor takes for it.
        checkpoint: Its location, where that is known when the DAG is parsed.
        may_have_engine: False where it is known then that no engine is declared of it.
    """

    name: str
    arguments: Mapping[str, Any]
    checkpoint: str | None = None
    may_have_engine: bool = True

    @property
    def key(self) -> str:
        """The name as the id of a task group may have it, which has no dots.

        Raises:
            ValueError: The name is a template, which is not known when ids are made.
        """
        if "{" in self.name:
            raise ValueError(f"the block of {self.name} needs a group_id: its query is not known when it is made")
        return re.sub(r"[^\w-]", "_", self.name.rstrip("/").rpartition("/")[2].replace(".", "__"))


#: The query of the params of a DAG run.
OF_PARAMS = Subject(
    "{{ params.query or params.checkpoint }}",
    params.arguments_of(*params.QUERY),
    "{{ params.checkpoint }}",
)


def subject_of(query: Any, **given: Any) -> Subject:
    """The query of the arguments of a block.

    Args:
        query: Its name in the query file, one of ``queries()``, or its checkpointLocation, which has a slash.
        **given: ``checkpoint``, ``checkpoint_conn_id`` and ``query_file``, as operators take them.

    Raises:
        TypeError: The query is no text, such as the argument of a mapped task group: a block is made as the file is
            parsed, and has the name in its ids.
    """
    name = getattr(query, "name", query)
    said = {key: value for key, value in given.items() if value is not None}
    unknown = said.keys() - {"checkpoint", "checkpoint_conn_id", "query_file"}
    if unknown:
        raise TypeError(f"a block takes no {min(unknown)}")
    if isinstance(name, str) and "/" in name:
        name, said = None, {"checkpoint": name, **said}
    shown = name if name is not None else said.get("checkpoint")
    if not isinstance(shown, str) or not shown:
        given_as = repr(query) if query is None or isinstance(query, int | str) else type(query).__name__
        raise TypeError(
            f"a block is of one query, a text that is known when the DAG is parsed, not {given_as:.60}; make a block "
            "for each of queries() in a loop, or map the operators alone, whose query may be an argument that is mapped"
        )
    arguments = said if name is None else {"query": name, **said}
    checkpoint = said.get("checkpoint") or getattr(query, "checkpoint", None)
    return Subject(shown, arguments, checkpoint, getattr(query, "engine", True) is not None)


def locations_of(names: Sequence[str]) -> list[str]:
    """The checkpoints of queries and flows by their names in Airflow's query file; opens no file for no names.

    Raises:
        CheckpointError: A name is none of the file, or the file or the storage of a pipeline cannot be read.
    """
    if not names:
        return []
    from airflow_provider_ckpt.hooks.query_file import read_file, with_flows

    file = with_flows(read_file(), names)
    return [file.named(name).checkpoint for name in names]


#: A rule of a user's ``default_args``, such as ``all_done``, would start a query whose stop has failed.
_RULE = {"trigger_rule": "all_success"}


class QueryGroup(TaskGroup):
    """A task group with the tasks of one query: what comes after it comes after its ``last`` task alone.

    Its other leaves are ways that were not taken, or a start that lasts as long as the query.
    """

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.default_args: dict[str, Any] = {**self.default_args, **_RULE}

    def get_leaves(self) -> Any:
        """The task after which the next one begins."""
        last = getattr(self, "last", None)
        return iter([last]) if last is not None else super().get_leaves()


def dag_of(dag_id: str, declared: Mapping[str, Any] | None, **dag: Any) -> DAG:
    """A DAG as the blocks need it; what is given wins."""
    made = {
        "schedule": None,
        "start_date": datetime(2026, 1, 1, tzinfo=UTC),
        "catchup": False,
        "max_active_runs": 1,
        "render_template_as_native_obj": True,
        "params": deepcopy(dict(declared or {})),  # a run of `dag.test` writes its values into them
        "tags": ["ckpt"],
    }
    rules = {"default_args": {**(dag.get("default_args") or {}), **_RULE}}
    return DAG(dag_id, **{**made, **dag, **rules})
