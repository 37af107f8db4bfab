"""Making the plans of prunes: what the policy keeps, what else is kept because nothing better can be restored.

See :mod:`airflow_provider_ckpt.backup.prune` for what a prune does with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt.backup.catalog import nothing_found
from airflow_provider_ckpt.backup.find_named import bases_in_use, list_folders, named_by, read_all, sweepable
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.retention import (
    GRACE_MS,
    Decision,
    PrunePlan,
    RetentionPolicy,
    Sweep,
    decide,
    of_each_query,
)
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.store import Store


def make_prune(
    root: Store, policy: RetentionPolicy, *, grace_ms: int = GRACE_MS, allow_empty: bool = False
) -> PrunePlan:
    """Plan a prune; changes nothing.

    Args:
        root: Location of the backup root.
        policy: The policy.
        grace_ms: How old what no backup names must be.
        allow_empty: A root in which no backup was ever taken is no error.

    Raises:
        BackupCorruptError: A manifest cannot be read, so it is not known what it names; or UnsupportedVersionError.
        BackupNotFoundError: There is no backup at all.
        StoreError: The root cannot be listed, or the directory of a backup in it is a link.
    """
    planned_at_ms = now_ms()
    backups = read_all(root)
    decisions, verified = _with_a_whole_one(root, backups, decide(backups, policy, planned_at_ms))
    kept = {item.backup_id for item in decisions if item.keep}
    dropped = {item.backup_id for item in decisions if not item.keep}
    folders = list_folders(root)
    if not backups and not folders and not allow_empty:
        raise nothing_found(root, "there is no backup under this root.")
    before_ms = planned_at_ms - grace_ms
    under_way = [folder for folder in folders if folder.is_under_way(before_ms)]
    marked = named_by([item for item in backups if item.backup_id in kept], bases_in_use(root, under_way))
    sweeps, referred = [], 0
    for folder in folders:
        gone = folder.is_dropped or folder.name in dropped
        lost = folder.data if gone else sweepable(folder, before_ms)
        swept = [item for name, item in lost.items() if name not in marked]
        referred += sum(item.size for name, item in folder.data.items() if gone and name in marked)
        if swept:
            sweeps.append(Sweep(folder.name, len(swept), sum(item.size for item in swept)))
    return PrunePlan(
        location=root.location,
        planned_at_ms=planned_at_ms,
        policy=policy,
        grace_ms=grace_ms,
        decisions=decisions,
        sweeps=tuple(sweeps),
        referred_bytes=referred,
        verified=verified,
    )


def _with_a_whole_one(
    root: Store, backups: Iterable[Manifest], decisions: Iterable[Decision]
) -> tuple[tuple[Decision, ...], tuple[str, ...]]:
    """The decisions, with a backup that verifies kept of every query; and those backups."""
    decided = {item.backup_id: item for item in decisions}
    verified = []
    for group in of_each_query(backups):
        dropped = [item for item in group if not decided[item.backup_id].keep]
        kept = [item for item in group if decided[item.backup_id].keep]
        if not dropped:
            continue
        whole = next((item for item in (*kept, *dropped) if _verifies(root, item)), None)
        if whole is not None:
            verified.append(whole.backup_id)
        reason = "no backup of this query passes verify" if whole is None else "the newest backup that passes verify"
        spared = dropped if whole is None else [item for item in dropped if item is whole]
        decided.update({item.backup_id: Decision(item.backup_id, keep=True, reasons=(reason,)) for item in spared})
    return tuple(decided.values()), tuple(verified)


def _verifies(root: Store, backup: Manifest) -> bool:
    try:
        return not any(finding.severity == "error" for finding in verify_backup(root, backup))
    except CheckpointError as error:
        if error.retryable:
            raise
        return False
