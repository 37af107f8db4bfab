"""The plan of a fence: one offset entry that no query has planned.

* Nothing in flight: the entry is that of an empty batch. A query that runs cannot plan its next batch and stops; the
  next start runs the empty batch and goes on.
* A batch in flight: the entry closes the checkpoint until that batch is committed, and is then exchanged for that of
  an empty batch. The latter at once would make Spark take the batch in flight for committed, and lose its rows if its
  writer has died.
* A flow of a declarative pipeline: the entry closes the checkpoint until the fence is taken back. The run starts a flow
  that has failed again, after 5 and after 10 seconds, and such a start would run the batch of a fence and go on.
"""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

from airflow_provider_ckpt.change.plan.actions import Create
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import LatestCommitted, LatestPlanned, SameQuery
from airflow_provider_ckpt.checkpoint.flows import Flow
from airflow_provider_ckpt.checkpoint.progress import or_none
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import CLOSING, OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.query.sink import NOT_DECLARED
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.times import time_text

_EXACT = SinkEffect(NOT_DECLARED, "exact", "the batch of the fence reads no rows")
_NOT_RUN = SinkEffect(
    NOT_DECLARED, "exact", "the batch of the fence does not run: Spark does not start, see the warnings"
)


def plan_fence(view: CheckpointView, batch_id: int, entry: OffsetSeq, commit: CommitMetadata, at_ms: int) -> Plan:
    """A fence behind a batch that is committed.

    Args:
        view: The checkpoint.
        batch_id: Its newest committed batch.
        entry: The offset entry of that batch.
        commit: Its commit entry.
        at_ms: Now, epoch milliseconds.
    """
    own = batch_id + 1
    notes = (
        f"{layout.offset_entry(own)} becomes the entry of an empty batch: the offsets of batch {batch_id}, and the "
        "watermark that its commit says.",
        f"What it proves: a query that was at batch {batch_id} can plan no batch any more. It stops at its next one, "
        "with CONCURRENT_STREAM_LOG_UPDATE.",
    )
    plan = _plan(view, batch_id, empty_entry(entry, commit).decode(), at_ms, notes, _limits(own))
    before_ms = entry.metadata.batch_watermark_ms if entry.metadata else 0
    if not view.stateful or commit.next_batch_watermark_ms <= before_ms:
        return plan
    late = (
        f"The batch of the fence moves the watermark from {time_text(before_ms)} to "
        f"{time_text(commit.next_batch_watermark_ms)}, as a batch without rows does. The next rows with times in "
        "between are dropped as late; without the fence the next batch might have taken them."
    )
    effect = replace(_EXACT, reason=f"{_EXACT.reason}; it moves the watermark, see the warnings")
    return replace(plan, effects=(effect,), warnings=(late, *plan.warnings))


def without_start(plan: Plan) -> Plan:
    """The fence of a checkpoint from which Spark does not start, whatever is done: nothing runs the batch of it."""
    warnings = (text for text in plan.warnings if text != _goes_on(plan.batch_id + 1))
    return replace(plan, effects=(_NOT_RUN,), warnings=tuple(warnings))


def empty_entry(entry: OffsetSeq, commit: CommitMetadata) -> bytes:
    """The entry of a batch that reads nothing after another one, as Spark itself would plan it, as bytes.

    It has the offsets and the confs of the batch before it, and its time, which must not go backwards. Its watermark is
    the one that the commit of that batch says for the next one: with that of the offset entry, the query would forget
    how far its event time has come [measured on Spark 4.3], and its last windows would wait for further rows. It says
    that it is a fence, in a field that Spark ignores.

    Args:
        entry: The offset entry of the batch before it.
        commit: The commit entry of that batch.
    """
    metadata = entry.metadata or OffsetSeqMetadata()
    watermark_ms = max(metadata.batch_watermark_ms, commit.next_batch_watermark_ms)
    own = replace(metadata, batch_watermark_ms=watermark_ms, control=None, fence=True)
    return replace(entry, metadata=own).encode()


def plan_there(view: CheckpointView, batch_id: int, data: str, at_ms: int) -> Plan:
    """A fence behind a committed batch that is there already, with this content."""
    return _plan(
        view, batch_id, data, at_ms, (f"{layout.offset_entry(batch_id + 1)} is a fence.",), _limits(batch_id + 1)
    )


def plan_closing(view: CheckpointView, batch_id: int, at_ms: int) -> Plan:
    """A fence behind a batch in flight: the checkpoint is closed until that batch is committed.

    Args:
        view: The checkpoint.
        batch_id: The batch in flight.
        at_ms: Now, epoch milliseconds.
    """
    own = batch_id + 1
    notes = (
        f"Batch {batch_id} is in flight (planned, not committed). {layout.offset_entry(own)} closes the checkpoint "
        f"until that batch is committed: no Spark starts, and no query plans batch {own}.",
        f"When batch {batch_id} is committed in time, the entry becomes that of an empty batch. When not, it is "
        "removed again, and the fence is refused.",
    )
    return _plan(view, batch_id, CLOSING.decode(), at_ms, notes, _limits(own))


def plan_closing_of(flow: Flow, view: CheckpointView, batch_id: int, at_ms: int) -> Plan:
    """Plan that stops a flow of a declarative pipeline: its checkpoint is closed until that is taken back.

    Args:
        flow: The flow.
        view: Its checkpoint.
        batch_id: The newest batch in the offset log.
        at_ms: Now, epoch milliseconds.
    """
    notes = (
        f"This is {flow.called}, of a declarative pipeline: its run starts a flow that has failed again, and that "
        "start would run the batch of a fence and go on. So the checkpoint is closed instead: no Spark starts from it.",
        f"What it proves: no run commits a batch after batch {batch_id}, until `ckpt undo {quote(view.location)}` "
        "opens the "
        "checkpoint again.",
    )
    warnings = (
        "The flow fails at its next batch, is started again twice, and fails; what reads from it is skipped in this "
        "run, and materialized views stay empty until a run succeeds.",
        "A full refresh begins another version of the flow, which is not closed.",
        "A task that still writes to the table is not stopped.",
    )
    return _plan(view, batch_id, CLOSING.decode(), at_ms, notes, warnings)


def plan_hold(view: CheckpointView, batch_id: int, at_ms: int) -> Plan:
    """Plan that keeps any Spark from starting: the checkpoint is closed until that is taken back.

    Args:
        view: The checkpoint.
        batch_id: The newest batch in the offset log.
        at_ms: Now, epoch milliseconds.
    """
    notes = (
        f"{layout.offset_entry(batch_id + 1)} closes the checkpoint: no Spark starts from it, and no query plans batch "
        f"{batch_id + 1}, until `ckpt undo {quote(view.location)}` or `ckpt start` opens it again.",
    )
    warnings = (
        "A query that is idle now stays alive in memory, and stops when it tries to plan its next batch.",
        "A task that still writes to the sink is not stopped.",
    )
    return _plan(view, batch_id, CLOSING.decode(), at_ms, notes, warnings)


def is_closing(plan: Plan) -> bool:
    """True if the entry closes the checkpoint: until the batch in flight is committed, or the flow is opened again."""
    return fence_of(plan).data == CLOSING.decode()


def committed_before(plan: Plan) -> int | None:
    """The newest committed batch that a fence was planned behind; None without one."""
    said = next(item.expected for item in plan.requirements if isinstance(item, LatestCommitted))
    return int(said) if said.isdecimal() else None


def fence_of(plan: Plan) -> Create:
    """The entry that a fence creates."""
    (action,) = plan.actions
    assert isinstance(action, Create)
    return action


def _plan(
    view: CheckpointView, batch_id: int, data: str, at_ms: int, notes: tuple[str, ...], warnings: tuple[str, ...]
) -> Plan:
    return Plan(
        kind="fence",
        location=view.location,
        query_id=view.query_id or "",
        batch_id=batch_id,
        planned_at_ms=at_ms,
        requirements=(
            SameQuery(view.query_id or "none"),
            LatestCommitted(or_none(view.latest_committed)),
            LatestPlanned(or_none(view.latest_planned)),
        ),
        actions=(Create(layout.offset_entry(batch_id + 1), "checkpoint", data),),
        effects=(_EXACT,),
        notes=notes,
        warnings=warnings,
    )


def _limits(own: int) -> tuple[str, ...]:
    """Sentences on what a fence does not prove."""
    return (
        "A query that is idle now stays alive in memory, and stops when it tries to plan its next batch.",
        "A task that still writes to the sink is not stopped.",
        _goes_on(own),
        "Async progress tracking, real-time mode and continuous processing write offset entries late. Files do not "
        "always show them: do not rely on a fence for such a query.",
    )


def _goes_on(own: int) -> str:
    return (
        f"A query that is started now, by a person or by a supervisor, runs batch {own} as an empty one and goes on: "
        "stop what starts it again."
    )
