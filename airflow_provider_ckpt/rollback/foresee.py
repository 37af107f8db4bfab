"""What a rollback would leave, judged by the rules before anything is done: no rollback makes a checkpoint worse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import is_text_log, read_text_logs, with_restart_set
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.restart.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store


def view_after(plan: Plan, view: CheckpointView, chosen: RestartSet, checkpoint: Store) -> CheckpointView:
    """The checkpoint as a rollback would leave it, with the log entries read that a restart reads.

    Args:
        plan: The rollback; it only removes.
        view: The whole checkpoint as it is now.
        chosen: The restart set of the target.
        checkpoint: Where it is.
    """
    removed = plan.deletes()
    after = replace(
        view,
        objects={name: stored for name, stored in view.objects.items() if name not in removed},
        entries={name: entry for name, entry in view.entries.items() if name not in removed},
        damaged={name: error for name, error in view.damaged.items() if name not in removed},
    )
    names = {name for name in chosen.names if is_text_log(name)}
    names |= {sidecar for name in names for sidecar in layout.sidecars(name)}
    unread = sorted(names & after.objects.keys() - after.entries.keys())
    return with_restart_set(read_text_logs(checkpoint, after, unread, checkpoint.head, checkpoint.chunks), chosen)


def require_no_worse(plan: Plan, now: CheckpointView, after: CheckpointView) -> None:
    """See that a restart of what is left meets no error that it would not meet today.

    Raises:
        BatchNotRestorableError: It does; the error names the rule and the file.
    """
    known = {(finding.code, finding.name) for finding in _errors(check(now))}
    stops = {finding.code for finding in _errors(forecast(now, DeploySpec()).findings)}
    new = [finding for finding in _errors(check(after)) if (finding.code, finding.name) not in known]
    new += [item for item in _errors(forecast(after, DeploySpec()).findings) if item.code not in stops]
    if new:
        raise BatchNotRestorableError(
            f"after the rollback the checkpoint would be damaged: {new[0].code}: {new[0].message}.",
            location=plan.location,
            batch_id=plan.batch_id,
            name=new[0].name,
            hint="Nothing was done. Choose another batch, or take the file from a backup: ckpt rollback "
            f"{plan.location} --to-backup ROOT/ID.",
        )


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == "error"]


def doubt(batch_id: int, after: CheckpointView, following: OffsetSeq | None) -> str | None:
    """Why the offset entry of the target may not be the one that its batch ran with; None when nothing says so.

    Args:
        batch_id: The target.
        after: The checkpoint as the rollback would leave it.
        following: The offset entry of the batch after the target, where it can be read.
    """
    name = layout.offset_entry(batch_id)
    for finding in check(after):
        if finding.code == "CKPT106":
            return f"{name} is a copy of the entry before it"
        if finding.code == "CKPT121" and finding.name in layout.sidecars(name):
            return f"{name} was changed after Spark wrote it: it does not match its checksum file"
    own = after.offset_seq(batch_id)
    if following is not None and _is_not_before(own, following):
        return f"{name} is not older than the entry after it, so it may be a copy of a later entry"
    return None


def _is_not_before(entry: OffsetSeq, following: OffsetSeq) -> bool:
    """Whether an entry is a copy of a later one. A batch that repartitions has the time of the one before it."""
    if entry.metadata is None or following.metadata is None:
        return False
    then = following.metadata.batch_timestamp_ms
    return 0 < then < entry.metadata.batch_timestamp_ms or entry.encode() == following.encode()
