"""A fleet that is checked, with an alert about what is new."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, Variable, task

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import dag_of, locations_of
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.hooks.query_file import as_opened

if TYPE_CHECKING:
    from airflow_provider_ckpt import api

#: The Airflow Variable with what the runs before have found.
KNOWN = "ckpt_validation_known"
#: An alert names so many new findings, and counts the others.
MOST_NEW = 50

log = logging.getLogger("airflow.task")


def validation_dag(dag_id: str = "checkpoint_validation", *, roots: Sequence[str] = (), **dag: Any) -> DAG:
    """The DAG that checks every checkpoint under some roots each hour, and fails when there is something new.

    Args:
        dag_id: Its id.
        roots: The param ``roots`` of a run that does not give it.
        **dag: Arguments of the DAG.
    """
    declared = {
        "roots": params.roots(roots),
        "queries": params.QUERIES,
        "checkpoint_conn_id": params.CONN_ID,
        "deep": params.flag("Read everything: state chains, source logs, checksums"),
        "depth": params.depth(),
        "group_size": Param(50, type="integer", minimum=1, description="How many checkpoints a task checks"),
    }
    again = {"retries": 2, "retry_delay": timedelta(minutes=1)}
    plain = {"schedule": "@hourly", "render_template_as_native_obj": False}
    with dag_of(dag_id, declared, **{**plain, **dag}) as made:
        groups = task(**again)(find_groups)()
        checked = task(**again)(check_group).expand(group=groups)
        reported = task(trigger_rule="none_failed")(report)(checked)
        task(alert_on_new_findings)(reported)
    return made


def find_groups(params: Any = None) -> list[dict[str, Any]]:
    """Groups of checkpoints: a root, and names below it."""
    from airflow_provider_ckpt import api

    if not roots_of(params):
        raise AirflowFailException("There are no roots: set the param roots or queries, or roots of validation_dag.")
    hook = CheckpointHook(params["checkpoint_conn_id"])
    groups = []
    for root in roots_of(params):
        with airflow_errors():
            store = hook.store(root)
            found = api.find_checkpoints([store], depth=params["depth"])
            live = [item for item in found if not (isinstance(item, api.FleetRow) and item.replaced_by)]
            names = [item.location.removeprefix(store.location).strip("/") for item in live]
        log.info("%s: %d checkpoints", store.location, len(names))
        size = params["group_size"]
        groups += [{"root": root, "names": names[start : start + size]} for start in range(0, len(names), size)]
    return groups


def roots_of(params: Any) -> list[str]:
    """The roots of a run: directories that are searched, and the checkpoints of queries."""
    with airflow_errors():
        return [*as_opened(params["roots"]), *locations_of(params["queries"])]


def check_group(group: dict[str, Any], params: Any = None) -> list[dict[str, Any]]:
    """What is known of each checkpoint of a group."""
    from airflow_provider_ckpt import api

    with airflow_errors():
        root = CheckpointHook(params["checkpoint_conn_id"]).store(group["root"])
        found = (api.Found(root.child(name) if name else root) for name in group["names"])
        return [row.to_dict() for row in api.judge_checkpoints(found, deep=params["deep"])]


def report(groups: Any, params: Any = None) -> dict[str, Any]:
    """One report of all groups, and what is new in it."""
    from airflow_provider_ckpt import api

    rows = [api.row_from_dict(fields) for group in groups for fields in group]
    troubled = [row for row in rows if row.worst]
    unknown = sorted({name for row in rows for name in row.unknown})
    log.info("\n%s", api.render(api.fleet_tables(troubled)) if troubled else "No findings.")
    log.info("Not judged: %s.", ", ".join(unknown) or "nothing that is in the checkpoints")
    known = known_so_far()
    hook = CheckpointHook(params["checkpoint_conn_id"])
    roots = [hook.store(root).location for root in roots_of(params)]
    new = [sentence for row in known.news(rows) for sentence in sentences(row)]
    log.info("%d new findings\n%s", len(new), "\n".join(new))
    return {
        "checkpoints": len(rows),
        "unknown": unknown,
        "findings": sum(len(row.findings) for row in rows),
        "unreadable": sum(row.error is not None for row in rows),
        "new": new[:MOST_NEW],
        "new_count": len(new),
        "known": known.after(rows, roots).to_json(),
    }


def known_so_far() -> api.Known:
    """What the run before this one has left."""
    from airflow_provider_ckpt import api

    text = Variable.get(KNOWN, default=None)
    try:
        return api.parse_known(text) if text else api.Known()
    except ValueError as error:
        raise AirflowFailException(f"The Variable {KNOWN} cannot be read ({error}): delete it.") from error


def sentences(row: api.FleetRow) -> list[str]:
    """A sentence for each thing that is wrong with a checkpoint."""
    errors = [f"{row.location} could not be checked: {row.error}"] if row.error else []
    return errors + [
        f"{row.location}: {item.severity} {item.code}, {item.name or 'the whole'}: {item.message}"
        for item in row.findings
    ]


def alert_on_new_findings(report: dict[str, Any]) -> str:
    """Remember what was found, and fail when some of it is new."""
    Variable.set(KNOWN, report["known"])
    if report["new"]:
        others = report["new_count"] - len(report["new"])
        more = [f"and {others} more, which the log of the task report has"] if others else []
        raise AirflowFailException("\n".join([f"{report['new_count']} new findings:", *report["new"], *more]))
    unknown = f"; not judged: {', '.join(report['unknown'])}" if report["unknown"] else ""
    return f"Nothing new in {report['checkpoints']} checkpoints{unknown}."
