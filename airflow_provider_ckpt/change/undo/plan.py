"""The plan of an undo: put back what a change removed and remove what it added, in the reverse order.

It is made against what is there now. What a query has written since is peeled first, as in a rollback, so each prefix
of the steps is as sound as those of a rollback. An undo is not undone: making the change again does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from airflow_provider_ckpt.change.actions import Action, Copy, Delete
from airflow_provider_ckpt.change.facts import Place, Saved, Spot, kept_objects
from airflow_provider_ckpt.change.later_batches import peel, requirements_of, source_deletes, trimmed_entries
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.requirements import KeptObjects, KeptSinkLog, SameQuery
from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import batches_text

#: Files that a refusal names.
_NAMED = 3
#: Tells the SHA-256 (hex) of what is somewhere.
Sha256Of = Callable[[Place, str], str]


class Undo:
    """What a change has left, what was written since, and so what taking it back means.

    Args:
        done: The plan that was applied, as a whole or in part.
        view: The whole checkpoint as it is now; with the entries of ``done.batch_id`` when they are there.
        sink_log: The log of the sink when the change trimmed it.
        saved: What the change has saved, by where it was.
        sha256_of: Reads what is somewhere.

    Raises:
        PlanError: What the change left alone is not as it was, so that nothing sure would come of an undo.
    """

    def __init__(
        self,
        done: Plan,
        view: CheckpointView,
        sink_log: SinkLog | None,
        saved: Mapping[Spot, Saved],
        sha256_of: Sha256Of,
    ) -> None:
        self._done, self.view, self._sink_log, self._saved = done, view, sink_log, saved
        self._objects: dict[Place, Mapping[str, StoredObject]] = {
            "checkpoint": view.objects,
            "sink": sink_log.objects if sink_log is not None else {},
        }
        self._present = self._find_present(sha256_of)
        self._own = {action.spot for action in self._present}
        self._peeled = () if self.is_untouched else self._peel()
        #: Tables of RocksDB that a query has written since; they stay.
        self._new_tables: tuple[str, ...] = ()
        self._require_kept()

    @property
    def is_untouched(self) -> bool:
        """Whether the change was stopped before its first step, so that there is nothing to take back."""
        removed = {action.spot for action in self._done.actions if isinstance(action, Delete)}
        return all(
            action in self._present if isinstance(action, Delete) else action.spot not in self._own - removed
            for action in self._done.actions
        )

    @property
    def foreign_batches(self) -> tuple[int, ...]:
        """Batches that a query has planned or committed since; ascending."""
        places = (layout.parse(action.name) for action in self._peeled)
        return tuple(sorted({place.batch_id for place in places if isinstance(place, layout.LogEntry)}))

    def plan(self, saved_at: str, planned_at_ms: int, effects: tuple[SinkEffect, ...] = ()) -> Plan:
        """The plan; ``saved_at`` is where the copies are, under ``checkpoint/`` and ``sink/``."""
        done = self._done
        actions = [*self._peeled, *(() if self.is_untouched else self._put_back())]
        return Plan(
            kind="undo",
            location=self.view.location,
            query_id=done.query_id,
            batch_id=self._batch_afterwards(actions),
            planned_at_ms=planned_at_ms,
            requirements=tuple(requirements_of(self.view, actions, self._sink_log)),
            actions=tuple(actions),
            warnings=(f"Undoes the {done.kind} to batch {done.batch_id} ({done.plan_id}).", *self._warnings()),
            effects=effects,
            source=saved_at,
            sink=done.sink,
            undoes=done.plan_id,
        )

    def _find_present(self, sha256_of: Sha256Of) -> set[Action]:
        """The steps whose object is there: as it did before the change, or as it or an undo of it has put it there.

        A batch that runs again may write some files with the bytes that they had before. They go with their batch.
        """
        present = [action for action in self._done.actions if self._stored(action) is not None]
        exact = {action for action in present if self._is_exact(action)}
        same = {action for action in present if action not in exact and self._is_same(action, sha256_of)}
        own = {action.spot for action in exact | same}
        written_since = {
            _batch_of(name) for place, objects in self._objects.items() for name in objects if (place, name) not in own
        }
        later = {batch for batch in written_since if batch is not None and batch > self._done.batch_id}
        return exact | {action for action in same if _batch_of(action.name) not in later}

    def _stored(self, action: Action) -> StoredObject | None:
        return self._objects[action.place].get(action.name)

    def _is_exact(self, action: Action) -> bool:
        stored = self._stored(action)
        return isinstance(action, Delete) and stored is not None and action.identity == stored.identity

    def _is_same(self, action: Action, sha256_of: Sha256Of) -> bool:
        """Whether the bytes are those that a delete has saved, or that a copy has brought."""
        stored = self._stored(action)
        wanted = self._saved.get(action.spot) if isinstance(action, Delete) else Saved(action.size, action.sha256)
        if stored is None or wanted is None or stored.size != wanted.size:
            return False
        return sha256_of(action.place, action.name) == wanted.sha256

    def _others(self, place: Place) -> dict[str, StoredObject]:
        """What is not of the change: what it left alone, and what was written since."""
        return {name: stored for name, stored in self._objects[place].items() if (place, name) not in self._own}

    def _peel(self) -> tuple[Delete, ...]:
        """Deletes for what a query has written since."""
        done, view = self._done, replace(self.view, objects=self._others("checkpoint"))
        sink_log = None if self._sink_log is None else replace(self._sink_log, objects=self._others("sink"))
        trims = trimmed_entries(done.batch_id, sink_log) if sink_log is not None else {}
        peeled = peel(view, done.batch_id, trims, sink_log)
        return tuple(peeled) + tuple(source_deletes(view, done.batch_id) if self._knows_target else ())

    @property
    def _knows_target(self) -> bool:
        """Whether the offsets of the batch are there, which say where the source logs end; none were written then."""
        return layout.offset_entry(self._done.batch_id) in self.view.entries

    def _require_kept(self) -> None:
        done = self._done
        if self.is_untouched:
            return
        touched = {*done.deleted, *done.written, *(action.spot for action in self._peeled)}
        for requirement in done.requirements:
            match requirement:
                case SameQuery() if ("checkpoint", layout.METADATA) in touched:
                    continue
                case SameQuery():
                    found = self.view.query_id or "none"
                case KeptObjects():
                    found = self._kept_but_for_new_tables(requirement, touched)
                case KeptSinkLog():
                    found = kept_objects(self._objects["sink"], (name for at, name in touched if at == "sink"))
                case _:
                    continue
            if found != requirement.expected:
                raise self._refused(self._changed(requirement, touched, found))

    def _kept_but_for_new_tables(self, requirement: KeptObjects, touched: set[Spot]) -> str:
        """The digest of what the change left alone, without the tables of RocksDB that came since when it is so right.

        A query uploads tables before the zip that names them, and each under a name with a new UUID. Those of the
        batches that are dropped here, and of one that was stopped before its zip, are named by no zip that was there
        before. The digest shows that all the rest is there, as it was.
        """
        names = {name for place, name in touched if place == "checkpoint"}
        found = kept_objects(self.view.objects, names)
        if found == requirement.expected:
            return found
        tables = [name for name in self._younger(touched, "checkpoint") if _is_table(name)]
        found = kept_objects(self.view.objects, names.union(tables))
        if found == requirement.expected:
            self._new_tables = tuple(tables)
        return found

    def _younger(self, touched: set[Spot], place: Place) -> list[str]:
        """What came after the plan of the change and is not of it, in the order of names."""
        return sorted(
            name
            for name, stored in self._objects[place].items()
            if (place, name) not in touched and (stored.modified_ms or 0) > self._done.planned_at_ms
        )

    def _changed(self, requirement: SameQuery | KeptObjects | KeptSinkLog, touched: set[Spot], found: str) -> str:
        """Which place is not as it was, and the first files of it that are younger than the plan of the change."""
        if isinstance(requirement, SameQuery):
            return f"the checkpoint was of query {requirement.expected}, and is of query {found}"
        place: Place = "sink" if isinstance(requirement, KeptSinkLog) else "checkpoint"
        where = self.view.location if place == "checkpoint" else f"the log of the sink {self._done.sink}"
        if not self._objects[place]:
            return f"{where} is gone or empty"
        young = [name for name in self._younger(touched, place) if not _is_table(name)]
        if not young:
            return f"files of {where} are gone, or others have come that are older than the {self._done.kind}"
        more = f" and {len(young) - _NAMED} more" if len(young) > _NAMED else ""
        return f"in {where}, {', '.join(young[:_NAMED])}{more} were written since, or others are gone"

    def _refused(self, problem: str) -> PlanError:
        done = self._done
        return PlanError(
            f"the {done.kind} to batch {done.batch_id} ({done.plan_id}) cannot be undone in place: what it left alone "
            f"has changed since ({problem}).",
            location=self.view.location,
            batch_id=done.batch_id,
            hint=f"Nothing was done. {self._moved()}What the change removed is kept under {done.plan_id}/saved in its "
            "record (ckpt history). Roll back to a batch that is there (ckpt rollback), or restore a backup to a new "
            "location (ckpt restore).",
        )

    def _moved(self) -> str:
        """What may have changed everything, and what helps."""
        if self.view.location == self._done.location:
            return (
                "A query has run since and purged or rewritten older files, or they were copied over; or a later "
                "change has its record elsewhere, and is undone first: give --undo-to ROOT (undo_root= in a DAG). "
            )
        return (
            f"It was made at {self._done.location}, and the files of a copy are others. Undo it there; or remove the "
            "copy, and move the checkpoint and its _ckpt_undo here instead. "
        )

    def _put_back(self) -> Iterable[Action]:
        """The steps backwards. Where the change has put one object in the place of another, that one goes first."""
        gone: set[Spot] = set()
        originals = {action.spot for action in self._present if isinstance(action, Delete)}
        for action in reversed(self._done.actions):
            stored = self._objects[action.place].get(action.name)
            if not isinstance(action, Delete):
                if stored is not None and (action in self._present or action.spot not in originals):
                    gone.add(action.spot)
                    yield Delete(action.name, action.place, stored.size, stored.identity, action.sha256)
            elif action not in self._present or action.spot in gone:
                yield self._copy_of(action)

    def _copy_of(self, action: Delete) -> Copy:
        saved = self._saved.get(action.spot)
        if saved is None or saved.size != action.size:
            problem = "is not there any more" if saved is None else "is not what was saved"
            raise PlanError(
                f"the {self._done.kind} {self._done.plan_id} cannot be undone: what it saved of this file {problem}.",
                location=self.view.location,
                name=action.name,
                hint="Nothing was done. Restore a backup to a new location (ckpt restore).",
            )
        return Copy(action.name, action.place, saved.size, saved.sha256, f"{action.place}/{action.name}")

    def _batch_afterwards(self, actions: Iterable[Action]) -> int:
        """The newest committed batch when the actions are done."""
        names = set(self.view.objects)
        for action in actions:
            if action.place == "checkpoint":
                (names.discard if isinstance(action, Delete) else names.add)(action.name)
        places = map(layout.parse, names)
        commits = (item.batch_id for item in places if isinstance(item, layout.LogEntry) and item.log == layout.COMMITS)
        return max(commits, default=self._done.batch_id)

    def _warnings(self) -> Iterable[str]:
        if batches := self.foreign_batches:
            those = batches_text(batches[0], batches[-1])
            yield (
                f"A query has written {those} since the {self._done.kind}. They are dropped first; their files are "
                "kept in the record of this undo."
            )
        if tables := self._new_tables:
            yield (
                f"{len(tables)} files of RocksDB tables that a query has uploaded since the {self._done.kind} are left "
                f"as they are: {listed_shortly(tables, _NAMED)}. No state version that will be there names them, so "
                "Spark does not read them, and its maintenance removes them in time."
            )


def _is_table(name: str) -> bool:
    return isinstance(layout.parse(main_name(name)), layout.StateTable)


def _batch_of(name: str) -> int | None:
    """The batch that a file belongs to; None for files that belong to several, or to none."""
    match layout.parse(main_name(name)):
        case layout.LogEntry(batch_id=batch) | layout.SinkLogEntry(batch_id=batch):
            return batch
        case layout.StateFile(version=version):
            return version - 1
        case layout.OperatorMetadataFile(_, int(batch)) | layout.StateSchemaFile(_, int(batch)):
            return batch
    return None
