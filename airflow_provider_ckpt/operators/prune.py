"""The operator that prunes backups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ckpt.backup.retention import GRACE_MS
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors, duration_ms_of, require_flags
from airflow_provider_ckpt.lineage.page_link import CheckpointsLink
from airflow_provider_ckpt.lineage.task import CheckpointTask
from airflow_provider_ckpt.operators.base import task_of
from airflow_provider_ckpt.operators.told import prune_receipt_told, prune_told
from airflow_provider_ckpt.report.table import render

#: The arguments that are rules.
KEEPING = ("keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly", "keep_tags")

if TYPE_CHECKING:
    from airflow_provider_ckpt.backup.retention import RetentionPolicy
    from airflow_provider_ckpt.documents.tasks import PruneResultDocument
    from airflow_provider_ckpt.lineage.datasets import Named


class CheckpointPruneOperator(CheckpointTask, BaseOperator):
    """Deletes backups that no rule keeps, and files that no backup references; a second run completes it.

    Returns the decisions for the newest backups, and a receipt, with counts and bytes of all. The log has the rest.

    :param backup_root: Location of the backup root: any fsspec URL, or a path relative to the base location of the
        connection.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param query: Name of the query in the query file, in place of ``backup_root``.
    :param query_file: The query file: a path or a URL, with ``conn=ID`` behind it where a connection opens it; by
        default the option ``file`` of the section ``[ckpt]``. It is read when the task runs.
    :param keep_last: Keep this number of newest backups of each query. A rule that is not given is that of the query
        file (``keep``).
    :param keep_hourly: Keep the newest backup of each hour, for this number of hours that have backups; the others
        likewise.
    :param keep_daily: Days, in UTC.
    :param keep_weekly: ISO weeks.
    :param keep_monthly: Months.
    :param keep_tags: Keep every backup that has one of these tags: a list, or one text for one tag.
    :param min_redundancy: Always keep at least this number of backups of each query.
    :param keep_otherwise: Rules by these names, which count where neither an argument nor the query file has one.
    :param grace: Delete files that no backup references only when they are older than this, such as ``36h`` or a
        timedelta; it must be longer than the longest backup takes.
    :param allow_empty: Do not fail when the root has no backup.
    :param break_lock: Remove the lock of another prune in this root, which you know has ended.
    :param plan_only: Only log the plan, and delete nothing.
    """

    needs = ("backup_root",)
    does = "prune"
    has_done = "Backups were pruned of"
    operator_extra_links = (CheckpointsLink(),)
    template_fields: Sequence[str] = ("backup_root", "checkpoint_conn_id", "query", "query_file", "keep_tags")
    ui_color = "#e6f0f9"

    def __init__(
        self,
        *,
        backup_root: str | None = None,
        checkpoint_conn_id: str | None = None,
        query: str | None = None,
        query_file: str | None = None,
        keep_last: int = 0,
        keep_hourly: int = 0,
        keep_daily: int = 0,
        keep_weekly: int = 0,
        keep_monthly: int = 0,
        keep_tags: str | Sequence[str] = (),
        min_redundancy: int = 1,
        keep_otherwise: Mapping[str, Any] | None = None,
        grace: timedelta | str = timedelta(milliseconds=GRACE_MS),
        allow_empty: bool = False,
        break_lock: bool = False,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with airflow_errors():
            grace_ms = duration_ms_of("grace", grace)
        self.checkpoint = ()
        self.backup_root: Any = backup_root
        self.checkpoint_conn_id = checkpoint_conn_id
        self.query = query
        self.query_file = query_file
        self.require_named()
        self.keep_last = keep_last or None
        self.keep_hourly = keep_hourly or None
        self.keep_daily = keep_daily or None
        self.keep_weekly = keep_weekly or None
        self.keep_monthly = keep_monthly or None
        self.keep_tags: Any = keep_tags or ()
        self.min_redundancy = min_redundancy
        self.keep_otherwise = keep_otherwise
        self._policy(may_be_declared=query is not None)  # a DAG with a senseless policy does not load
        self.grace_ms = grace_ms
        self.allow_empty = allow_empty
        self.break_lock = break_lock
        self.plan_only = plan_only

    def _policy(self, *, may_be_declared: bool = False) -> RetentionPolicy:
        """The rules. Raises ValueError for none, unless the query file may have one, and for a number without sense."""
        from airflow_provider_ckpt.backup.manifest import tags_of
        from airflow_provider_ckpt.backup.retention import RetentionPolicy

        given = {name: getattr(self, name) for name in KEEPING if getattr(self, name)}
        rules = given or self.keep_otherwise or ({"keep_last": 1} if may_be_declared else {})
        rules = {**rules, "keep_tags": tags_of(rules.get("keep_tags", ()))}
        return RetentionPolicy(**rules, min_redundancy=self.min_redundancy)

    def execute(self, context: Any) -> PruneResultDocument:
        """Prune."""
        from airflow_provider_ckpt.backup.make_prune import make_prune
        from airflow_provider_ckpt.backup.prune import prune
        from airflow_provider_ckpt.report.tables import prune_tables

        with self.running(context):
            policy = self._policy()
            require_flags(self, "allow_empty", "break_lock", "plan_only")
            root = self.hook.store(self.backup_root)
            plan = make_prune(root, policy, grace_ms=self.grace_ms, allow_empty=self.allow_empty)
            self.log.info("\n%s", render(prune_tables(plan)))
            receipt = None
            if not self.plan_only:
                receipt = prune(plan, root, by=task_of(context), break_lock=self.break_lock)
        result: PruneResultDocument = {
            "format_version": FORMAT_VERSION,
            "plan": prune_told(plan),
            "receipt": prune_receipt_told(receipt) if receipt else None,
        }
        return self.tell(context, result)

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The backups; nothing of a plan alone."""
        from airflow_provider_ckpt.lineage.datasets import backup

        if not self.plan_only and (root := self.hook.known_url(self.backup_root)) is not None:
            yield backup(root, change="ALTER" if told.get("receipt") else "")
