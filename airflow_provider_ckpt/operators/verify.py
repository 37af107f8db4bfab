"""The operator that verifies a backup, and rehearses its restore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.errors import GateFailedError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.operators.base import CheckpointOperator
from airflow_provider_ckpt.report import findings_table, rehearsal_table


class CheckpointVerifyOperator(CheckpointOperator):
    """Reads a backup back, judges it by every rule, and lets a real Spark open it when asked to.

    Fails when the backup is not what was backed up, when a rule finds an error, and when Spark does not open it.
    Returns the backup's id, batch, findings and what the rehearsal found. A rehearsal needs Java and the extra
    ``spark`` on the worker.

    :param backup_root: Where backups live, relative to the connection's base or any fsspec URL.
    :param backup_id: Id of the backup, or ``latest``.
    :param rehearse: Restore it to a scratch place and let Spark open it there.
    :param scratch: Where to rehearse; by default a temporary directory of the worker.
    :param spark_confs: For the rehearsal's Spark.
    """

    template_fields: Sequence[str] = ("backup_root", "backup_id", "scratch", "spark_confs", "checkpoint_conn_id")

    def __init__(
        self,
        *,
        backup_root: str,
        backup_id: str = "latest",
        rehearse: bool = False,
        scratch: str | None = None,
        spark_confs: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(checkpoint=backup_root, **kwargs)
        self.backup_root = backup_root
        self.backup_id = backup_id
        self.rehearse = rehearse
        self.scratch = scratch
        self.spark_confs = spark_confs

    def execute(self, context: Any) -> dict[str, Any]:
        """Verify, and rehearse when asked to."""
        with airflow_errors():
            root = self.store(self.backup_root)
            backup = lifecycle.find_backup(root, self.backup_id)
            findings = lifecycle.verify_backup(root, backup)
            self.report(findings_table(findings))
            errors = [f"{item.code}: {item.message}" for item in findings if item.severity == "error"]
            if errors:
                raise GateFailedError("; ".join(errors), location=root.location, findings=findings)
            rehearsal = None
            if self.rehearse:
                scratch = self.store(self.scratch) if self.scratch else None
                rehearsal = lifecycle.rehearse(root, backup, scratch=scratch, confs=self.spark_confs)
                self.report(rehearsal_table(rehearsal))
        return {
            "backup_id": backup.backup_id,
            "query_id": backup.query_id,
            "batch_id": backup.batch_id,
            "findings": [finding.to_dict() for finding in findings],
            "rehearsal": rehearsal.to_dict() if rehearsal else None,
        }
