"""What the undo of a repair would leave: whether Spark starts again from what the repair has mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_ckpt.change.actions import Copy, Delete, Open, Replace
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.checkpoint.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.observe import decode_entries
from airflow_provider_ckpt.checkpoint.restart_set import log_entries, restart_set
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import without_broken_files
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


def why_no_start(plan: Plan, done: Plan, view: CheckpointView, checkpoint: Store, saved: Store) -> tuple[str, ...]:
    """Why Spark does not start after the undo of a change that has put files in place, as a warning; empty if it does.

    Args:
        plan: The undo.
        done: The change.
        view: The whole checkpoint as it is now.
        checkpoint: Where it is.
        saved: What the change has saved.
    """
    if not any(isinstance(action, Copy) and action.place == "checkpoint" for action in done.actions):
        return ()
    objects, copied, texts = dict(view.objects), dict[str, str](), dict[str, str]()
    for action in plan.actions:
        if action.place == "checkpoint" and isinstance(action, Delete | Open):
            objects.pop(action.name, None)
        elif action.place == "checkpoint" and isinstance(action, Copy):
            objects[action.name] = StoredObject(action.name, action.size, None, action.sha256)
            copied[action.name] = action.source
        elif action.place == "checkpoint" and isinstance(action, Replace):
            texts[action.name] = action.data

    def read(name: str) -> bytes:
        if name in texts:
            return texts[name].encode()
        return saved.head(copied[name]) if name in copied else checkpoint.head(name)

    def chunks(name: str) -> Iterator[bytes]:
        return saved.chunks(copied[name]) if name in copied else checkpoint.chunks(name)

    after = replace(view, objects=objects, entries={}, damaged={})
    names = [name for name in log_entries(after, plan.batch_id) if name in objects]
    entries, damaged = decode_entries(checkpoint, names, read)
    after = replace(after, entries=entries, damaged=damaged)
    needed = drive(restart_set(after, plan.batch_id, decompressors()), read)
    lacking = without_broken_files(after, needed, read, chunks).lacking
    # Spark writes the metadata anew where it is missing
    lacking = tuple(problem for problem in lacking if problem != f"{layout.METADATA} is missing")
    if not lacking:
        return ()
    more = f", and {len(lacking) - 3} more" if len(lacking) > 3 else ""
    return (f"After this undo Spark does not start: {', '.join(lacking[:3])}{more}.",)
