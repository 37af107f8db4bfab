"""The declaration of sources to suggest, as far as the checkpoint itself tells where they read from."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.input_files import above_partitions, directory_of
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import FileSourceLog, InitialOffset
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.store import Store

#: So many entries of a source's log are read, and so many bytes of each at most.
ENTRIES, ENTRY_BYTES = 5, 1 << 20
_EXAMPLE = "such as 0=kafka:host:9092 or 0=delta:s3://lake/orders"


def hint_of(checkpoint: Store | None, source_ids: Iterable[str] | None = None, *, option: str = "") -> str:
    """How to declare the sources; with what their own logs in the checkpoint say.

    Args:
        checkpoint: The checkpoint of the query.
        source_ids: The sources that are missing; None for all that keep a log.
        option: Text before each declaration, such as ``--source``.
    """
    offers = offers_of(checkpoint, source_ids) if checkpoint is not None else {}
    if not offers:
        return f"Declare where each source reads from, {_EXAMPLE}."
    declarations = " ".join(f"{option}{source_id}={place}" for source_id, place in offers.items())
    same = (
        " Event Hubs keeps the same log as Kafka."
        if any(place.startswith("kafka:") for place in offers.values())
        else ""
    )
    read = "Read from their logs in the checkpoint, not declared"
    return f"Declare where each source reads from. {read}: {declarations}{'.' if same else ''}{same}"


def offers_of(checkpoint: Store, source_ids: Iterable[str] | None = None) -> dict[str, str]:
    """Declarations by source id, for the sources whose logs tell; nothing is raised, for this is a hint."""
    try:
        ids = sorted(
            (name.rpartition("/")[2] for name in checkpoint.ls(layout.SOURCES)[1]) if source_ids is None else source_ids
        )
        found = {source_id: _offer(checkpoint, source_id) for source_id in ids[:100]}
    except CheckpointError:
        return {}
    return {source_id: place for source_id, place in found.items() if place is not None}


def _offer(checkpoint: Store, source_id: str) -> str | None:
    objects, _ = checkpoint.ls(f"{layout.SOURCES}/{source_id}")
    places = {place: name for name in objects if isinstance(place := layout.parse(name), layout.SourceLogEntry)}
    newest = sorted(places, key=lambda place: place.entry_id)[-ENTRIES:]
    paths: list[str] = []
    for place in newest:
        entry = codec.decode(places[place], checkpoint.read_up_to(places[place], ENTRY_BYTES))
        if isinstance(entry, InitialOffset):
            return _kafka(entry)
        if not isinstance(entry, FileSourceLog):
            return None
        paths += [file.path for file in entry.entries]
    directories = {above_partitions(directory_of(path)) for path in paths}
    return f"file:{directories.pop()}" if len(directories) == 1 else None


def _kafka(entry: InitialOffset) -> str | None:
    try:
        topics = entry.offset.view("kafka").value
    except CheckpointError:
        return None
    return f"kafka:HOST:PORT/{','.join(sorted(topics))}"
