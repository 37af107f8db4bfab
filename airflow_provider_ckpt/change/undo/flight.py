"""The batch that is in flight after an undo: it runs again when the query is started, and the sink gets its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.plan.actions import Action, Close, Copy, Delete, Open
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage.stored_object import StoredObject


@dataclass(frozen=True, slots=True)
class Flight:
    """A batch that is planned and not committed after the undo.

    Args:
        batch_id: Its id.
        comes_back: True if the undo puts its offset entry back; False if it is in flight without the undo as well.
    """

    batch_id: int
    comes_back: bool


def flight_after(objects: Mapping[str, StoredObject], actions: Iterable[Action]) -> Flight | None:
    """The batch in flight when the actions are done; None without one.

    Args:
        objects: Those of the checkpoint as it is.
        actions: The steps of the undo.
    """
    steps = [action for action in actions if action.place == "checkpoint"]
    names = names_after(objects, steps)
    planned, committed = newest_in(layout.OFFSETS, names), newest_in(layout.COMMITS, names)
    if planned is None or (committed is not None and planned <= committed):
        return None
    entry = layout.offset_entry(planned)
    return Flight(planned, any(isinstance(step, Copy) and step.name == entry for step in steps))


def sink_log_after(log: SinkLog, actions: Iterable[Action]) -> SinkLog:
    """The log of a file sink when the actions are done, as far as a listing shows it."""
    names = names_after(log.objects, (action for action in actions if action.place == "sink"))
    came = {name: StoredObject(name, 0, None, "") for name in names - log.objects.keys()}
    left = {name: stored for name, stored in log.objects.items() if name in names}
    return replace(log, objects={**left, **came})


def names_after(names: Iterable[str], steps: Iterable[Action]) -> set[str]:
    """The names of objects in a place when the steps there are done."""
    after = set(names)
    for step in steps:
        if not isinstance(step, Close):
            (after.discard if isinstance(step, Delete | Open) else after.add)(step.name)
    return after


def newest_in(log: str, names: Iterable[str]) -> int | None:
    """The newest batch that has an entry in a log (``offsets`` or ``commits``); None without one."""
    places = map(layout.parse, names)
    return max(
        (item.batch_id for item in places if isinstance(item, layout.LogEntry) and item.log == log), default=None
    )
