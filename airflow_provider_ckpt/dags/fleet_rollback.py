"""Many queries that go back with one approval: a rollback of all of them, and its undo."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt import api
from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.approval import approved_at, approved_by
from airflow_provider_ckpt.dags.steps import APPROVAL_TIMEOUT
from airflow_provider_ckpt.dags.subject import dag_of, locations_of
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.hooks.query_file import as_opened, configured_file, read_file, with_flows
from airflow_provider_ckpt.operators.changes.rollback import CheckpointRollbackOperator
from airflow_provider_ckpt.operators.changes.undo import CheckpointUndoOperator

#: Of a storage that does not answer, and of a worker that was killed: the next try goes on where it was.
AGAIN = {"retries": 2, "retry_delay": timedelta(seconds=30)}

PARAMS = {
    "bookmarks": params.optional(params.TEXT, "Directory with the bookmarks of the deploy, a file of each query"),
    "gates": Param(
        [],
        type="array",
        items={"type": "object"},
        description='Or: the gates that took them, such as {"dag_id": "pre_deploy_gate", "run_id": "…"}, task_id: gate',
    ),
    "queries": Param(
        [],
        type="array",
        items={"type": ["string", "object"]},
        description="Which queries go back; all that have a bookmark when empty. Each a location, a name in the query "
        "file, or an object with checkpoint and what is said of it: sink, sources, trigger, trim_sink_log, backup_root "
        "and to_before_deploy",
    ),
    "backup_root": params.optional(params.TEXT, "Where batches that were purged may be"),
    "skip_refused": params.flag("Leave alone what is refused, and roll back the others"),
    "checkpoint_conn_id": params.CONN_ID,
}
UNDO_PARAMS = {
    "run_id": Param(type="string", description="The run of checkpoint_fleet_rollback that is taken back"),
    "skip_refused": params.flag("Leave alone what is refused, and undo the others"),
    "checkpoint_conn_id": params.CONN_ID,
}

log = logging.getLogger("airflow.task")


# --- what goes back, and to what ---------------------------------------------------------------------------------


def find_bookmarked(ti: Any, params: Any) -> list[dict[str, Any]]:
    """The arguments of the rollback of each query."""
    hook = CheckpointHook(params["checkpoint_conn_id"])
    kept = [item for gate in params["gates"] for item in left_by(ti, gate)]
    if params["bookmarks"]:
        kept += api.read_bookmarks(hook.store(as_opened(params["bookmarks"])))
    matched = api.match_queries(kept, located(params["queries"]), hook.store)
    if not matched.queries and not matched.refused:
        raise AirflowFailException("There are no queries: set the params bookmarks, gates or queries.")
    keep_rest(ti, matched)
    given = {"backup_root": params["backup_root"], "trim_sink_log": False}
    return [{**given, **query, "checkpoint": hook.url(query["checkpoint"])} for query in matched.queries]


def located(queries: Sequence[Any]) -> list[dict[str, Any]]:
    """The queries with their checkpoints. Where Airflow has a query file, what has no slash is a name in it."""
    said = [dict(query) if isinstance(query, dict) else {"checkpoint": query} for query in as_opened(queries)]
    given = [item.get("checkpoint") for item in said] if configured_file() else []
    names = [text for text in given if isinstance(text, str) and text and "/" not in text]
    known = dict(zip(names, locations_of(names), strict=True))
    return [{**item, "checkpoint": known.get(str(item.get("checkpoint")), item.get("checkpoint"))} for item in said]


def left_by(ti: Any, gate: dict[str, str]) -> list[api.KeptBookmark]:
    """The bookmarks of the gates of another run; of a mapped task one for each query."""
    named = {"dag_id": "pre_deploy_gate", "task_id": "gate", **gate}
    if not named.get("run_id") or len(named) != 3:
        raise AirflowFailException(f"A gate has a dag_id, a run_id and a task_id, and nothing else, not {gate}.")
    origin = f"{named['dag_id']}/{named['run_id']}/{named['task_id']}"
    found = ti.xcom_pull(dag_id=named["dag_id"], run_id=named["run_id"], task_ids=named["task_id"], key="bookmark")
    if not found:
        return [api.KeptBookmark(origin, None, "This task has left no bookmark.")]
    return [api.KeptBookmark.of(origin, item) for item in (found if isinstance(found, list) else [found])]


def find_rolled_back(ti: Any, params: Any, of: str) -> list[dict[str, Any]]:
    """The arguments of the undo of each rollback of a run that was begun, and is not undone."""
    run = {"dag_id": of, "run_id": params["run_id"]}
    approved, plans = (ti.xcom_pull(**run, task_ids="weigh", key=key) for key in ("return_value", "plans"))
    if approved is None or plans is None:
        raise AirflowFailException(f"No run {params['run_id']} of {of} has approved plans.")
    conn_id = params["checkpoint_conn_id"]
    found = api.find_undoable(plans, CheckpointHook(conn_id).store, records_of(conn_id))
    keep_rest(ti, found)
    return list(found.queries)


def records_of(conn_id: str | None) -> Callable[[str], Any]:
    """What opens the records of a checkpoint where Airflow's query file says that they are; None beside it."""
    if not configured_file():
        return lambda _: None
    file = with_flows(read_file())
    opened = CheckpointHook(conn_id or file.storage.conn_id, file.storage.options).store

    def open_records(location: str) -> Any:
        query = file.find(location)
        return None if query is None or query.undo is None else opened(query.undo)

    return open_records


def keep_rest(ti: Any, matched: Any) -> None:
    """Keep for ``weigh`` what is not planned."""
    ti.xcom_push("refused", [[item.what, item.reason] for item in matched.refused])
    ti.xcom_push("left_out", matched.left_out)


# --- one approval for all of them --------------------------------------------------------------------------------


def of_each(ti: Any, task_id: str, count: int, key: str = "return_value") -> list[Any]:
    """What each of some mapped tasks has left, or None."""
    return ti.xcom_pull(task_ids=task_id, key=key, map_indexes=list(range(count))) if count else []


def approvable(query: api.PlannedQuery) -> dict[str, Any]:
    """What the task that carries out a plan has to know of it."""
    told = query.told
    known = {"index": query.index, "plan_id": told["plan_id"], "accept_sink": told["accept_sink"]}
    return {"checkpoint": query.checkpoint, **known}


def weigh(ti: Any = None, params: Any = None) -> list[str]:
    """The locations of the plans with steps, which ``plans`` has more of."""
    asked = ti.xcom_pull(task_ids="find", key="queries")
    if asked is None:
        raise AirflowFailException("Nothing was planned: the task find says why. Nothing was done.")
    planned, refused = [], [api.Refusal(*item) for item in ti.xcom_pull(task_ids="find", key="refused")]
    found = zip(asked, of_each(ti, "plan", len(asked)), of_each(ti, "plan", len(asked), "error"), strict=True)
    for index, (query, told, error) in enumerate(found):
        if told is not None:
            planned.append(api.PlannedQuery(query["checkpoint"], index, told))
        else:
            reason = api.reason_of(error) or f"The log of plan {index} says why it was not planned."
            refused.append(api.Refusal(query["checkpoint"], reason))
    joint = api.JointPlan(planned, refused, ti.xcom_pull(task_ids="find", key="left_out"))
    log.info("\n%s", "\n".join(joint.lines()))
    ti.xcom_push("approval", joint.text())
    ti.xcom_push("plans", [approvable(query) for query in joint.to_do])
    if refused and not params["skip_refused"]:
        raise AirflowFailException(
            f"Nothing was done, as {len(refused)} queries are refused. Mend them and clear find, or leave them "
            f"alone with skip_refused:\n{api.refusal_text(refused)}"
        )
    return [query.checkpoint for query in joint.to_do]


def summary(done: str, ti: Any = None) -> dict[str, Any]:
    """Which queries are back; fails when one is not that was approved."""
    approved = ti.xcom_pull(task_ids="weigh")
    if approved is None:
        raise AirflowFailException("Nothing was done: the task weigh says why.")
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=["approve", done], run_ids=[ti.run_id])[ti.run_id]
    if approved and states.get(done) == "skipped":
        raise AirflowSkipException(f"Nothing was done: the plans of {len(approved)} queries were rejected.")
    if approved and states.get("approve") != "success":
        raise AirflowFailException("Nothing was done: nobody has approved.")
    rows = ti.xcom_pull(task_ids="weigh", key="plans")
    ended = api.outcomes(rows, of_each(ti, done, len(rows)), of_each(ti, done, len(rows), "error"))
    back = [{"checkpoint": item.checkpoint, "plan_id": item.plan_id} for item in ended if not item.problem]
    if len(back) < len(ended):
        raise AirflowFailException(api.trouble_text(ended, done))
    log.info("%s queries are back.", len(back))
    return {"back": back}


def asks(to_do: list[str]) -> bool:
    """Nobody is asked when every query is there already."""
    return bool(to_do)


def taken(task_id: str, key: str, name: str) -> str:
    """The template of an argument of one mapped task: what another task has left for it, as it is.

    Airflow renders what is mapped as templates, and a bookmark is what others have written; what a template gives is
    rendered no more. As a literal of Python a text of digits stays a text.
    """
    value = f"ti.xcom_pull(task_ids='{task_id}', key='{key}')[ti.map_index].get('{name}')"
    return f"{{% set value = {value} %}}{{{{ literal(value) if value is string else value }}}}"


def fleet_rollback_dag(dag_id: str = "checkpoint_fleet_rollback", **dag: Any) -> DAG:
    """The DAG that rolls the queries of its params back to before a deploy."""
    said = ("to_before_deploy", "backup_root", "sink", "sources", "trigger", "trim_sink_log")
    rolled_back = ("rollback", CheckpointRollbackOperator, said, find_bookmarked)
    return _fleet_dag(dag_id, *rolled_back, PARAMS, to="before the deploy", dag=dag)


def fleet_undo_dag(dag_id: str = "checkpoint_fleet_undo", *, of: str = "checkpoint_fleet_rollback", **dag: Any) -> DAG:
    """The DAG that takes the rollbacks of a run of ``of`` back."""

    def finds(ti: Any, params: Any) -> list[dict[str, Any]]:
        return find_rolled_back(ti, params, of)

    undone = ("undo", CheckpointUndoOperator, ("undoes",), finds)
    return _fleet_dag(dag_id, *undone, UNDO_PARAMS, to="after the deploy", dag=dag)


def _fleet_dag(
    dag_id: str,
    task_id: str,
    operator: Any,
    arguments: tuple[str, ...],
    finds: Callable[[Any, Any], list[dict[str, Any]]],
    params: Any,
    *,
    to: str,
    dag: Any,
) -> DAG:
    """A DAG that plans a change of many queries, asks once, and carries the plans out."""
    common = {
        "checkpoint_conn_id": "{{ params.checkpoint_conn_id }}",
        "map_index_template": "{{ task.checkpoint[-200:] }}",
        **AGAIN,
    }

    def find(ti: Any = None, params: Any = None) -> list[str]:
        """The locations of the queries, whose arguments ``queries`` has."""
        with airflow_errors():
            queries = finds(ti, params)
        ti.xcom_push("queries", queries)
        return [query["checkpoint"] for query in queries]

    with dag_of(dag_id, params, **{"user_defined_macros": {"literal": ascii}, **dag}) as made:
        each = {name: taken("find", "queries", name) for name in ("checkpoint", *arguments)}
        found = task(**AGAIN)(find)()
        plan = operator.partial(task_id="plan", plan_only=True, **each, **common).expand(doc=found)
        weighed = task(trigger_rule="all_done")(weigh)()
        asked = task.short_circuit(ignore_downstream_trigger_rules=False)(asks)(weighed)
        approve = ApprovalOperator(
            task_id="approve",
            subject=f"Take {{{{ ti.xcom_pull(task_ids='weigh') | length }}}} queries back to {to}?",
            body="{{ ti.xcom_pull(task_ids='weigh', key='approval') }}",
            response_timeout=APPROVAL_TIMEOUT,
        )
        carried_out = operator.partial(
            task_id=task_id,
            checkpoint=taken("weigh", "plans", "checkpoint"),
            accept_sink=taken("weigh", "plans", "accept_sink"),
            plan="{{ ti.xcom_pull(task_ids='plan', key='plan', "
            "map_indexes=ti.xcom_pull(task_ids='weigh', key='plans')[ti.map_index]['index']) }}",
            approved_by=approved_by("approve"),
            approved_at=approved_at("approve"),
            query_is_stopped=True,
            **common,
        ).expand(doc=weighed)
        plan >> weighed >> asked >> approve >> carried_out >> task(trigger_rule="all_done")(summary)(task_id)
    return made
