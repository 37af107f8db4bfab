"""Reading what sources a checkpoint has, and what below ``sources/`` belongs to none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ckpt.changes.sources.directories import leftovers
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.source_log_files import file_sources
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import LeftoverFields, SourceShownFields


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of a checkpoint.

    Args:
        view: The checkpoint.
        sources: Each source of the newest offset entry, JSON-ready.
        left: Directories that belong to none of them, with the number of their files.
    """

    view: CheckpointView
    sources: tuple[SourceShownFields, ...]
    left: Mapping[str, int]

    @property
    def leftovers(self) -> list[LeftoverFields]:
        """JSON-ready, by name: a driver lists them in any order."""
        return [{"name": f"{layout.SOURCES}/{name}", "files": files} for name, files in sorted(self.left.items())]


def read_sources(store: Store) -> Sources:
    """The sources. Raises CheckpointFormatError when the newest offset entry is damaged."""
    view = observe(store, deep=True)
    newest = view.latest_offset_seq
    ids = [source_id for source_id, _ in newest.offsets] if newest is not None else []
    files = file_sources(view)
    counts = _files(view)
    sources: list[SourceShownFields] = [
        {
            "source_id": source_id,
            "source_type": _type_of(newest, source_id, files),
            "committed_offset": committed,
            "planned_offset": planned,
            "files": counts.get(source_id, 0),
        }
        for source_id, committed, planned in view.source_offsets
    ]
    folders = (name.rpartition("/")[2] for name in store.ls(layout.SOURCES)[1])
    empty = {name: 0 for name in folders if name not in ids}
    return Sources(view, tuple(sources), {**empty, **leftovers(view.objects, frozenset(ids))})


def _type_of(newest: OffsetSeq | None, source_id: str, files: frozenset[str]) -> str | None:
    """Type of a source, if a file tells it; None otherwise."""
    known = newest.metadata.sources.get(source_id) if newest is not None and newest.metadata is not None else None
    if known is not None and known.provider_name:
        return known.provider_name
    return "file" if source_id in files and newest is not None else None


def _files(view: CheckpointView) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in view.names_below(layout.SOURCES):
        if layout.main_name(name) != name:
            continue  # the checksum file of another one
        source_id = name.split("/")[1]
        counts[source_id] = counts.get(source_id, 0) + 1
    return counts
