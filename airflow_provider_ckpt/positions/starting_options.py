"""The position of a source as what starts another reader there: an option of Spark, or a file of Kafka's own tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_provider_ckpt.codec.delta_offset import BASE_INDEX
from airflow_provider_ckpt.codec.kafka_offset import offsets_of, to_json
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.positions.kafka_csv import write_csv


def starting_option(form: str, offset: SourceOffset, name: str) -> str:
    """The text that makes a new reader begin exactly where an offset is.

    Args:
        form: One of FORMS.
        offset: Of a source whose entries say where a batch ends.
        name: The log entry that the offset is in, for errors.

    Raises:
        MalformedEntryError: It is no offset of the source type that has this option.
        PlanError: No value of the option means this position.
    """
    return FORMS[form](offset, name)


def _starting_offsets(offset: SourceOffset, name: str) -> str:
    return to_json(offsets_of(offset, name))


def _csv(offset: SourceOffset, name: str) -> str:
    return write_csv(offsets_of(offset, name)).removesuffix("\n")


def _starting_version(offset: SourceOffset, name: str) -> str:
    """Delta's ``startingVersion`` is inclusive: version v is read as a whole, and nothing before it."""
    typed = offset.view("delta", name)
    (version, index), starts = typed.positions["table"], typed.kind.in_first_snapshot(typed.value)
    if starts or index != BASE_INDEX:
        part = f"the table as it was at version {version}" if starts else f"version {version}"
        raise PlanError(
            f"the query has read a part of {part}, and no startingVersion means that",
            name=name,
            hint="Export the position of another batch (--batch), one that ended between two versions. ckpt log with "
            "--source ID=delta shows the offsets.",
        )
    return str(version)


#: What is written, by its name: ``startingOffsets`` of Spark's Kafka source, ``startingVersion`` of Delta's, and the
#: lines ``topic,partition,offset`` that ``kafka-consumer-groups --reset-offsets --from-file`` reads.
FORMS: Mapping[str, Callable[[SourceOffset, str], str]] = {
    "startingOffsets": _starting_offsets,
    "startingVersion": _starting_version,
    "csv": _csv,
}
