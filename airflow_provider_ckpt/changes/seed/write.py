"""Carrying out the plan of a seed: a new or empty location gets the files of a new checkpoint."""

from __future__ import annotations

from collections.abc import Collection

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.change.new_place.write import Writer, write_new
from airflow_provider_ckpt.change.open_sinks import Sinks
from airflow_provider_ckpt.change.plan.actions import Action, Create
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.changes.seed.make import read_markers
from airflow_provider_ckpt.changes.seed.plan import Positions, committed_batch, plan_seed
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointFormatError, PlanError, StalePlanError
from airflow_provider_ckpt.storage.concurrency import OnStep, no_step
from airflow_provider_ckpt.storage.store import Store


def write_seed(
    plan: Plan,
    target: Store,
    *,
    by: str = "",
    asked: str = "",
    on_step: OnStep = no_step,
    accept_sink: str | Collection[str] = (),
    approved_by: str = "",
    sinks: Sinks = (),
) -> Receipt:
    """Carry out a seed. Killed at any point, the same plan completes it.

    Args:
        plan: The plan to carry out.
        target: The location to write to.
        by: Who does it, for the history of the new checkpoint; when nobody says, nothing is recorded.
        asked: The request, as for :func:`~airflow_provider_ckpt.change.apply.apply`.
        on_step: Called after each file.
        accept_sink: Sink effects that are accepted, by name: ``duplicated``, ``unknown``.
        approved_by: Name of the person who has approved the plan, for the history; empty for ``by``.
        sinks: The sinks that were declared for the plan, each with the store of its ``directory``.

    Raises:
        PlanError: The effect on a sink is not exact, and was not accepted; or it is not the plan of a seed.
        StalePlanError: A sink has got a later batch since, or the plan was edited.
        ObjectExistsError: There is something else at the location.
    """
    writer = _Writer(plan, target, tuple(sinks))
    return write_new(writer, by=by, asked=asked, on_step=on_step, accept_sink=accept_sink, approved_by=approved_by)


class _Writer(Writer):
    """Writes the files of a new checkpoint; see :func:`write_seed`."""

    kind = "seed"

    def require_right(self, todo: Collection[Action]) -> None:
        """Require the steps of a seed, and sinks that have seen no later batch while there is something to write."""
        plan = self.plan
        if not plan.effects or plan.actions != _actions_again(plan):
            raise StalePlanError(
                "the plan was edited: it is not one of a seed as ckpt makes it.",
                location=self.target.location,
                batch_id=plan.batch_id,
                hint="Nothing was done. Make the plan again.",
            )
        if todo:
            self._require_unseen()

    def _require_unseen(self) -> None:
        """Refuse when a sink has got a batch since the plan whose id the new checkpoint would use."""
        plan = self.plan
        markers = read_markers(self.sinks or [(sink, None) for sink in plan.declared_sinks])
        if [name for name, _ in markers] != [sink.name for sink in plan.declared_sinks]:
            raise PlanError(
                "the sinks that were given are not those of the plan.", location=plan.location, hint="Nothing was done."
            )
        try:
            found = committed_batch([marker for _, marker in markers], plan.batch_id)
            changed = "a sink has got other batches" if found != plan.batch_id else ""
        except PlanError as error:  # a file sink whose log was there is not what it was
            changed = f"a sink was changed ({error.message.removesuffix('.')})"
        if changed:
            raise StalePlanError(
                f"{changed} since the plan was made, which begins after batch {plan.batch_id}.",
                location=plan.location,
                batch_id=plan.batch_id,
                hint="Nothing was done. Stop the query that writes to it, and make the plan again.",
            )


def _actions_again(plan: Plan) -> tuple[Action, ...]:
    """The steps that follow from the newest offset entry of a plan; none where that is no such entry."""
    name = layout.offset_entry(plan.batch_id)
    data = next((action.data for action in plan.actions if isinstance(action, Create) and action.name == name), "")
    try:
        entry = codec.decode(name, data.encode())
    except CheckpointFormatError:
        return ()
    if not isinstance(entry, OffsetSeq):  # the name of an id that Spark cannot have
        return ()
    offsets = tuple((source_id, offset) for source_id, offset in entry.offsets if offset is not None)
    conf, timestamp_ms = (entry.metadata.conf, entry.metadata.batch_timestamp_ms) if entry.metadata else ({}, 0)
    again = plan_seed(
        plan.location,
        Positions(offsets, entry.version, conf, _with_initial(plan)),
        query_id=plan.query_id,
        batch_id=plan.batch_id,
        planned_at_ms=timestamp_ms,
        effects=(),
    )
    return again.actions


def _with_initial(plan: Plan) -> frozenset[str]:
    """The sources to which a plan gives an initial offset."""
    places = (layout.parse(action.name) for action in plan.actions)
    return frozenset(place.source_id for place in places if isinstance(place, layout.InitialOffsetFile))
