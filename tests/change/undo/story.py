"""A rollback, how much of it was done, and what has been written since: what an undo is planned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_ckpt.change.plan.actions import Action, Delete
from airflow_provider_ckpt.change.plan.facts import Place, Saved, Spot
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.left import After
from airflow_provider_ckpt.change.undo.plan import Undo, judge_undo
from airflow_provider_ckpt.changes.rollback.plan import plan_rollback
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.views import QUERY_ID, offset_entry, sink_of, view_of

#: The batch that was rolled back to; batch 3 was committed then, batch 4 was planned.
KEEP = 2
KEPT = ("metadata", "offsets/1", "offsets/2", "commits/2", "state/0/0/3.delta")
BEFORE = (*KEPT, "offsets/3", "commits/3", "state/0/0/4.delta", "offsets/4")
REMOVED = ["offsets/4", "commits/3", "state/0/0/4.delta", "offsets/3"]
Objects = dict[Place, dict[str, StoredObject]]


def checkpoint(*names: str) -> CheckpointView:
    return view_of(*names, **{f"offsets/{KEEP}": offset_entry()})


def written(name: str, identity: str, modified_ms: int | None = 9_000) -> dict[str, StoredObject]:
    """A file that came after the rollback, which was planned at 5,000 ms."""
    return {name: StoredObject(name, len(name), modified_ms, identity)}


class Story:
    """A rollback, how much of it was done, and what has been written since."""

    def __init__(self, sink: Iterable[str] = (), trims: bool = False) -> None:
        view = checkpoint(*BEFORE)
        log = sink_of(*sink) if trims else None
        self.done = plan_rollback(view, RestartSet(KEEP, (), ()), 5_000, (), log)
        self.objects: Objects = {"checkpoint": dict(view.objects), "sink": dict(log.objects) if log else {}}
        self.saved: dict[Spot, Saved] = {}
        self.query_id = QUERY_ID
        self.location = view.location

    def apply(self, actions: Iterable[Action]) -> Story:
        """Carry out steps; a copy brings what its name and its SHA-256 say."""
        for action in actions:
            stored = self.objects[action.place]
            if isinstance(action, Delete):
                self.saved[action.spot] = Saved(action.size, f"sha of {stored[action.name].identity}")
                del stored[action.name]
            else:
                identity = action.sha256.removeprefix("sha of ")
                stored[action.name] = StoredObject(action.name, action.size, 9_000, identity)
        return self

    def write(self, files: Mapping[str, StoredObject], place: Place = "checkpoint") -> Story:
        self.objects[place].update(files)
        return self

    def after(self) -> After:
        known = checkpoint(*BEFORE)
        entries = {name: entry for name, entry in known.entries.items() if name != "metadata"}
        if self.query_id == QUERY_ID:
            entries["metadata"] = known.entries["metadata"]
        view = CheckpointView(self.location, 0, self.objects["checkpoint"], entries, complete=True)
        log = SinkLog(self.done.sink, self.objects["sink"]) if self.done.sink else None
        return After(self.done, view, log, self.saved)

    def undo(self) -> Undo:
        after = self.after()
        return judge_undo(after, {spot: self.sha256_of(*spot) for spot in after.to_hash()})

    def sha256_of(self, place: Place, name: str) -> str:
        """Two identities have one content when one is that of the other, written again."""
        return f"sha of {self.objects[place][name].identity.removeprefix('again: ')}"

    def plan(self) -> Plan:
        return self.undo().plan("saved", 10_000)


def rolled_back(**sink: object) -> Story:
    story = Story(**sink)
    return story.apply(story.done.actions)


def steps_of(plan: Plan) -> list[str]:
    sign = {"delete": "-", "copy": "+", "close": "closed by", "open": "opened by removing"}
    return [f"{sign[act.do]} {'sink: ' if act.place == 'sink' else ''}{act.name}" for act in plan.actions]


#: Steps that take the rollback back.
PUT_BACK = ["+ offsets/3", "+ state/0/0/4.delta", "+ commits/3", "+ offsets/4"]
#: What RocksDB leaves behind of a batch that was stopped before its zip.
TABLES = ("state/0/0/SSTs/.000008-u.sst.crc", "state/0/0/SSTs/000008-u.sst", "state/0/0/left/logs/000009-u.log")
