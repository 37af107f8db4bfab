"""The position of a source as what starts another reader there: an option of Spark, or a file of Kafka's own tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.codec.offsets.delta import of_value
from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of, to_json
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sources.kafka.kafka_csv import write_csv


@dataclass(frozen=True, slots=True)
class Form:
    """Written form of a position.

    Args:
        source_type: The type of source that has it.
        text: The text that makes a new reader begin exactly at an offset, which is where the batch ended; the second
            argument is the log entry, for errors. It raises MalformedEntryError for an offset of another type, and
            PlanError when no text means this position.
    """

    source_type: str
    text: Callable[[SourceOffset, str], str]


def _starting_offsets(offset: SourceOffset, name: str) -> str:
    return to_json(_positions_of(offset, name))


def _csv(offset: SourceOffset, name: str) -> str:
    return write_csv(_positions_of(offset, name)).removesuffix("\n")


def _positions_of(offset: SourceOffset, name: str) -> dict[Partition, int]:
    """The offsets of Kafka, each a position: -1 and -2 mean the latest and the earliest one to whoever reads them."""
    offsets = offsets_of(offset, name)
    for (topic, partition), position in sorted(offsets.items()):
        if position < 0:
            raise PlanError(
                f"partition {topic}-{partition} is at {position}, which is no position: a reader takes -1 for the "
                "latest offset and -2 for the earliest one, and no record has another offset below 0",
                name=name,
                hint="Export the position of a later batch (--batch), or position the source anew: ckpt reset-offsets.",
            )
    return offsets


def _starting_version(offset: SourceOffset, name: str) -> str:
    """Delta's ``startingVersion`` is inclusive: version v is read as a whole, and nothing before it."""
    at = of_value(offset.view("delta", name).value)
    if at.has_begun_version:
        part = f"the table as it was at version {at.version}" if at.in_first_snapshot else f"version {at.version}"
        raise PlanError(
            f"the query has read a part of {part}, and no startingVersion means that",
            name=name,
            hint="Export the position of another batch (--batch), one that ended between two versions. ckpt log with "
            "--source ID=delta shows the offsets.",
        )
    return str(at.version)


def _starting_position(offset: SourceOffset, name: str) -> str:
    """The connector takes the JSON of an offset; a shard that it does not name begins when the reader starts."""
    typed = offset.view("kinesis", name)
    if moving := sorted(typed.kind.scales(typed.value).keys() - typed.positions.keys()):
        raise PlanError(
            f"the shard {moving[0]} has no position that a reader could begin at: the query has read nothing of it "
            "yet, or the position cannot be read",
            name=name,
            hint="Export the position of a later batch, after the query has read a record of that shard.",
        )
    return offset.json


def _stream_from_timestamp(offset: SourceOffset, name: str) -> str:
    """Iceberg begins with the first snapshot that is not older than a time, as a whole."""
    offset.view("iceberg", name)
    raise PlanError(
        "a position of an Iceberg source is a number of files of a snapshot, and no stream-from-timestamp means that: "
        "the option names a time, at which several snapshots may have been written, and reads whole snapshots",
        name=name,
        hint="Copy the checkpoint to continue from this position (ckpt backup and ckpt restore --new-query-id).",
    )


#: What is written, by its name: ``startingOffsets`` of Spark's Kafka source, ``startingVersion`` of Delta's,
#: ``startingPosition`` of awslabs' Kinesis source, ``stream-from-timestamp`` of Iceberg's, which is refused, and the
#: lines ``topic,partition,offset`` that ``kafka-consumer-groups --reset-offsets --from-file`` reads.
FORMS: Mapping[str, Form] = {
    "startingOffsets": Form("kafka", _starting_offsets),
    "startingVersion": Form("delta", _starting_version),
    "startingPosition": Form("kinesis", _starting_position),
    "stream-from-timestamp": Form("iceberg", _stream_from_timestamp),
    "csv": Form("kafka", _csv),
}
