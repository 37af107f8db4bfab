"""Checks that everything a change left alone is still as it was; if not, an undo would have no sure result."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_provider_ckpt.change.plan.facts import Place, Spot, is_table, kept_objects, names_after
from airflow_provider_ckpt.change.plan.requirements import KeptObjects, KeptSinkLog, SameQuery
from airflow_provider_ckpt.change.undo.left import After
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Files that a refusal names.
_NAMED = 3


def require_kept(after: After, dropped: Collection[Spot]) -> tuple[str, ...]:
    """Require that nothing has changed but what the change did and what is dropped.

    Args:
        after: The change, and what is there.
        dropped: Objects that a query has written since the change, and that the undo drops.

    Returns:
        What came since and stays: tables of RocksDB that a query has uploaded, and files that nothing of Spark reads.

    Raises:
        PlanError: A file that the change left alone is not as it was.
    """
    done = after.done
    touched = {*done.deleted, *done.written, *dropped}
    newcomers: tuple[str, ...] = ()
    for requirement in done.requirements:
        match requirement:
            case SameQuery() if ("checkpoint", layout.METADATA) in touched:
                continue
            case SameQuery():
                found = after.view.query_id or "none"
            case KeptObjects():
                found, newcomers = _kept_but_for_newcomers(after, after.view.objects, requirement, touched)
                if found != requirement.expected and after.inside:  # as an earlier version has counted them
                    whole = {**after.view.objects, **after.inside}
                    found, newcomers = _kept_but_for_newcomers(after, whole, requirement, touched)
            case KeptSinkLog():
                found = kept_objects(after.objects("sink"), (name for at, name in touched if at == "sink"))
            case _:
                continue
        if found != requirement.expected:
            raise _refused(after, _changed(after, requirement, touched, found))
    return newcomers


def _kept_but_for_newcomers(
    after: After, objects: Mapping[str, StoredObject], requirement: KeptObjects, touched: set[Spot]
) -> tuple[str, tuple[str, ...]]:
    """The digest of what the change left alone, without what came since and may stay when it is so right.

    A query uploads tables before the zip that names them, and each under a name with a new UUID. Those of the batches
    that are dropped here, and of one that was stopped before its zip, are named by no zip that was there before. Notes
    of people and of tools are read by nothing. The digest shows that all the rest is there, as it was.
    """
    names = {name for place, name in touched if place == "checkpoint"}
    tables: tuple[str, ...] = ()
    if after.done.rules.adds_batch:  # only Spark names its tables, so the plan has no word on any
        tables = tuple(name for name in younger(after, "checkpoint", touched) if is_table(name))
        names |= names_after(objects, after.done.last_kept)
    found = kept_objects(objects, names)
    if found == requirement.expected:
        return found, tables
    newcomers = tuple(name for name in younger(after, "checkpoint", touched) if _may_stay(name))
    found = kept_objects(objects, names.union(newcomers))
    return found, newcomers if found == requirement.expected else ()


def younger(after: After, place: Place, touched: Collection[Spot] = ()) -> list[str]:
    """Objects that came after the plan of the change and are not ``touched``, in the order of names."""
    return sorted(
        name
        for name, stored in after.objects(place).items()
        if (place, name) not in touched and (stored.modified_ms or 0) > after.done.planned_at_ms
    )


def _changed(after: After, requirement: SameQuery | KeptObjects | KeptSinkLog, touched: set[Spot], found: str) -> str:
    """The place that changed, and the first files of it that are younger than the plan of the change."""
    if isinstance(requirement, SameQuery):
        return f"the checkpoint belonged to query {requirement.expected}, and now belongs to query {found}"
    place: Place = "sink" if isinstance(requirement, KeptSinkLog) else "checkpoint"
    where = after.view.location if place == "checkpoint" else f"the log of the sink {after.done.sink}"
    if not after.objects(place):
        return f"{where} was removed or emptied"
    young = [name for name in younger(after, place, touched) if not _may_stay(name)]
    if not young and place == "checkpoint":
        since = after.done.planned_at_ms
        young = sorted(name for name, stored in after.inside.items() if (stored.modified_ms or 0) > since)
    if not young:
        return f"in {where} files were removed, or files were added that are older than the {after.done.called}"
    more = f" and {len(young) - _NAMED} more" if len(young) > _NAMED else ""
    return f"in {where} the files {', '.join(young[:_NAMED])}{more} were written since, or other files were removed"


def _refused(after: After, problem: str) -> PlanError:
    done = after.done
    return PlanError(
        f"the {done.called} to {done.aim} ({done.plan_id}) cannot be undone in place, because files that it did not "
        f"change are no longer the same ({problem}).",
        location=after.view.location,
        batch_id=done.batch_id,
        hint=f"Nothing was done. {_moved(after)}The removed files are kept in {done.plan_id}/saved in the record of "
        "the change (ckpt history). Roll back to a batch of this checkpoint (ckpt rollback), or restore a backup "
        "to a new location (ckpt restore).",
    )


def _moved(after: After) -> str:
    """Possible reason why everything changed, and the remedy."""
    if after.view.location == after.done.location:
        return (
            "A query has run since and has purged or rewritten older files, or somebody has copied files here. Or "
            "there is a later change whose record is in another directory and which must be undone first: give "
            "--undo-to ROOT (undo_root= in a DAG). "
        )
    return (
        f"The change was made at {after.done.location}, and this is a copy with other files. Undo it there. Or delete "
        "the copy, and move the checkpoint and its directory _ckpt_undo here. "
    )


def _may_stay(name: str) -> bool:
    """True if a new file does not matter to Spark: sources and state may keep files of any name."""
    place = layout.parse(main_name(name))
    if isinstance(place, layout.Other):
        return name.partition("/")[0] not in (layout.SOURCES, layout.STATE)
    return is_table(name)
