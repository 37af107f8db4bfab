"""The operators, under the names that DAGs import; each has a module of its own."""

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
]
