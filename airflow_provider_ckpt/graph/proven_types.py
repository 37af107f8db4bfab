"""Types of sources that a checkpoint alone proves, each with what proves it; a type is never read off a shape.

A file source is known by the log that it keeps, and a rate source by the time of its start, which with its offset gives
the time of the batch; offset log version 2 may name the provider. Kafka and Event Hubs write the same files, and a
source of Delta or Iceberg keeps nothing that a table is not needed for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ckpt.codec import Encodable, jvm_text, layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.codec.source_kinds import kind_of_provider
from airflow_provider_ckpt.codec.source_log import FileSourceLog, RateStart
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import TypeReadFields

#: So far may a batch of a rate source be from the second at which its offset is, milliseconds.
_RATE_SLACK_MS = 60_000


@dataclass(frozen=True, slots=True)
class Proof:
    """What a file holds that proves a fact.

    Args:
        file: The file: its name in the checkpoint, or a URI.
        holds: What is in it, as the end of a sentence that begins with the file.
    """

    file: str
    holds: str

    @property
    def text(self) -> str:
        """The sentence, without a full stop."""
        return f"{self.file} {self.holds}"


@dataclass(frozen=True, slots=True)
class ProvenType:
    """The type of a source, which a file of the checkpoint proves."""

    type: str
    proof: Proof

    def to_dict(self) -> TypeReadFields:
        """JSON-ready."""
        return {"source_type": self.type, "file": self.proof.file, "holds": self.proof.holds}

    def sentence(self, source_id: str) -> str:
        """For people: where the type comes from."""
        return f"Source {source_id}: its type, {self.type}, is read from {self.proof.file}, not declared."


def fitting(proven: Mapping[str, ProvenType], entries: Iterable[OffsetSeq]) -> dict[str, ProvenType]:
    """Those of which every one of these entries has an offset that fits, or none: a source may have been another."""
    kept = dict(proven)
    for entry in entries:
        for source_id, offset in entry.offsets:
            if source_id in kept and offset is not None and not offset.fits(kept[source_id].type):
                del kept[source_id]
    return kept


def proving_files(source_id: str, offset: SourceOffset | None) -> tuple[str, ...]:
    """Names of the files that may prove the type of a source at an offset, of which one is there at most."""
    if offset is None:
        return ()
    try:
        number = file_offset.decode(offset.json)
    except MalformedEntryError:
        return ()
    directory = f"{layout.SOURCES}/{source_id}"
    if file_offset.is_bare(offset.json):
        return (f"{directory}/0",)
    return (f"{directory}/{number}", f"{directory}/{number}.compact") if number >= 0 else ()


def proven_type(
    source_id: str, offsets: OffsetSeq, batch_id: int, own_files: Mapping[str, Encodable]
) -> ProvenType | None:
    """The type of a source, as far as it is proven; None for one that is not.

    Args:
        source_id: Its position in the query, or its name.
        offsets: An entry of the offset log.
        batch_id: The batch of the entry.
        own_files: Files of the source, as :func:`proving_files` names them; of a log, its first lines are enough.
    """
    info = offsets.metadata.sources.get(source_id) if offsets.metadata else None
    kind = kind_of_provider(info.provider_name) if info else None
    if kind is not None and info is not None:
        return ProvenType(kind, Proof(layout.offset_entry(batch_id), f"names its provider {info.provider_name}"))
    offset = dict(offsets.offsets).get(source_id)
    for name in proving_files(source_id, offset):
        entry = own_files.get(name)
        if isinstance(entry, FileSourceLog) and entry.entries and offset and not file_offset.is_bare(offset.json):
            return ProvenType("file", Proof(name, "is the log of a file source"))
        if isinstance(entry, RateStart) and offset and offsets.metadata:
            seconds = jvm_text.parse_long(offset.json)
            now_ms = offsets.metadata.batch_timestamp_ms
            if seconds is not None and abs(entry.start_time_ms + 1000 * seconds - now_ms) <= _RATE_SLACK_MS:
                holds = f"is the start of a rate source, {seconds:,} s before batch {batch_id}"
                return ProvenType("rate", Proof(name, holds))
    return None
