"""Rules about the files of a stateful operator: their names and ids, and what the operator says of itself.

Spark reads the names of files in state stores as numbers before it opens any of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.spark_confs import STATE_PROVIDER
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.checks.logs import newest_commit, newest_entry
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import from_backup, from_backup_or_before
from airflow_provider_ckpt.checks.state import has_state_ids
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.jvm_text import parse_long
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata


@rule("CKPT108")
def names_of_no_version(view: CheckpointView) -> Iterator[Finding]:
    """CKPT108: what has the ending of a whole version of a state, and is none: a copy by Finder, Windows, by hand."""
    if view.latest_planned is None:
        return
    entry, commit = newest_entry(view), newest_commit(view)
    provider = entry.metadata.conf.get(STATE_PROVIDER) if entry is not None and entry.metadata is not None else None
    ending = ".zip" if "RocksDB" in (provider or "") else ".snapshot"
    has_ids = bool(commit.state_unique_ids) if commit is not None else _is_unreadable(view) and has_state_ids(view)
    of_no_version = (
        name
        for name in _in_stores(view, ending)
        if not _is_version(
            name.rpartition("/")[2].removesuffix(ending), ending, view.latest_planned + 1, has_ids=has_ids
        )
    )
    for name in dict.fromkeys(of_no_version):
        yield an_error(
            "CKPT108",
            f"{name} is no version of the state, and its name ends as that of one: Spark stops at such a name when it "
            "searches for a version to begin with",
            view.latest_planned,
            name,
            "Move the file out of the checkpoint.",
            "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
        )


def _is_unreadable(view: CheckpointView) -> bool:
    """True if the newest commit exists but does not say if names have ids."""
    return view.latest_committed is not None and layout.commit_entry(view.latest_committed) in view.damaged


def _in_stores(view: CheckpointView, ending: str) -> Iterator[str]:
    """Whatever has this ending directly in the directory of a state store, a directory as well."""
    places = map(layout.parse, view.names_below(layout.STATE))
    stores = {place.store_id for place in places if isinstance(place, layout.StateFile)}
    directories = {store_id.directory for store_id in stores}
    for name in view.names_below(layout.STATE):
        parts = name.split("/")
        for depth in (3, 4):
            if len(parts) > depth and parts[depth].endswith(ending) and "/".join(parts[:depth]) in directories:
                yield "/".join(parts[: depth + 1])


def _is_version(stem: str, ending: str, loaded: int, *, has_ids: bool) -> bool:
    """True if Spark reads the name, and finds the file again by the number that it has read.

    The zips of RocksDB are searched for by numbers that it works out; of snapshots it opens the newest one that it
    sees, up to the version that it loads. Where names have ids, it passes over those that are not of two parts.
    """
    parts = stem.rstrip("_").split("_") if has_ids else [stem]
    if has_ids and len(parts) != 2:
        return True
    number = parse_long(parts[0])
    if number is None:
        return False
    return ending == ".zip" or str(number) == stem or not 0 <= number <= loaded


@rule("CKPT133")
def ids_of_fewer_partitions(view: CheckpointView) -> Iterator[Finding]:
    """CKPT133: the newest commit names state files of fewer partitions than wrote some."""
    commit, newest = newest_commit(view), view.latest_committed
    if commit is None or not commit.state_unique_ids or newest is None:
        return
    written: dict[int, int] = {}
    for name in view.names_below(layout.STATE):
        place = layout.parse(name)
        if isinstance(place, layout.StateFile) and place.unique_id is not None and place.version == newest + 1:
            operator_id = place.store_id.operator_id
            written[operator_id] = max(written.get(operator_id, 0), place.store_id.partition + 1)
    for operator_id, named in commit.state_unique_ids.items():
        if len(named) < written.get(operator_id, 0):
            yield an_error(
                "CKPT133",
                f"{written[operator_id]} partitions of operator {operator_id} wrote state in batch {newest}, and the "
                f"commit names the state files of {len(named)}",
                newest,
                layout.commit_entry(newest),
                spark_error="ArrayIndexOutOfBoundsException",
                **from_backup_or_before(view, "the commit", newest),
            )


@rule("CKPT230")
def metadata_of_another(view: CheckpointView) -> Iterator[Finding]:
    """CKPT230: the directory of an operator has what another operator says of itself, so one is in another's place."""
    for name, entry in sorted(view.entries.items()):
        place = layout.parse(name)
        if not isinstance(entry, OperatorStateMetadata) or not isinstance(place, layout.OperatorMetadataFile):
            continue
        if entry.operator_id != place.operator_id:
            yield an_error(
                "CKPT230",
                f"{name} says that it is of operator {entry.operator_id}: where the state was moved with it, Spark "
                "takes the state of one operator for that of another, or stops at its schema",
                None,
                name,
                **from_backup(view, "the checkpoint", why="Give the directories below state their names back."),
            )
