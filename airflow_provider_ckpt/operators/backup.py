"""The operators that take backups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.hooks.checkpoint import require_flags
from airflow_provider_ckpt.operators.base import CheckpointOperator, digest_of, task_of, text_of
from airflow_provider_ckpt.operators.told import backup_told

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import BackupResultDocument
    from airflow_provider_ckpt.lineage.datasets import Named


class CheckpointBackupOperator(CheckpointOperator):
    """Copies all files that a restart after the newest committed batch needs; safe while the query runs.

    Returns the backup's id, batch, watermark, number of objects, the bytes copied and reused, and the files in it that
    ckpt does not know; of those, which changed while they were copied.

    A task that is tried again, or is cleared, answers with the backup that it has taken (``status`` is
    ``already_applied``) while its batch is the newest one. When the query has gone on it takes another.

    :param backup_root: Location of the backup root.
    :param full: Copy every file, also those that an earlier backup has; Spark can then start from the backup's
        directory.
    :param quick: Do not read state files to judge them, so that S3 copies them by itself; a
        ``CheckpointVerifyOperator`` judges them later.
    :param tags: Tags of the backup, for ``keep_tags`` of a prune: a list, or one text for one tag.
    :param message: Why the backup is taken; `ckpt backups` shows it.
    """

    needs = ("checkpoint", "backup_root")
    does = "backup"
    has_done = "A backup was taken of"
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "backup_root", "tags", "message")

    def __init__(
        self,
        *,
        backup_root: str | None = None,
        full: bool = False,
        quick: bool = False,
        tags: str | Sequence[str] = (),
        message: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.full = full
        self.quick = quick
        self.tags = tags
        self.message = message
        self.require_named()

    def execute(self, context: Any) -> BackupResultDocument:
        """Take the backup."""
        from airflow_provider_ckpt.backup.find_taken import find_taken
        from airflow_provider_ckpt.backup.take import take_backup
        from airflow_provider_ckpt.report.tables import backup_table

        with self.running(context):
            require_flags(self, "full", "quick")
            checkpoint, root, asked_by = self.store(), self.store(self.backup_root), self._asked_by(context)
            earlier = find_taken(checkpoint, root, asked_by)
            taken = earlier or take_backup(
                checkpoint,
                root,
                full=self.full,
                quick=self.quick,
                tags=self.tags,
                message=text_of(self.message),
                asked_by=asked_by,
            )
        if earlier is not None:
            self.log.info("The backup %s was taken already. Nothing was done.", earlier.backup_id)
        self.report(backup_table(taken))
        result: BackupResultDocument = {
            "format_version": FORMAT_VERSION,
            **backup_told(taken.summary()),
            **self.told_of_file(),
            "status": "applied" if earlier is None else "already_applied",
        }
        return self.tell(context, result)

    def _asked_by(self, context: Any) -> str:
        """The task of a DAG run, and what it asks for."""
        return f"{task_of(context)} {digest_of(self, ())}{' full' * self.full}{' quick' * self.quick}"

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The backups."""
        from airflow_provider_ckpt.lineage.datasets import backup

        if (root := self.hook.known_url(self.backup_root)) is not None:
            yield backup(root, backup_id=told.get("backup_id", ""), change="ALTER" if told else "")
