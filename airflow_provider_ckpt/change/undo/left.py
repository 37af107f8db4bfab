"""Remains of a change: its steps that are in effect now, judged by identities and by bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.change.plan.actions import Action, Delete, Replace
from airflow_provider_ckpt.change.plan.facts import Place, Saved, Spot, batch_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.storage.stored_object import StoredObject


@dataclass(frozen=True, slots=True)
class After:
    """A change, and what is there after it.

    Args:
        done: The plan that was applied, as a whole or in part.
        view: The whole checkpoint as it is now; with the entries of ``done.batch_id`` when they are there.
        sink_log: The log of the sink when the change trimmed it.
        saved: Objects that the change has saved, by their place.
        texts: The saved content of objects to which the change has given another content, by their place.
        inside: Files of the checkpoints of other queries inside. Plans of earlier versions have them in the digest of
            what the change leaves alone.
    """

    done: Plan
    view: CheckpointView
    sink_log: SinkLog | None
    saved: Mapping[Spot, Saved]
    texts: Mapping[Spot, str] = field(default_factory=dict)
    inside: Mapping[str, StoredObject] = field(default_factory=dict)

    @property
    def is_overtaken(self) -> bool:
        """True if a query has run the batch that the change, stopped before it was planned, was to add."""
        return self.view.partitions_of(self.done.batch_id) not in (None, self.done.partitions)

    @property
    def is_run_on(self) -> bool:
        """True if a query has committed or planned a batch after the entry that the change has added."""
        added = self.done.batch_id + 1
        return max(self.view.committed, default=-1) >= added or max(self.view.planned, default=-1) > added

    def objects(self, place: Place) -> Mapping[str, StoredObject]:
        """Objects in a place now."""
        if place == "checkpoint":
            return self.view.objects
        return {} if self.sink_log is None else self.sink_log.objects

    def stored(self, action: Action) -> StoredObject | None:
        """The object that an action was about, or None."""
        return self.objects(action.place).get(action.name)

    def is_exact(self, action: Action) -> bool:
        """True if a delete has not been done: the very object is there."""
        stored = self.stored(action)
        return isinstance(action, Delete) and stored is not None and action.identity == stored.identity

    def bytes_wanted(self, action: Action) -> str | None:
        """SHA-256 (hex) by which what is there is that of the action: saved by a delete, brought by any other.

        None where it cannot be: nothing is there, nothing is known, or the sizes differ.
        """
        stored = self.stored(action)
        match action:
            case Delete():
                wanted = self.saved.get(action.spot)
            case Replace():
                wanted = Saved(action.new_size, action.sha256)
            case _:
                wanted = Saved(action.size, action.sha256)
        return wanted.sha256 if stored is not None and wanted is not None and stored.size == wanted.size else None

    def to_hash(self) -> Iterator[Spot]:
        """Objects to read, because neither identity nor size says if they are of the change."""
        yield from {action.spot: None for action in self.done.actions if self._is_doubtful(action)}

    def _is_doubtful(self, action: Action) -> bool:
        stored = self.stored(action)
        if isinstance(action, Replace) and stored is not None:
            return stored.identity != action.identity and stored.size in (action.size, action.new_size)
        return not self.is_exact(action) and self.bytes_wanted(action) is not None


def find_present(after: After, hashes: Mapping[Spot, str]) -> frozenset[Action]:
    """The steps whose object is there: as it did before the change, or as it or an undo of it has put it there.

    A batch that runs again may write some files with the bytes that they had before. They go with their batch.

    Args:
        after: The change, and what is there.
        hashes: SHA-256 (hex) of all of ``after.to_hash()``.
    """
    actions = [action for action in after.done.actions if after.stored(action) is not None]
    exact = {action for action in actions if after.is_exact(action)}
    same = {
        action
        for action in actions
        if action not in exact and hashes.get(action.spot, "") == after.bytes_wanted(action)
    }
    later = _batches_written_since(after, {action.spot for action in exact | same})
    return frozenset(exact | {action for action in same if batch_of(action.name) not in later})


def find_foreign(after: After, present: Collection[Action], hashes: Mapping[Spot, str]) -> Replace | None:
    """The first object that was given another content and has neither that nor what it had before; None without one."""
    for action in after.done.actions:
        stored = after.stored(action)
        if not isinstance(action, Replace) or action in present:
            continue
        if stored is None or not (
            stored.identity == action.identity or hashes.get(action.spot) == action.sha256_before
        ):
            return action
    return None


def _batches_written_since(after: After, own: Collection[Spot]) -> set[int]:
    places: tuple[Place, ...] = ("checkpoint", "sink")
    since = {batch_of(name) for place in places for name in after.objects(place) if (place, name) not in own}
    newest = max(after.done.batch_id, after.done.last_kept)
    return {batch for batch in since if batch is not None and batch > newest}
