"""The operators, under the names that DAGs import; each has a module of its own, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_ckpt.operators.backup import CheckpointBackupOperator
    from airflow_provider_ckpt.operators.changes.fence import CheckpointFenceOperator
    from airflow_provider_ckpt.operators.changes.repair import CheckpointRepairOperator
    from airflow_provider_ckpt.operators.changes.repartition import CheckpointRepartitionOperator
    from airflow_provider_ckpt.operators.changes.reset import CheckpointResetOffsetsOperator
    from airflow_provider_ckpt.operators.changes.restore import CheckpointRestoreOperator
    from airflow_provider_ckpt.operators.changes.rollback import CheckpointRollbackOperator
    from airflow_provider_ckpt.operators.changes.salvage import CheckpointSalvageOperator
    from airflow_provider_ckpt.operators.changes.seed import CheckpointSeedOperator
    from airflow_provider_ckpt.operators.changes.sources import CheckpointSourcesOperator
    from airflow_provider_ckpt.operators.changes.undo import CheckpointUndoOperator
    from airflow_provider_ckpt.operators.check import CheckpointCheckOperator
    from airflow_provider_ckpt.operators.compare import CheckpointCompareOperator
    from airflow_provider_ckpt.operators.continuity import CheckpointContinuityOperator
    from airflow_provider_ckpt.operators.gate import CheckpointGateOperator
    from airflow_provider_ckpt.operators.index import CheckpointIndexOperator
    from airflow_provider_ckpt.operators.prune import CheckpointPruneOperator
    from airflow_provider_ckpt.operators.publish import CheckpointPublishOffsetsOperator
    from airflow_provider_ckpt.operators.queries import CheckpointQueriesOperator
    from airflow_provider_ckpt.operators.runs import QueryStartOperator, QueryStopOperator
    from airflow_provider_ckpt.operators.stage import CheckpointStageOperator
    from airflow_provider_ckpt.operators.switch import CheckpointSwitchOperator
    from airflow_provider_ckpt.operators.verify import CheckpointVerifyOperator
    from airflow_provider_ckpt.operators.windows import CheckpointWindowsOperator

__all__ = [
    "CheckpointBackupOperator",
    "CheckpointCheckOperator",
    "CheckpointCompareOperator",
    "CheckpointContinuityOperator",
    "CheckpointFenceOperator",
    "CheckpointGateOperator",
    "CheckpointIndexOperator",
    "CheckpointPruneOperator",
    "CheckpointPublishOffsetsOperator",
    "CheckpointQueriesOperator",
    "CheckpointRepairOperator",
    "CheckpointRepartitionOperator",
    "CheckpointResetOffsetsOperator",
    "CheckpointRestoreOperator",
    "CheckpointRollbackOperator",
    "CheckpointSalvageOperator",
    "CheckpointSeedOperator",
    "CheckpointSourcesOperator",
    "CheckpointStageOperator",
    "CheckpointSwitchOperator",
    "CheckpointUndoOperator",
    "CheckpointVerifyOperator",
    "CheckpointWindowsOperator",
    "QueryStartOperator",
    "QueryStopOperator",
]

#: The module of each name.
_MODULES = {
    "CheckpointBackupOperator": "backup",
    "CheckpointCheckOperator": "check",
    "CheckpointCompareOperator": "compare",
    "CheckpointContinuityOperator": "continuity",
    "CheckpointFenceOperator": "changes.fence",
    "CheckpointGateOperator": "gate",
    "CheckpointIndexOperator": "index",
    "CheckpointPruneOperator": "prune",
    "CheckpointPublishOffsetsOperator": "publish",
    "CheckpointQueriesOperator": "queries",
    "CheckpointRepairOperator": "changes.repair",
    "CheckpointRepartitionOperator": "changes.repartition",
    "CheckpointResetOffsetsOperator": "changes.reset",
    "CheckpointRestoreOperator": "changes.restore",
    "CheckpointRollbackOperator": "changes.rollback",
    "CheckpointSalvageOperator": "changes.salvage",
    "CheckpointSeedOperator": "changes.seed",
    "CheckpointSourcesOperator": "changes.sources",
    "CheckpointStageOperator": "stage",
    "CheckpointSwitchOperator": "switch",
    "CheckpointUndoOperator": "changes.undo",
    "CheckpointVerifyOperator": "verify",
    "CheckpointWindowsOperator": "windows",
    "QueryStartOperator": "runs",
    "QueryStopOperator": "runs",
}


def __getattr__(name: str) -> Any:
    """The operator of a name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"airflow_provider_ckpt.operators.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    """The names, of which none is loaded by being listed."""
    return sorted({*globals(), *__all__})
