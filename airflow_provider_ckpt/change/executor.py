"""Taking the steps of a plan in place: what comes is laid ready and what goes is saved, before the first of them.

Each kind of plan has an executor, which names its planner and says what differs: where its copies come from, what
helps when a query has started meanwhile, and what is to be judged or cleared away in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import ClassVar

from airflow_provider_ckpt.change import stage
from airflow_provider_ckpt.change.make_plan import Planner, make_anew
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import (
    Action,
    Clear,
    Close,
    Copy,
    Delete,
    Ends,
    Open,
    Repartition,
    Replace,
    Taking,
)
from airflow_provider_ckpt.change.plan.facts import Place, Spot
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointBusyError, ObjectExistsError, PlanError
from airflow_provider_ckpt.storage.access import Attributes
from airflow_provider_ckpt.storage.store import SMALL_BYTES, Store

#: Called now and then during something long.
Tick = Callable[[], None]
#: Raises CheckpointBusyError when the lock of this run was taken over.
Mine = Callable[[], None]


class InPlace:
    """Carries out the steps of a plan on its stores.

    Args:
        plan: The plan to carry out.
        stores: The checkpoint and the other places of the change.
        mine: Called before anything is deleted from the record, which a run that takes the plan over uses as well.
    """

    def __init__(self, plan: Plan, stores: Stores, mine: Mine) -> None:
        self.plan, self.stores, self.mine = plan, stores, mine
        self.record = stores.record(plan.plan_id)
        #: Of what was put in its place.
        self.identities: dict[Spot, str] = {}

    # --- what a kind may say differently ---------------------------------------------------------------------------

    #: What asks for changes of this kind.
    planner: ClassVar[type[Planner]]

    def plan_again(self) -> Plan:
        """The plan of this kind that would be made now in the place of this one, which was not begun yet.

        Raises PlanError when none would be made.
        """
        return make_anew(self.planner.of(self.plan, self.stores), self.stores)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Copy what comes into the record, verified: neither a step nor the end of its backup takes it away then."""
        stage.stage(copies, self.plan, self.stores, self.record, tick, self.mine, resuming=resuming)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """Where the verified object of a copy is."""
        return self.record.child(journal.STAGED_OBJECTS), copy.name

    def attributes_of(self, copy: Copy) -> Attributes | None:
        """Attributes for an object saved where they could not be kept; None where its copy has them."""
        if copy.source and not self.plan.rules.moves_own:
            return None
        saved = stage.saved_objects(self.record).get((copy.place, copy.source or copy.name))
        return None if saved is None else saved.attributes

    @property
    def ways_out(self) -> str:
        """Commands that help when a query has started after the first step, each with its effect."""
        return f"run `{self.stores.undo_command}` to put back what was there before"

    def judge_outcome(self) -> None:
        """Judge what the steps led to, taken by this run or an earlier one, before anybody has said that they were.

        Each object was verified when it came. Raises PlanError when the outcome is not what it should be.
        """

    def finish(self, by: str, at_ms: int) -> None:
        """Write down and clear away what is to be when all is done; ``by`` and ``at_ms`` say by whom and when.

        No second copy is kept of what is in its place now.
        """
        if any(isinstance(action, Copy) for action in self.plan.actions):
            self.mine()
            journal.clear(self.record, journal.STAGED_OBJECTS)

    # --- before the first step -------------------------------------------------------------------------------------

    def prepare(self, todo: Sequence[Action], tick: Tick, *, resuming: bool) -> None:
        """Lay ready what will come and save what will go; no step is taken yet.

        Args:
            todo: The steps that are left.
            tick: Called between objects.
            resuming: True if an earlier run has saved everything.
        """
        self.lay_ready([action for action in todo if isinstance(action, Copy)], tick, resuming=resuming)
        taken = [action for action in todo if isinstance(action, Taking)]
        stage.save(taken, self.stores.place, self.record, tick, self.mine, resuming=resuming)

    def give_up(self) -> None:
        """Delete what was laid ready and saved, when no step was taken."""
        taken = [action for action in self.plan.actions if isinstance(action, Taking)]
        stage.give_up(taken, self.stores.place, self.record, self.mine)

    # --- steps -----------------------------------------------------------------------------------------------------

    def delete(self, delete: Delete) -> None:
        """Remove an object. Raises CheckpointBusyError when another one is in its place: that was not saved."""
        store = self.stores.place(delete.place)
        if not delete.identity:
            store.delete(delete.name)
        elif not store.delete_if(delete.name, delete.identity):
            raise self._taken(delete.name)

    def put(self, copy: Copy) -> None:
        """Put an object in its place. Raises CheckpointBusyError when another one has appeared there."""
        source, name = self.source_of(copy)
        store = self.stores.place(copy.place)
        with suppress(ObjectExistsError):  # a driver may repeat what it has done; what is there is read
            _put_new(source, name, store, copy.name, self.attributes_of(copy))
        origin, now = source.stat(name), store.stat(copy.name)
        same = now is not None and origin is not None and now.identity == origin.identity
        if now is None or not (same or store.sha256(copy.name) == (copy.size, copy.sha256)):
            raise self._taken(copy.name)
        self.identities[copy.spot] = now.identity

    def create(self, place: Place, name: str, data: bytes) -> None:
        """Write an object."""
        self.stores.place(place).create(name, data)

    def replace(self, step: Replace) -> None:
        """Give an object another content. Raises CheckpointBusyError when it is not the one that was saved any more."""
        store = self.stores.place(step.place)
        stored = store.stat(step.name)
        if stored is None or stored.identity != step.identity:
            raise self._taken(step.name)
        self.exchange(step, store)
        now = store.stat(step.name)
        if now is None or now.size != step.new_size:
            raise self._taken(step.name)
        self.identities[step.spot] = now.identity

    def exchange(self, step: Replace, store: Store) -> None:
        """Write the content of a replace, at once."""
        store.write(step.name, step.data.encode(), headers=store.headers(step.name))

    def repartition(self, step: Repartition) -> None:
        """Have Spark write the state anew. Raises PlanError: a plan of another kind has no such step."""
        raise PlanError(f"{self.plan.with_article} does not {step.do}.", location=self.plan.location)

    def clear(self, step: Clear) -> None:
        """Remove a directory. Raises CheckpointBusyError when it is not empty: what is in it was not saved."""
        store = self.stores.place(step.place)
        store.remove_empty(step.name)
        if store.stat(step.name) is not None:
            raise self._taken(step.name)

    def close(self, step: Close) -> None:
        """Close the checkpoint. Raises CheckpointBusyError when a query has planned its next batch meanwhile."""
        store = self.stores.place(step.place)
        with suppress(ObjectExistsError):  # a driver may repeat what it has done; what is there is read
            store.create(step.name, CLOSING)
        self._require_closed(step, store)
        store.flush()

    def open(self, step: Open) -> None:
        """Open the checkpoint again, when all that was done is safe on the disk. Raises CheckpointBusyError."""
        store = self.stores.place(step.place)
        store.flush()
        stored = store.stat(step.name)
        self._require_closed(step, store)
        if stored is not None and not store.delete_if(step.name, stored.identity):
            raise self._taken(step.name)

    def _require_closed(self, step: Ends, store: Store) -> None:
        if store.read_up_to(step.name, step.size + 1) != CLOSING:
            raise self._taken(step.name)

    def _taken(self, name: str) -> CheckpointBusyError:
        return CheckpointBusyError(
            f"a query started during the {self.plan.called} and wrote this file.",
            location=self.plan.location,
            name=name,
            hint=self.what_next,
        )

    @property
    def what_next(self) -> str:
        """Next step when a query has started after the first step."""
        return f"The removed files are saved. Stop the query and everything that restarts it. Then {self.ways_out}."


def _put_new(source: Store, name: str, store: Store, to_name: str, like: Attributes | None) -> None:
    """Put an object where a query may write as well: on a disk by a link, elsewhere by an exclusive create.

    S3 copies in two requests: whether the name is free, and then the copy, which would replace what a query has written
    between them. It is left for what is larger than any entry of a log.

    Raises ObjectExistsError.
    """
    data = b"" if store.is_local else source.read_up_to(name, SMALL_BYTES + 1)
    if store.is_local or len(data) > SMALL_BYTES:
        source.keep(name, store, to_name, like=like)
    else:
        store.create(to_name, data, headers=source.headers(name))


def executor_of(plan: Plan) -> type[InPlace]:
    """Who carries out plans of this kind; the module of no other kind is loaded.

    Raises:
        PlanError: A plan of this kind is not carried out in place.
    """
    if not plan.rules.in_place:
        raise PlanError(
            f"this plan is {plan.with_article}, which does not change a checkpoint in place.", location=plan.location
        )
    executor: type[InPlace] = import_module(f"airflow_provider_ckpt.{plan.rules.executor}").Executor
    return executor
