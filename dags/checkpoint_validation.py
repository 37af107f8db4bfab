"""Check every checkpoint under some roots, and alert about what is new since the last run.

    find_groups ── check_group (one for each group) ── report ── alert_on_new_findings

* ``find_groups`` walks the roots and deals the checkpoints out in groups of ``group_size``. Airflow maps over no more
  than ``[core] max_map_length`` groups, 1,024 by default.
* ``check_group`` checks the checkpoints of one group. A damaged checkpoint, or one that cannot be read, is a result.
* ``report`` puts everything into one report: a table in its log, and an XCom with ``checkpoints``, ``findings``,
  ``unreadable``, what was not judged (``unknown``) and what is ``new``.
* ``alert_on_new_findings`` fails when there is something new, and names it. Give it an ``on_failure_callback``, or
  whatever else you do about failed tasks.

What was found the last time is kept in the Airflow Variable ``ckpt_validation_known``: it outlives workers, every task
can reach it, and nothing is written to where the checkpoints are. Delete it to be told of everything again.
Set the roots in ``CKPT_VALIDATION_ROOTS``, separated by spaces, or for one run in its params.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, Variable, task

from airflow_provider_ckpt import api
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors

KNOWN = "ckpt_validation_known"
#: An alert names so many new findings, and counts the others.
MOST_NEW = 50

PARAMS = {
    "roots": Param(
        os.environ.get("CKPT_VALIDATION_ROOTS", "").split(),
        type="array",
        items={"type": "string"},
        description="Where checkpoints are, relative to the connection's base or any fsspec URL",
    ),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "deep": Param(False, type="boolean", description="Read everything: state chains, source logs, checksums"),
    "depth": Param(api.DEPTH, type="integer", minimum=0, description="How many levels below a root to look"),
    "group_size": Param(50, type="integer", minimum=1, description="How many checkpoints a task checks"),
}

log = logging.getLogger("airflow.task")

with DAG(
    "checkpoint_validation",
    schedule="@hourly",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:

    @task(retries=2, retry_delay=timedelta(minutes=1))
    def find_groups(params: Any = None) -> list[dict[str, Any]]:
        """Groups of checkpoints: a root, and names below it."""
        if not params["roots"]:
            raise AirflowFailException("There are no roots: set CKPT_VALIDATION_ROOTS, or the param roots.")
        hook = CheckpointHook(params["checkpoint_conn_id"])
        groups = []
        for root in params["roots"]:
            with airflow_errors():
                store = hook.store(root)
                found = api.find_checkpoints([store], depth=params["depth"])
                live = [item for item in found if not (isinstance(item, api.FleetRow) and item.replaced_by)]
                names = [item.location.removeprefix(store.location).strip("/") for item in live]
            log.info("%s: %d checkpoints", store.location, len(names))
            size = params["group_size"]
            groups += [{"root": root, "names": names[start : start + size]} for start in range(0, len(names), size)]
        return groups

    @task(retries=2, retry_delay=timedelta(minutes=1))
    def check_group(group: dict[str, Any], params: Any = None) -> list[dict[str, Any]]:
        """What is known of each checkpoint of a group."""
        with airflow_errors():
            root = CheckpointHook(params["checkpoint_conn_id"]).store(group["root"])
            found = (api.Found(root.child(name) if name else root) for name in group["names"])
            return [row.to_dict() for row in api.judge_checkpoints(found, deep=params["deep"])]

    @task(trigger_rule="none_failed")
    def report(groups: Any, params: Any = None) -> dict[str, Any]:
        """One report of all groups, and what is new in it."""
        rows = [api.row_from_dict(fields) for group in groups for fields in group]
        troubled = [row for row in rows if row.worst]
        unknown = sorted({name for row in rows for name in row.unknown})
        log.info("\n%s", api.render(api.fleet_tables(troubled)) if troubled else "No findings.")
        log.info("Not judged: %s.", ", ".join(unknown) or "nothing that is in the checkpoints")
        known = known_so_far()
        hook = CheckpointHook(params["checkpoint_conn_id"])
        roots = [hook.store(root).location for root in params["roots"]]
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

    @task
    def alert_on_new_findings(report: dict[str, Any]) -> str:
        """Remember what was found, and fail when some of it is new."""
        Variable.set(KNOWN, report["known"])
        if report["new"]:
            others = report["new_count"] - len(report["new"])
            more = [f"and {others} more, which the log of the task report has"] if others else []
            raise AirflowFailException("\n".join([f"{report['new_count']} new findings:", *report["new"], *more]))
        unknown = f"; not judged: {', '.join(report['unknown'])}" if report["unknown"] else ""
        return f"Nothing new in {report['checkpoints']} checkpoints{unknown}."

    alert_on_new_findings(report(check_group.expand(group=find_groups())))
