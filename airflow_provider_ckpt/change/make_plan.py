"""Planning any change in place: what was begun or done before is found first, and else a new plan is made.

A kind of change is a :class:`Planner`, which says what it observes, refuses and decides. The rest is alike for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from airflow_provider_ckpt.change.find_unfinished import unfinished_warnings
from airflow_provider_ckpt.change.fit_sink import FittedSink, fit_sink
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.lock import lock_warnings
from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.resume import Said, find_interrupted
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.checkpoint.observe import observe, refuse_closed, refuse_links
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True)
class Seen:
    """What a change is decided by.

    Args:
        stores: Where it is made.
        view: The checkpoint as it is now.
        said: What was said beside the target.
    """

    stores: Stores
    view: CheckpointView
    said: Said

    @property
    def checkpoint(self) -> Store:
        """Where the checkpoint is."""
        return self.stores.checkpoint

    @cached_property
    def sink(self) -> FittedSink:
        """The sink, read when it is asked for. Raises PlanError when it is not that of the query."""
        return fit_sink(self.stores, self.view, self.said.sink, self.view.latest_committed or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner(ABC):
    """A change that is asked for, and how it is planned: its fields, and what differs from kind to kind.

    A field that a person can set is ``Annotated`` with its :class:`~airflow_provider_ckpt.change.option.Opt`, of which
    every face is made.

    Args:
        fenced: The fence that is there (``ckpt fence``) is required in place of the word that the query is stopped.
    """

    kind: ClassVar[Kind]
    fenced: bool = False

    # What a face asks of every request; a kind that has a field of that name says it by that.

    @property
    def sink(self) -> Sink | None:
        """The sink of the query; None where nothing is said."""
        return None

    @property
    def trigger(self) -> str | None:
        """The trigger of the query; None where nothing is said."""
        return None

    @property
    def trim_sink_log(self) -> bool:
        """Whether the log of a file sink is trimmed."""
        return False

    @property
    def fence(self) -> bool:
        """Whether the checkpoint is fenced first."""
        return False

    @property
    def removes_fence(self) -> bool:
        """Whether nothing holds the query any more after a plan that is made behind a fence."""
        return False

    @property
    def wait_for_batch(self) -> float:
        """Seconds that the fence waits for the commit of a batch in flight."""
        return WAIT_S

    @property
    def downstream(self) -> tuple[str, ...]:
        """Roots below which readers of what is dropped are searched for."""
        return ()

    @property
    def said(self) -> Said:
        """What is said of it beside its target."""
        return Said(sink=self.sink, trigger=self.trigger, trim_sink_log=self.trim_sink_log)

    @property
    def places(self) -> Mapping[str, Any]:
        """What :meth:`Stores.of` has to open beside the checkpoint. Raises ValueError as :meth:`require_sense`."""
        return {"sink": self.said.sink}

    def require_sense(self) -> None:
        """Raise ValueError where the fields do not make sense by themselves, or lack what has to be said."""
        if self.trim_sink_log and self.sink is None:
            raise ValueError("--trim-sink-log needs --sink file:URI (in a DAG: trim_sink_log needs sink)")

    @classmethod
    @abstractmethod
    def of(cls, plan: Plan, stores: Stores) -> Planner:
        """What asks for the same as a plan. Raises PlanError when it cannot be told from the plan."""

    def plan(self, stores: Stores, opener: Callable[[str], Store] | None = None) -> Plan:
        """The plan of the same change that was killed or is carried out already, or else a new one.

        Args:
            stores: The checkpoint and the other places of the change.
            opener: Opens further places that the record of a change names.

        Raises:
            PlanError: The change is refused; the error says why.
            CheckpointMovedError: The query is running, and removes what was just listed.
        """
        return find_or_make(self, stores)

    @abstractmethod
    def is_met_by(self, plan: Plan) -> bool:
        """Whether a plan of this kind leads to the same end."""

    def is_done(self, record: journal.Record, stores: Stores) -> bool:
        """Whether the newest change, which met it, is not to be made once more; a change may always be."""
        return False

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint as it is now. Raises PlanError when it cannot be changed."""
        return observe_whole(stores.checkpoint)

    @abstractmethod
    def decide(self, seen: Seen) -> Plan:
        """The plan for what is there. Raises PlanError when there is none."""

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """The plan with what stops Spark before it and after it. Raises PlanError when something would do so anew."""
        return judge_start(plan, seen.view, seen.checkpoint)


def find_or_make(planner: Planner, stores: Stores) -> Plan:
    """As :meth:`Planner.plan`."""

    def found() -> Plan:
        return _find_done(planner, stores) or make_anew(planner, stores)

    return find_begun(planner, stores) or read_unmoved(found, stores.checkpoint, stores.sink)


def find_begun(planner: Planner, stores: Stores) -> Plan | None:
    """The plan of the same change that was killed on its way. Raises PlanError when it cannot be completed so."""
    return find_interrupted(stores, planner.kind, planner.is_met_by, planner.said)


def make_anew(planner: Planner, stores: Stores, view: CheckpointView | None = None) -> Plan:
    """The plan that is right now. Raises PlanError.

    Args:
        planner: Plans the change.
        stores: The checkpoint and the other places of the change.
        view: What :meth:`Planner.observe` gives, where it is known.
    """
    seen = Seen(stores, view or planner.observe(stores), planner.said)
    plan = planner.judge(planner.decide(seen), seen)
    if not plan.rules.takes_back:
        plan = replace(plan, warnings=(*plan.warnings, *unfinished_warnings(stores)))
    return with_lock_warnings(plan, stores.checkpoint)


def with_lock_warnings(plan: Plan, checkpoint: Store) -> Plan:
    """The plan with what its reader should know of the lock on this storage."""
    return replace(plan, warnings=(*plan.warnings, *lock_warnings(checkpoint)))


def _find_done(planner: Planner, stores: Stores) -> Plan | None:
    """The same change, carried out as the newest one: who asks again, because nobody saw it end, does not want two."""
    done = [record for record in journal.history(stores.checkpoint, stores.undo) if record.state == "applied"]
    if not done or done[-1].plan.kind != planner.kind or not planner.is_met_by(done[-1].plan):
        return None
    return done[-1].plan if planner.is_done(done[-1], stores) else None


# --- what several kinds observe and refuse ------------------------------------------------------------------------


def observe_whole(checkpoint: Store, batch_id: int | None = None) -> CheckpointView:
    """All of a checkpoint that can be changed, with the entries of a batch as far as they are there.

    Raises:
        PlanError: It has links, another change has closed it, or a full refresh has replaced it.
    """
    view = observe(checkpoint, deep=True, batch_id=batch_id)
    refuse_unchangeable(checkpoint, view)
    return view


def refuse_unchangeable(checkpoint: Store, view: CheckpointView) -> None:
    """Raise PlanError for a checkpoint that no change fits: see :func:`observe_whole`."""
    refuse_replaced(checkpoint)
    refuse_links(view)
    refuse_closed(view)


def observe_without_flight(checkpoint: Store) -> CheckpointView:
    """The same, also with the entries that are needed without the batch in flight. Raises as that one."""
    view = observe_whole(checkpoint)
    if view.latest_committed is None or view.latest_committed == view.latest_planned:
        return view
    return observe_whole(checkpoint, view.latest_committed)


def refuse_unfinished(view: CheckpointView, *, is_control: bool = False) -> None:
    """Raise PlanError for a checkpoint in the midst of a repartition, or where it is known to be ``is_control``."""
    if view.unfinished_repartition is not None or is_control:
        raise PlanError(
            f"batch {view.in_flight} is a repartition that was not finished.",
            location=view.location,
            batch_id=view.in_flight,
            hint="Nothing was done. Finish it (ckpt repartition), or take it back (ckpt undo).",
        )
