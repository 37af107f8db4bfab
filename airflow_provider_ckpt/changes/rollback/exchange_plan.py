"""The plan of a rollback that takes files from a backup: those that Spark has purged, and those that are damaged.

Three cases, by where the offset log is:

* **The batch is planned here.** Every later batch is peeled as in any rollback. Then what differs from the backup goes
  and the backup's files come. A log of a source, metadata of the query or of an operator change only while Spark
  refuses to start (``batch N-1 doesn't exist``): ``offsets/N-1`` goes before them and comes back last. A damaged
  ``offsets/N`` is such a fence itself; before it goes, ``offsets/N-2`` goes, so that Spark refuses at N-1 as well. It
  is whole, and comes back last, as it was.
* **It was purged, or its entry is lost, and a later one is planned.** What is left of later batches is exchanged:

  1. Every batch is peeled but the oldest that is planned after it, P. From here on Spark refuses to start
     (``batch P-1 doesn't exist``), so nothing can be mixed into a state, whatever happened since the backup.
  2. State and source log entries that the backup does not have go, newest first; then those of the backup that are not
     there come, and its commit.
  3. Its two offset entries come, then the commits of later batches go, then what they have in the sink log, and last
     ``offsets/P``. Spark starts after the batch of the backup, with exactly what the backup holds. When P comes right
     after that batch, Spark may start at P in this step: it runs P again on the state of the backup, or stops because
     the state or the source log entries of P are gone.

* **The newest entry is lost.** As the first case with a damaged ``offsets/N``.

Undo goes through the same states backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.change.plan.actions import Action, Copy, Delete
from airflow_provider_ckpt.change.plan.later_batches import (
    deletes_of,
    peel,
    requirements_of,
    source_deletes,
    trimmed_entries,
)
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import FromBackup
from airflow_provider_ckpt.changes.rollback.plan import in_flight_warnings, rollback_plan, unknown_warnings
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.source_log_files import file_sources
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import is_offset_entry, main_name
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import batches_text

#: Without one of these Spark refuses, or goes by others that are as right; a batch without its commit runs again.
_SAFE = (layout.StateFile, layout.StateTable, layout.LogEntry)
EXCHANGE_WARNING = (
    "Between some of the steps Spark cannot start from this checkpoint. If the rollback is interrupted there, run the "
    "same command again, or undo it."
)


def plan_exchange(
    view: CheckpointView,
    backup: Manifest,
    root: str,
    planned_at_ms: int,
    effects: tuple[SinkEffect, ...] = (),
    sink_log: SinkLog | None = None,
    replaced: Collection[str] = (),
    *,
    sha256_of: Callable[[str], str],
    closed: bool = False,
) -> Plan:
    """Go back in place to the batch of a backup, whose files come from there as far as the checkpoint lacks them.

    Args:
        view: The whole checkpoint, with the log entries of the backup where its own are missing or damaged.
        backup: The backup; its objects are the restart set of its batch.
        root: Location of the backup root.
        planned_at_ms: Now, epoch milliseconds.
        effects: Effects on the sinks.
        sink_log: The log of the file sink, when the batches are to be removed from it as well.
        replaced: Objects of the backup that are in the checkpoint with another content, and give way to it.
        sha256_of: Tells the SHA-256 (hex) of an object of the checkpoint that goes and comes back.
        closed: True if the checkpoint is closed around the steps, so that nothing else has to keep Spark from starting.

    Raises:
        BatchNotRestorableError: The checkpoint has gone another way than the backup, the sink log cannot be trimmed, or
            nothing would keep Spark from starting between two steps.
    """
    batch_id = backup.batch_id
    trims = trimmed_entries(batch_id, sink_log) if sink_log is not None else {}
    exchange = _Exchange(view, backup, replaced, sha256_of, closed=closed)
    oldest = min((batch for batch in view.planned if batch > batch_id), default=batch_id)
    if batch_id in view.planned or oldest == batch_id:
        actions: list[Action] = [*peel(view, batch_id, trims, sink_log), *exchange.at_newest()]
    else:
        above = {batch: names for batch, names in trims.items() if batch > oldest}
        peeled = peel(view, oldest, above, sink_log)
        actions = [*peeled, *exchange.before_later({action.name for action in peeled})]
        if sink_log is not None:
            below = [name for batch in sorted(trims.keys() - above.keys(), reverse=True) for name in trims[batch]]
            actions += deletes_of(sink_log.objects, below, "sink")
        actions += deletes_of(view.objects, [layout.offset_entry(oldest)])
    requirements = [*requirements_of(view, actions, sink_log), FromBackup(backup.backup_id)]
    warnings = (*in_flight_warnings(view, batch_id), *unknown_warnings(view), EXCHANGE_WARNING)
    return rollback_plan(
        view=view,
        batch_id=batch_id,
        planned_at_ms=planned_at_ms,
        requirements=requirements,
        actions=actions,
        warnings=warnings,
        effects=effects,
        sink_log=sink_log,
        source=root,
    )


def require_left_behind(view: CheckpointView, backup: Manifest, replaced: Collection[str]) -> bool:
    """Require that the checkpoint has been at the batch of a backup: it is planned, was purged, or its entry is lost.

    The entry is lost when the entry before it is that of the backup, and the batch is committed or a later one is
    planned.

    Returns:
        Whether it was purged.

    Raises:
        BatchNotRestorableError: It has not been there, or has gone back since.
    """
    batch_id, own = backup.batch_id, {item.name for item in backup.objects}
    if batch_id in view.planned:
        return False
    others = [batch for batch in view.planned if layout.offset_entry(batch) not in own]
    if others and others[0] > batch_id:
        return True
    before = next((name for name in own if is_offset_entry(name) and name != layout.offset_entry(batch_id)), None)
    is_before = before is not None and before in view.objects and before not in replaced
    if is_before and (batch_id in view.committed or max(view.planned) > batch_id):
        return False
    planned = batches_text(view.planned[0], view.planned[-1]) if view.planned else "no batch"
    raise BatchNotRestorableError(
        f"the offset log has {planned}, so batch {batch_id} of the backup is not an earlier batch that Spark has "
        "purged.",
        location=view.location,
        batch_id=batch_id,
    )


class _Exchange:
    """The steps by which files of a checkpoint give way to those of a backup; each object is one with its sidecars."""

    def __init__(
        self,
        view: CheckpointView,
        backup: Manifest,
        replaced: Collection[str],
        sha256_of: Callable[[str], str],
        *,
        closed: bool,
    ) -> None:
        self._is_closed = closed
        self._view, self._batch_id, self._replaced = view, backup.batch_id, frozenset(replaced)
        self._sha256_of = sha256_of
        self._stored = {item.name: item for item in backup.objects}
        self._units: dict[str, list[str]] = {}
        for item in backup.objects:
            self._units.setdefault(main_name(item.name), []).append(item.name)
        self._newest = layout.offset_entry(backup.batch_id)
        self._before = [name for name in self._units if is_offset_entry(name) and name != self._newest]

    def at_newest(self) -> list[Action]:
        """The steps when no later batch is planned."""
        others = [name for name in self._units if name not in (self._newest, *self._before)]
        past = source_deletes(self._as_it_will_be(), self._batch_id)
        if self._comes(self._newest):
            inner = [*self._rivals(), *self._swapped([*others, *self._before])]
            fence = [] if self._is_closed else self._before_newest(inner)
            newest = self._swapped([self._newest])
            return [*fence, *inner, *past, *newest, *(self._back(action) for action in reversed(fence))]
        inner = [*self._rivals(), *self._swapped([*others, self._newest])]
        if self._is_closed or all(isinstance(layout.parse(main_name(action.name)), _SAFE) for action in inner):
            return [*inner, *self._swapped(self._before), *past]
        if self._before != [layout.offset_entry(self._batch_id - 1)]:
            raise self._refused(inner)
        fence = deletes_of(self._view.objects, self._before)
        return [*fence, *inner, *past, *(self._copy(name) for name in self._units[self._before[0]])]

    def before_later(self, peeled: Collection[str]) -> list[Action]:
        """The steps when later batches are planned, up to the offset entry of the first of them."""
        state, sources, commits = [], [], []
        logging = file_sources(self._view)
        for name in self._view.objects.keys() - {*self._stored, *peeled}:
            match layout.parse(name):
                case layout.StateFile(version=version):
                    state.append((version, name))
                case layout.OperatorMetadataFile(_, int(batch)) | layout.StateSchemaFile(_, int(batch)):
                    state.append((batch + 1, name))
                case layout.SourceLogEntry(source_id, entry_id) if source_id in logging:
                    sources.append((entry_id, name))
                case layout.LogEntry(layout.COMMITS, batch) if batch > self._batch_id:
                    commits.append((batch, name))
        return [
            *deletes_of(self._view.objects, _newest_names(state)),
            *deletes_of(self._view.objects, _newest_names(sources)),
            *sorted(self._swapped(self._units), key=lambda action: is_offset_entry(main_name(action.name))),
            *deletes_of(self._view.objects, _newest_names(commits)),
        ]

    def _before_newest(self, inner: list[Action]) -> list[Delete]:
        """With the newest entry away Spark would start at the one before it, unless that has none before it either."""
        older = self._view.predecessor(self._batch_id - 1) if self._batch_id > 1 else None
        if older is None and (self._newest in self._view.objects or any(isinstance(act, Delete) for act in inner)):
            raise self._refused(inner)
        return [] if older is None else deletes_of(self._view.objects, [layout.offset_entry(older)])

    def _comes(self, name: str) -> bool:
        """True if an object comes from the backup."""
        return name in self._stored and (name not in self._view.objects or name in self._replaced)

    def _swapped(self, units: Iterable[str]) -> list[Action]:
        """Steps for each unit: its removals, sidecars first, then its new objects, in the order of the backup.

        A checksum file that the backup does not have would not fit the object that comes.
        """
        actions: list[Action] = []
        for main in units:
            own = [name for name in (*layout.sidecars(main), main) if name in self._view.objects]
            goes = [name for name in own if self._comes(name) or (self._comes(main) and name not in self._stored)]
            actions += [
                Delete(name, size=self._view.objects[name].size, identity=self._view.objects[name].identity)
                for name in goes
            ]
            actions += [self._copy(name) for name in self._units[main] if self._comes(name)]
        return actions

    def _copy(self, name: str) -> Copy:
        item = self._stored[name]
        return Copy(name, size=item.size, sha256=item.sha256, source=item.stored_at)

    def _back(self, gone: Delete) -> Copy:
        """An object that only went to keep Spark from starting."""
        return Copy(gone.name, size=gone.size, sha256=self._sha256_of(gone.name))

    def _rivals(self) -> list[Delete]:
        """State files of versions that the backup's chains go through, and that it does not have."""
        first: dict[layout.StateStoreId, int] = {}
        for name in self._stored:
            if isinstance(place := layout.parse(name), layout.StateFile):
                first[place.store_id] = min(place.version, first.get(place.store_id, place.version))
        rivals = []
        for name in self._view.objects.keys() - self._stored.keys():
            place = layout.parse(name)
            if not isinstance(place, layout.StateFile) or place.version > self._batch_id + 1:
                continue
            base = first.get(place.store_id, 0)
            if place.version > base or (place.version == base and place.kind in ("snapshot", "zip")):
                rivals.append((place.version, name))
        return deletes_of(self._view.objects, _newest_names(rivals))

    def _as_it_will_be(self) -> CheckpointView:
        coming = {
            name: StoredObject(name, item.size, None, item.sha256)
            for name, item in self._stored.items()
            if name not in self._view.objects
        }
        return replace(self._view, objects={**self._view.objects, **coming})

    def _refused(self, steps: Iterable[Action]) -> BatchNotRestorableError:
        first = next((action.name for action in steps if isinstance(action, Delete)), self._newest)
        return BatchNotRestorableError(
            "cannot be replaced in place: so close to the first batch, Spark could start between two steps and "
            "read a half-replaced checkpoint.",
            location=self._view.location,
            name=first,
            batch_id=self._batch_id,
        )


def _newest_names(numbered: list[tuple[int, str]]) -> list[str]:
    return [name for _, name in sorted(numbered, reverse=True)]
