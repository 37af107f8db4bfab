"""Rules about checksum files: Hadoop's hidden ones and Spark's own."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import from_backup_or_before
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.checksum import HadoopChecksum


@rule("CKPT120")
def orphans(view: CheckpointView) -> Iterator[Finding]:
    """CKPT120: a Hadoop checksum without its object makes the next write of that object fail."""
    for name in view.objects:
        place = layout.parse(name)
        if not isinstance(place, layout.Sidecar) or not place.hidden or place.of in view.objects:
            continue
        main = layout.parse(place.of)
        if not isinstance(main, layout.LogEntry) or main.batch_id < view.next_batch:
            continue  # nothing writes it again
        yield an_error(
            "CKPT120",
            f"there is a checksum file without its file {place.of}; Spark then fails to write {place.of} with "
            "'Multiple streaming queries are concurrently using'",
            main.batch_id,
            name,
            "Remove the checksum file.",
            "_LEGACY_ERROR_TEMP_2207" if main.batch_id == view.next_batch else None,
        )


@rule("CKPT121")
def stale(view: CheckpointView) -> Iterator[Finding]:
    """CKPT121: a Hadoop checksum file that does not fit its log entry, which Spark does not mind."""
    for name, entry in view.entries.items():
        place = layout.parse(name)
        if not isinstance(entry, HadoopChecksum) or not isinstance(place, layout.Sidecar):
            continue
        if place.of in view.entries and not entry.matches(view.entries[place.of].encode()):
            yield a_warning(
                "CKPT121",
                f"the checksum file does not match {place.of}: that file was changed without Hadoop"
                + _effect(layout.parse(place.of)),
                name=name,
                hint="Spark does not verify checksums of its logs, but `hadoop fs` does. Remove the checksum file if "
                "the entry is right; else restore both from a backup.",
            )


@rule("CKPT120")
def orphans_of_state(view: CheckpointView) -> Iterator[Finding]:
    """CKPT120: a schema, or operator metadata, is written again when it is gone, and its checksum file is in the way.

    Spark finds no such thing where it writes each file anew under a name of its own: in ``_stateSchema`` and
    ``_metadata/v2``; state files are written over whatever is there.
    """
    for name in view.names_below(layout.STATE):
        place = layout.parse(name) if "/_metadata/" in name else None  # most are state files
        if not isinstance(place, layout.Sidecar) or not place.hidden or place.of in view.objects:
            continue
        main = layout.parse(place.of)
        if isinstance(main, layout.OperatorMetadataFile | layout.StateSchemaFile) and main.batch_id is None:
            yield an_error(
                "CKPT120",
                f"there is a checksum file without its file {place.of}; the next start of Spark writes {place.of}, "
                "and stops at the checksum file that is there. The start after that goes on",
                name=name,
                hint="Remove the checksum file, or start the query twice.",
                spark_error="FileAlreadyExistsException",
            )


@rule("CKPT121")
def altered_state(view: CheckpointView) -> Iterator[Finding]:
    """CKPT121: state that is not what was written, or has another's checksum file; Spark loads it as it is."""
    if not view.altered:
        return
    name, _, reason = view.altered[0].partition(": ")
    more = len(view.altered) - 1
    also = f", as {'is' if more == 1 else 'are'} {more:,} more of what a restart loads" if more else ""
    place = layout.parse(name)
    wrote = place.version - 1 if isinstance(place, layout.StateFile) else None
    yield a_warning(
        "CKPT121",
        f"{name} is {reason}{also}: the file or its checksum file was changed, and Spark loads the state as it is",
        wrote,
        name,
        **from_backup_or_before(
            view,
            "the file" if not more else "the files",
            wrote,
            why="If the file is right, remove the checksum file. If it is not, what the query counts is wrong from "
            "here on.",
        ),
    )


def _effect(place: layout.Place) -> str:
    """Possible effect of a changed entry, which Spark does not report."""
    match place:
        case layout.SourceLogEntry():
            return ", and Spark reads an input file again if its line was lost"
        case layout.LogEntry(layout.OFFSETS):
            return ", and Spark uses the offsets, watermark and confs that it has now"
        case layout.LogEntry():
            return ", and Spark uses the watermark and state ids that it has now"
        case layout.QueryMetadataFile():
            return ", and if the query id was changed, sinks take the query for a new one"
        case _:
            return ""
