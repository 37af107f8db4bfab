"""The plan of a salvage: what goes, what comes, and the report for whoever approves it.

Between some of the steps the files of several batches are mixed, so the checkpoint is closed first and opened last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from airflow_provider_ckpt.change.plan.actions import Action, Clear, Close, Copy, Create, Delete, Open
from airflow_provider_ckpt.change.plan.facts import Spot, batch_of, kept_objects
from airflow_provider_ckpt.change.plan.later_batches import deletes_of, peel, requirements_of, trimmed_entries
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import FromBackup, KeptObjects
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.temporary import target_of
from airflow_provider_ckpt.changes.salvage.tree import Assembled, stands_in_the_way
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.source_log_files import source_entries
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.sinks.effects import SinkEffect

#: What Spark reads when it is there, and does without when it is not.
_READ_IF_THERE = (layout.StateFile, layout.OperatorMetadataFile, layout.StateSchemaFile)


def plan_salvage(
    found: Assembled,
    planned_at_ms: int,
    *,
    effects: tuple[SinkEffect, ...] = (),
    sink_log: SinkLog | None = None,
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    backup: tuple[str, str] | None = None,
) -> Plan:
    """The plan that makes a batch, as it was put together, of a checkpoint.

    Args:
        found: The batch.
        planned_at_ms: Now, epoch milliseconds.
        effects: Effects on the sinks.
        sink_log: The log of the file sink, when later batches are to be removed from it.
        notes: The report.
        warnings: Sentences that the approver should know.
        backup: Root and id of the backup that pieces come from.

    Raises:
        BatchNotRestorableError: The sink log cannot be trimmed.
    """
    tree, view = found.tree, found.tree.view
    cleared = sorted(tree.cleared & set(view.folders))
    steps: list[Action] = [*_goes(found, sink_log), *(Clear(name) for name in cleared)]
    steps += [_comes(piece) for piece in found.pieces]
    if _is_as_after_a_crash(found, steps):
        steps = []
    if steps:
        closing = layout.offset_entry(_next_free(found))
        steps = [Close(closing), *steps, Open(closing)]
    taken = backup is not None and any(piece.way == "backup" for piece in found.pieces)
    requirements = requirements_of(view, steps, sink_log)
    return Plan(
        kind="salvage",
        location=view.location,
        query_id=found.after.query_id or "",
        batch_id=tree.batch_id,
        planned_at_ms=planned_at_ms,
        requirements=(*requirements, FromBackup(backup[1])) if taken and backup else tuple(requirements),
        actions=tuple(steps),
        warnings=warnings,
        effects=effects,
        source=backup[0] if taken and backup else "",
        sink=sink_log.location if sink_log is not None else "",
        notes=notes,
    )


def exchanged(plan: Plan, view: CheckpointView, notes: tuple[str, ...]) -> Plan:
    """The salvage that is a rollback to a backup, which knows nothing of directories in the place of files.

    Args:
        plan: The rollback.
        view: The whole checkpoint.
        notes: The report.
    """
    written = plan.writes()
    folders = sorted(name for name in view.folders if name in written or stands_in_the_way(name, plan.batch_id))
    inside = [name for name in view.objects if name.startswith(tuple(f"{folder}/" for folder in folders))]
    clears = [Clear(name) for name in folders]
    left = sorted(name for name in view.objects.keys() - plan.deletes() - set(inside) if _is_left(name, plan, view))
    gone = dict.fromkeys(
        deletes_of(view.objects, [*sorted(inside), *left])
    )  # a checksum file is left by itself as well
    steps: list[Action] = [*gone, *clears, *plan.actions]
    names = [name for name in (*view.objects, *view.folders, *plan.writes()) if name.startswith(f"{layout.OFFSETS}/")]
    closing = layout.offset_entry(max((batch_of(main_name(name)) or 0 for name in names), default=plan.batch_id) + 1)
    kept = KeptObjects(kept_objects(view.objects, {step.name for step in steps if step.place == "checkpoint"}))
    return replace(
        plan,
        kind="salvage",
        requirements=tuple(kept if isinstance(item, KeptObjects) else item for item in plan.requirements),
        actions=(Close(closing), *steps, Open(closing)) if steps else (),
        notes=notes,
    )


def _is_left(name: str, plan: Plan, view: CheckpointView) -> bool:
    """True if a file is a remainder of a later batch: a checksum file alone, or a temporary file."""
    main = main_name(name)
    is_alone = name != main and main not in view.objects and main not in plan.writes()
    return (is_alone and _is_later(main, plan.batch_id)) or _is_temporary_of_later(name, plan.batch_id)


def _is_temporary_of_later(name: str, batch_id: int) -> bool:
    target = target_of(name.removesuffix(".crc").replace("/..", "/."))
    return target is not None and _is_later(target, batch_id)


def _is_as_after_a_crash(found: Assembled, steps: Iterable[Action]) -> bool:
    """True if all that would go are entries of source logs that Spark has written ahead, as before each batch."""
    view, ahead = found.tree.view, dict[str, set[int]]()
    for step in steps:
        place, main = layout.parse(main_name(step.name)), main_name(step.name)
        is_whole = main in view.objects and main not in found.tree.broken
        if not isinstance(place, layout.SourceLogEntry) or not isinstance(step, Delete) or not is_whole:
            return False
        ahead.setdefault(place.source_id, set()).add(place.entry_id)
    for source_id, ids in ahead.items():
        end = max((entry.entry_id for entry in source_entries(found.after, source_id)), default=-1)
        if (min(ids), max(ids)) != (end + 1, end + len(ids)):
            return False  # behind a hole
    return True


def _next_free(found: Assembled) -> int:
    """The batch whose offset entry closes the checkpoint: later than all that are there or come."""
    view = found.tree.view
    names = (main_name(name) for name in (*view.objects, *view.folders, *found.tree.pieces))
    entries = [batch_of(name) or 0 for name in names if name.startswith(f"{layout.OFFSETS}/")]
    return max((*entries, found.tree.last)) + 1


def _comes(piece: Piece) -> Action:
    if piece.way == "known":
        return Create(piece.name, data=piece.data)
    return Copy(piece.name, size=piece.size, sha256=piece.sha256, source=piece.source, identity=piece.identity)


def _goes(found: Assembled, sink_log: SinkLog | None) -> list[Delete]:
    """Deletes: later batches, newest first, then objects that are broken or in the way, each once."""
    tree, view = found.tree, found.tree.view
    trims = trimmed_entries(tree.batch_id, sink_log) if sink_log is not None else {}
    actions = [action for action in peel(view, tree.batch_id, trims, sink_log) if not _is_kept(action, found)]
    actions += deletes_of(view.objects, sorted(set(_others(found)), reverse=True))
    first: dict[Spot, Delete] = {}
    for action in actions:
        first.setdefault(action.spot, action)
    return list(first.values())


def _is_kept(action: Delete, found: Assembled) -> bool:
    """True if a file of a later batch stays: it is of the batch that runs again, and Spark finds it so at any crash."""
    return action.place == "checkpoint" and action.name in found.after.objects


def _others(found: Assembled) -> Iterator[str]:
    tree, view = found.tree, found.tree.view
    listed = found.after
    yield from tree.source_names_past(listed)
    yield from (name for name in view.objects if name.startswith(tuple(f"{folder}/" for folder in tree.cleared)))
    yield from tree.stale
    for name in view.objects:  # Spark writes what is missing again, and fails at the checksum file that is there
        main = main_name(name)
        is_alone = name != main and main not in listed.objects and main not in view.objects
        if is_alone and isinstance(layout.parse(main), layout.OperatorMetadataFile | layout.StateSchemaFile):
            yield name
    for name in tree.pieces:
        if name in view.objects:
            yield name
        else:
            yield from _sidecars_in_the_way(found, name)
    for name in tree.broken:
        if name in view.objects and name not in listed.objects and isinstance(layout.parse(name), _READ_IF_THERE):
            yield name
    yield from (name for name in view.objects if _is_temporary_of_later(name, tree.batch_id))


def _sidecars_in_the_way(found: Assembled, name: str) -> Iterable[str]:
    """Checksum files of an object that comes and that they are not known to fit."""
    if found.tree.pieces[name].way == "temporary":
        return ()  # it was compared with them
    return [sidecar for sidecar in layout.sidecars(name) if sidecar in found.tree.view.objects]


def _is_later(name: str, batch_id: int) -> bool:
    """True if a temporary file is of a later batch, which will be another one under the same number."""
    batch = batch_of(name)
    return batch is not None and batch > batch_id
