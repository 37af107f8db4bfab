"""The operator that verifies a backup, and rehearses its restore."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import GateFailedError
from airflow_provider_ckpt.hooks.checkpoint import require_flags
from airflow_provider_ckpt.operators.base import CheckpointOperator
from airflow_provider_ckpt.operators.told import findings_told, reasons_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import VerifyResultDocument
    from airflow_provider_ckpt.lineage.datasets import Named


class CheckpointVerifyOperator(CheckpointOperator):
    """Reads a backup back, judges it by every rule, and lets a real Spark open it when asked to.

    Fails when a file of the backup is missing or has changed, when a rule finds an error, or when Spark does not open
    it. Returns the backup's id, batch, findings and what the rehearsal found. A rehearsal needs Java and the extra
    ``spark`` on the worker.

    :param backup_root: Location of the backup root: any fsspec URL, or a path relative to the base location of the
        connection.
    :param backup_id: Id of the backup, or ``latest``.
    :param query_id: Use the latest backup of this query, if the root has backups of several.
    :param rehearse: Restore it to a scratch place and let Spark open it there.
    :param scratch: Where to rehearse; by default a temporary directory of the worker.
    :param spark_confs: For the rehearsal's Spark.
    """

    needs = ("backup_root",)
    has_own_checkpoint = True
    does = "verify"
    has_done = "A backup was verified of"
    template_fields: Sequence[str] = (
        "backup_root",
        "backup_id",
        "query_id",
        "scratch",
        "spark_confs",
        "checkpoint_conn_id",
        "query",
        "query_file",
    )

    def __init__(
        self,
        *,
        backup_root: str | None = None,
        backup_id: str = "latest",
        query_id: str | None = None,
        rehearse: bool = False,
        scratch: str | None = None,
        spark_confs: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(checkpoint=backup_root, **kwargs)
        self.backup_root = backup_root
        self.backup_id = backup_id
        self.query_id = query_id
        self.rehearse = rehearse
        self.scratch = scratch
        self.spark_confs = spark_confs
        self._backed_up = ""
        self.require_named()

    def execute(self, context: Any) -> VerifyResultDocument:
        """Verify, and rehearse when asked to."""
        from airflow_provider_ckpt.backup.catalog import find_backup
        from airflow_provider_ckpt.backup.retention import date_warnings
        from airflow_provider_ckpt.backup.verify import verify_backup
        from airflow_provider_ckpt.changes.restore import rehearse as rehearse_module
        from airflow_provider_ckpt.report.tables import findings_table, rehearsal_table

        with self.running(context):
            require_flags(self, "rehearse")
            root = self.store(self.backup_root)
            backup = find_backup(root, self.backup_id, self.query_id or None)
            self._backed_up = backup.location
            findings = verify_backup(root, backup)
            self.report(findings_table(findings))
            warnings = date_warnings(backup, now_ms())
            for text in warnings:
                self.log.warning("%s", text)
            facts = {"backup_id": backup.backup_id, "query_id": backup.query_id, "batch_id": backup.batch_id}
            self.remember({**facts, **findings_told(findings)})
            errors = [f"{item.code}: {item.message}" for item in findings if item.severity == "error"]
            if errors:
                raise GateFailedError(reasons_text(errors), location=root.location, findings=findings)
            rehearsal = None
            if self.rehearse:
                scratch = self.store(self.scratch) if self.scratch else None
                rehearsal = rehearse_module.rehearse(root, backup, scratch=scratch, confs=self.spark_confs)
                self.report(rehearsal_table(rehearsal))
        result: VerifyResultDocument = {
            "format_version": FORMAT_VERSION,
            "backup_id": backup.backup_id,
            "query_id": backup.query_id,
            "batch_id": backup.batch_id,
            "warnings": list(warnings),
            **findings_told(findings),
            **self.told_of_file(),
            "rehearsal": rehearsal.to_dict() if rehearsal else None,
        }
        return self.tell(context, result)

    def linked_checkpoints(self) -> list[str]:
        """The checkpoint that was backed up, once the manifest was read."""
        return self._located()

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The backups."""
        from airflow_provider_ckpt.lineage.datasets import backup as backup_dataset

        if (root := self.hook.known_url(self.backup_root)) is not None:
            yield backup_dataset(root, backup_id=told.get("backup_id", ""))

    def _given(self) -> list[str]:
        return [self._backed_up] if self._backed_up else []
