"""The operator that restores a backup."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of, require_flags
from airflow_provider_ckpt.operators.base import texts_by_text
from airflow_provider_ckpt.operators.changes.new_place import CheckpointNewPlaceOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.open_sinks import Sinks
    from airflow_provider_ckpt.change.plan.kinds import Kind
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.change.record.receipt import Receipt
    from airflow_provider_ckpt.lineage.datasets import Named
    from airflow_provider_ckpt.storage.store import Store


class CheckpointRestoreOperator(CheckpointNewPlaceOperator):
    """Writes a backup to ``checkpoint``, which must be new or empty; a second run completes it.

    A task that is tried again, or is cleared, after it has ended answers that it was done (``receipt.status`` is
    ``already_applied``), whatever the restored query has written since, and also when ``latest`` is another backup by
    then. When the location was cleared it restores again. One that was killed completes the backup that it has begun.

    :param backup_root: Location of the backup root.
    :param backup_id: Id of the backup, or ``latest``.
    :param query_id: Use the latest backup of this query, if the root has backups of several.
    :param new_query_id: Give the restored query a new query id (a fork); to sinks it is then another query, and the
        sink that the query file declares of the original is not taken for its own.
    :param rewrite_paths: Prefixes of input file paths to replace in the logs of file sources, old to new.
    :param trigger: The trigger, as in the query file; with ``realTime`` the sink effect is exact only for a
        sink that keeps no rows.
    :param fence: First fence the checkpoint that the backup was taken from, so that a query there that cannot be
        reached stops at its next batch.
    :param wait_for_batch: How long the fence waits for the commit of a batch in flight: ``10m``, a timedelta, or
        seconds.
    """

    needs = ("checkpoint", "backup_root")
    has_own_checkpoint = True
    kind: ClassVar[Kind] = "restore"
    does = "restore"
    has_done = "A backup was restored to"
    template_fields: Sequence[str] = (
        *CheckpointNewPlaceOperator.template_fields,
        "backup_root",
        "backup_id",
        "query_id",
        "rewrite_paths",
        "sinks",
        "trigger",
    )

    @classmethod
    def request(cls) -> type:
        """What it asks for."""
        from airflow_provider_ckpt.changes.restore.make import RestoreRequest

        return RestoreRequest

    def __init__(
        self,
        *,
        backup_root: str | None = None,
        backup_id: str = "latest",
        query_id: str | None = None,
        new_query_id: bool = False,
        rewrite_paths: Mapping[str, str] | None = None,
        trigger: str | None = None,
        fence: bool = False,
        wait_for_batch: float | str | timedelta = WAIT_S,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.backup_id = backup_id
        self.query_id = query_id
        self.new_query_id = new_query_id
        self.rewrite_paths = rewrite_paths
        self.trigger = trigger
        self.fence = fence
        self.wait_for_batch = wait_for_batch
        self.require_named()

    def not_declared(self) -> Collection[str]:
        """The sinks of the query, for a fork: it is another query, which writes elsewhere, and declares its own."""
        return {*super().not_declared(), *(("sinks",) if self.new_query_id is True else ())}

    def require_arguments(self) -> None:
        """Raise CheckpointError for flags that are none, and for a fence where nothing is restored."""
        require_flags(self, "new_query_id", "fence")
        if self.fence and self.plan_only:
            raise CheckpointError("fence acts when the backup is restored, so leave out plan_only")

    @property
    def asked(self) -> str:
        """The request, as of every change, and if it is a fork."""
        return f"{super().asked}{' fork' if self.new_query_id else ''}"

    def planned(self, target: Store, sinks: Sinks, begun: Plan | None) -> Plan:
        """A plan made now, of the backup that this task has begun to restore, if there is one."""
        from airflow_provider_ckpt.backup.catalog import find_backup
        from airflow_provider_ckpt.backup.relocation import PathRule
        from airflow_provider_ckpt.changes.restore.make import fork_id, make_restore

        root = self.store(self.backup_root)
        chosen = find_backup(root, (begun.backup_id if begun else None) or self.backup_id, self.query_id or None)
        new_id = fork_id(chosen, target) if self.new_query_id else None
        rules = [PathRule(old, new) for old, new in texts_by_text("rewrite_paths", self.rewrite_paths).items()]
        return make_restore(root, chosen, target, new_id, path_rules=rules, sinks=sinks, trigger=self.trigger)

    def written(self, plan: Plan, target: Store, sinks: Sinks) -> Receipt:
        """Restore, behind a fence of the origin where one is asked for."""
        from airflow_provider_ckpt.changes.restore.put_origin_fence import behind_fence_of_origin
        from airflow_provider_ckpt.changes.restore.restore import restore

        root = self.store(self.backup_root)
        if not self.fence:
            return restore(plan, root, target, sinks=sinks, **self.how)
        wait_s = duration_ms_of("wait_for_batch", self.wait_for_batch) / 1000
        with behind_fence_of_origin(root, plan, self.store, by=self.by, wait_s=wait_s, tell=self.log.info):
            return restore(plan, root, target, sinks=sinks, **self.how)

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The backups, and the sinks that were declared. Which backup it is, `latest` does not say."""
        from airflow_provider_ckpt.lineage.datasets import backup

        if (root := self.hook.known_url(self.backup_root)) is not None:
            yield backup(root, backup_id="" if self.backup_id == "latest" else str(self.backup_id))
        yield from self.lineage_sinks()
