"""Taking back the fence or the hold of a query before it is started, also where that was killed on its way."""

from __future__ import annotations

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.ask_word import Word
from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.change.fence.plan import is_closing
from airflow_provider_ckpt.change.guard import Tell
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.running.find_unit import Member


def withdraw_fence(member: Member, word: Word, *, by: str, break_lock: bool, tell: Tell) -> None:
    """Take back the fence that is there. One that cannot be taken back is told: its batch runs, without rows.

    Args:
        member: The query, whose checkpoint is there.
        word: Whether the query is stopped.
        by: Who does it.
        break_lock: Remove the lock of another run of ckpt.
        tell: Told of a fence that stays.

    Raises:
        PlanError: It holds the checkpoint, and cannot be taken back; Spark would stop at it.
    """
    fence, begun = find_fence(member.stores), _find_begun(member)
    if fence is None and begun is None:
        return
    try:
        if begun is None and fence is not None:
            begun = _require_newest(member, fence)
        plan = make_undo(member.stores, undoes=begun, trigger=member.query.deploy.trigger)
        apply(plan, member.stores, by=by, query_is_stopped=word, quiet_s=0.0, break_lock=break_lock)
    except PlanError as error:
        if fence is not None and is_closing(fence):
            raise PlanError(
                f"the entry that holds {member.query.name} cannot be taken back: {error.message}",
                location=member.checkpoint.location,
                hint=f"Nothing was started, because Spark stops at it. {error.hint or ''}".rstrip(),
            ) from error
        tell(f"The fence of {member.query.name} stays, and the next batch is that of the fence: {error}")


def _require_newest(member: Member, fence: Plan) -> str:
    """The id of a fence that is the newest change. Raises PlanError for any other one."""
    newest = journal.last_change(member.checkpoint, member.stores.undo).plan
    if newest.plan_id != fence.plan_id:
        raise PlanError(f"the {newest.called} {newest.plan_id} was made after it.")
    return fence.plan_id


def _find_begun(member: Member) -> str | None:
    """The fence whose undo was killed on its way; None where there is none."""
    records = journal.history(member.checkpoint, member.stores.undo)
    fences = {record.plan.plan_id for record in records if record.plan.kind == "fence"}
    newest = journal.newest_acted(member.checkpoint, member.stores.undo)
    if newest is None or newest.state != "interrupted" or newest.plan.undoes not in fences:
        return None
    return newest.plan.undoes
