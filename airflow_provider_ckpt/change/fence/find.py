"""Finds the fence of a checkpoint, and reasons not to rely on one."""

from __future__ import annotations

from collections.abc import Collection
from shlex import quote

from airflow_provider_ckpt.change.fence.plan import fence_of, is_closing, plan_there
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import Fenced
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.checkpoint.flows import flow_of
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointNotFoundError, PlanError
from airflow_provider_ckpt.storage.store import Store


def find_fence(stores: Stores) -> Plan | None:
    """The fence that is there as the newest entry of the offset log, and that no query has passed; None without one."""
    logs = {name for log in (layout.OFFSETS, layout.COMMITS) for name in stores.checkpoint.ls(log)[0]}
    for change in reversed(journal.history(stores.checkpoint, stores.undo)):
        if change.state not in ("applied", "interrupted"):
            continue
        if change.plan.kind != "fence":
            if change.state == "interrupted":  # what closes the checkpoint now is of that change
                return None
            continue
        if _is_newest(change.plan, logs) and holds(stores.checkpoint, change.plan):
            return change.plan
    return _marked(observe(stores.checkpoint))


def required_fence(stores: Stores) -> Fenced:
    """The fence that is there, as a plan requires it. Raises PlanError when the checkpoint is not fenced."""
    refuse_flow(stores.checkpoint.location)
    there, location = find_fence(stores), stores.checkpoint.location
    if there is None or is_closing(there):
        raise PlanError(
            "this checkpoint is not fenced.",
            location=location,
            hint=f"Nothing was done. Put the fence first: ckpt fence {quote(location)} --execute",
        )
    own = fence_of(there)
    return Fenced(f"{own.name} {own.sha256}")


def refuse_flow(location: str) -> None:
    """Raise PlanError for a change behind the fence of a flow of a pipeline, which the flow's own retry would run."""
    flow, quoted = flow_of(location), quote(location)
    if flow is not None:
        raise PlanError(
            f"this is {flow.called}, of a declarative pipeline: its run starts a flow that has failed again after 5 "
            "seconds, and that start would run the batch of a fence and go on, so a fence proves nothing here.",
            location=location,
            hint=f"Nothing was done. Close the flow (ckpt fence {quoted} --execute), wait until its run has ended, "
            f"open it again (ckpt undo {quoted}), and make the change with --i-know-it-is-stopped before the next run.",
        )


def holds(checkpoint: Store, plan: Plan) -> bool:
    """True if the entry of a fence is there, with the bytes of its plan."""
    own = fence_of(plan)
    try:
        return checkpoint.read_up_to(own.name, own.size + 1) == own.data.encode()
    except CheckpointNotFoundError:
        return False


def find_other_interrupted(stores: Stores) -> Plan | None:
    """The newest change, where it is no fence and was interrupted: it has to be completed or taken back first."""
    newest = journal.newest_acted(stores.checkpoint, stores.undo)
    return None if newest is None or newest.state != "interrupted" or newest.plan.kind == "fence" else newest.plan


def _marked(view: CheckpointView) -> Plan | None:
    """The fence that says so itself where no record has it: it got other offsets since, or the records are lost."""
    newest, committed = view.in_flight, view.latest_committed
    if newest is None or committed is None or newest != committed + 1:
        return None
    entry, before = (view.entries.get(layout.offset_entry(batch)) for batch in (newest, committed))
    if not isinstance(entry, OffsetSeq) or not isinstance(before, OffsetSeq):
        return None
    is_fence = entry.metadata is not None and entry.metadata.fence and dict(entry.offsets) == dict(before.offsets)
    return plan_there(view, committed, entry.encode().decode(), now_ms()) if is_fence else None


def _is_newest(plan: Plan, logs: Collection[str]) -> bool:
    """True if the entry of a fence is the newest one, after the batch that it was planned for."""
    batch_id = plan.batch_id + 1
    passed = layout.commit_entry(batch_id) in logs or layout.offset_entry(batch_id + 1) in logs
    behind = is_closing(plan) or layout.commit_entry(plan.batch_id) in logs
    return behind and not passed and layout.offset_entry(batch_id) in logs
