"""The stores that a change works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

from airflow_provider_ckpt.change.open_sinks import open_sink
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores that a change works on.

    Args:
        checkpoint: The checkpoint that is changed.
        sink: The sink: the output directory of a file sink, or a table.
        undo: Root of the records; None for the directory beside the checkpoint.
        backups: Root of backups, for the files of a batch that was purged.
        spark_confs: With which a Spark reaches the checkpoint; a plan does not hold them, for they may be secret.
    """

    checkpoint: Store
    sink: Store | None = None
    undo: Store | None = None
    backups: Store | None = None
    spark_confs: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        checkpoint: str,
        open_store: Callable[[str], Store],
        *,
        sink: Sink | None = None,
        undo: str | None = None,
        backups: str | None = None,
        spark_confs: Mapping[str, str] | None = None,
    ) -> Stores:
        """The places of a change that is yet to be planned, from their locations.

        Args:
            checkpoint: The checkpoint that is changed.
            open_store: Opens a location.
            sink: The sink as it was declared; one without a directory has no store.
            undo: Root of the records, or nothing.
            backups: Root of backups, or nothing.
            spark_confs: Confs of the Spark that repartitions the state.
        """
        return cls(
            open_store(checkpoint),
            open_sink(sink, open_store),
            open_store(undo) if undo else None,
            open_store(backups) if backups else None,
            spark_confs or {},
        )

    def for_plan(self, plan: Plan, open_store: Callable[[str], Store]) -> Stores:
        """The same places, with the sink and the backups that a plan names where none were given."""
        sink = self.sink or open_sink(plan.declared_sink, open_store)
        named = plan.rules.takes_from_backups and plan.source and self.backups is None
        return replace(self, sink=sink, backups=open_store(plan.source) if named else self.backups)

    def declared(self, sink: Sink | None) -> Sink:
        """The sink that was said, a file sink where there is only its place; of no kind when nothing was said."""
        return sink or (Sink("file", self.sink.location) if self.sink else Sink(""))

    def place(self, name: str) -> Store:
        """The store that an action works on."""
        store = self.sink if name == "sink" else self.checkpoint
        if store is None:
            raise PlanError("the plan trims the log of a sink, but no sink was given")
        return store

    @property
    def undo_command(self) -> str:
        """The command that takes back the newest change here, for a shell."""
        records = f" --undo-to {quote(self.undo.location)}" if self.undo is not None else ""
        return f"ckpt undo {quote(self.checkpoint.location)}{records}"

    def record(self, plan_id: str) -> Store:
        """Where the record of one plan is."""
        return journal.record_of(self.checkpoint, plan_id, self.undo)


def _is_same_place(location: str, checkpoint: Store) -> bool:
    """True if a location is that of a checkpoint, by whatever link."""
    if location == checkpoint.location:
        return True
    return (
        checkpoint.is_local and location.startswith("/") and checkpoint.at(location).real_root == checkpoint.real_root
    )


def require_own_place(plan: Plan, stores: Stores) -> None:
    """Raise PlanError for a plan that was made for another location, unless it was begun; nothing is written."""
    checkpoint = stores.checkpoint
    if _is_same_place(plan.location, checkpoint):
        return
    files, _ = stores.record(plan.plan_id).ls()
    if not journal.may_have_taken_steps(files):
        to = "of" if plan.rules.in_place else "to"
        raise PlanError(
            f"the plan is {plan.with_article} {to} {plan.location}, not {to} this location.",
            location=checkpoint.location,
            hint="Nothing was done. Give the location for which the plan was made, or make a new plan.",
        )


def require_reachable(store: Store) -> None:
    """Raise PlanError for a symbolic link that leads nowhere: it is listed as empty, and cannot be written to."""
    path = Path(store.root)
    if store.is_local and path.is_symlink() and not path.exists():
        raise PlanError(
            f"the location is a symbolic link to {store.real_root}, which does not exist.",
            location=store.location,
            hint="Nothing was done. Make that directory, or give another location.",
        )
