"""The operator that restores a backup."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.moving import PathRule
from airflow_provider_ckpt.operators.base import (
    PLAN_KEY,
    CheckpointOperator,
    plan_of,
    require_newer,
    result_of,
    task_of,
    words,
)
from airflow_provider_ckpt.plans import Plan
from airflow_provider_ckpt.report import plan_tables
from airflow_provider_ckpt.sinks import DeclaredSink, parse_sink
from airflow_provider_ckpt.store import Store


class CheckpointRestoreOperator(CheckpointOperator):
    """Writes a backup to ``checkpoint``, which must be new or empty. Run again, it completes itself.

    :param backup_root: Where backups live.
    :param backup_id: Id of the backup, or ``latest``.
    :param new_query_id: Give the restored query an id of its own (a fork); sinks then do not know it.
    :param rewrite_paths: Absolute paths of input files that have moved, old to new.
    :param sinks: Sinks of the query, such as ``file:s3://lake/orders``, for the effects on them.
    :param plan: The plan that another task made with ``plan_only`` and a person has approved (its XCom ``plan``). That
        plan is carried out and no other.
    :param accept_sink: Effects on a sink that are accepted by name: ``duplicated``, ``skipped``, ``unknown``, one or
        several. Without ``sinks`` the effect is unknown. A plan whose effect is not exact is refused without it.
    :param approved_by: Who has approved the plan, for the history; empty when nobody was asked.
    :param approved_at: When that was; an approval that is older than the plan is refused.
    :param plan_only: Show the plan, push it to the XCom ``plan``, and change nothing.
    """

    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "backup_root",
        "backup_id",
        "rewrite_paths",
        "sinks",
        "plan",
        "accept_sink",
        "approved_by",
        "approved_at",
    )

    def __init__(
        self,
        *,
        backup_root: str,
        backup_id: str = "latest",
        new_query_id: bool = False,
        rewrite_paths: Mapping[str, str] | None = None,
        sinks: Sequence[str] = (),
        plan: Any = None,
        accept_sink: str | Sequence[str] | None = None,
        approved_by: str | None = None,
        approved_at: str | datetime | None = None,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.backup_id = backup_id
        self.new_query_id = new_query_id
        self.rewrite_paths = rewrite_paths
        self.sinks = sinks
        self.plan = plan
        self.accept_sink = accept_sink
        self.approved_by = approved_by
        self.approved_at = approved_at
        self.plan_only = plan_only

    def execute(self, context: Any) -> dict[str, Any]:
        """Plan, log the plan, and restore."""
        with airflow_errors():
            root, target = self.store(self.backup_root), self.store()
            given = plan_of(self.plan, "restore", target) if self.plan else None
            declared = lifecycle.sinks_of(given) if given else tuple(map(parse_sink, self.sinks))
            sinks = [(sink, self.store(sink.directory) if sink.directory else None) for sink in declared]
            plan = given or self._planned(root, target, sinks)
            self.report(*plan_tables(plan))
            if self.plan_only:
                context["ti"].xcom_push(key=PLAN_KEY, value=plan.to_dict())
                return result_of(plan, None)
            require_newer(self.approved_at, plan)
            receipt = lifecycle.restore(
                plan,
                root,
                target,
                by=task_of(context),
                accept_sink=words(self.accept_sink),
                approved_by=self.approved_by or "",
                sinks=sinks,
            )
            return result_of(plan, receipt)

    def _planned(self, root: Store, target: Store, sinks: Sequence[tuple[DeclaredSink, Store | None]]) -> Plan:
        backup = lifecycle.find_backup(root, self.backup_id)
        fork_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{backup.backup_id} {target.location}"))
        rules = [PathRule(old, new) for old, new in (self.rewrite_paths or {}).items()]
        return lifecycle.make_restore(
            root, backup, target, fork_id if self.new_query_id else None, path_rules=rules, sinks=sinks
        )
