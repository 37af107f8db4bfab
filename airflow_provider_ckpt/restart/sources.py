"""Steps of a restart that concern sources: their number, names and types, and the logs that they keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import sources
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.checks.logs import empty_line, entry_before, newest_entry
from airflow_provider_ckpt.checks.remedies import OR_NEW_LOCATION, listed
from airflow_provider_ckpt.codec import layout, registered_kinds
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart import source_types
from airflow_provider_ckpt.restart.source_commands import continue_sources

SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_NAMES_SINCE = (4, 2)
_EVOLUTION_ERROR = "STREAMING_QUERY_EVOLUTION_ERROR"


def names(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT214: with source evolution every source has a name, without it none has."""
    if deploy.source_kinds is not None:
        on = deploy.switches_on(SOURCE_EVOLUTION)
        named = _named(deploy.source_kinds)
        if wrong := [name for name in deploy.source_kinds if not _TAKEN.fullmatch(name)]:
            yield an_error(
                "CKPT214",
                f"Spark does not take {wrong[0]!r:.80} for the name of a source",
                hint="Give it a name of ASCII letters, digits and underscores.",
                spark_error=_NO_NAME,
            )
        elif on and len(named) < len(deploy.source_kinds):
            yield an_error(
                "CKPT214",
                "source evolution is on, and a source has no name",
                hint=f"Name every source, or deploy without {SOURCE_EVOLUTION}.",
                spark_error=f"{_EVOLUTION_ERROR}.UNNAMED_STREAMING_SOURCES_WITH_ENFORCEMENT",
            )
        elif named and not on:
            yield an_error(
                "CKPT214",
                f"source {named[0]} has a name, but source evolution is off",
                hint=f"Deploy with {SOURCE_EVOLUTION}=true.",
                spark_error=f"{_EVOLUTION_ERROR}.SOURCE_NAMING_NOT_SUPPORTED",
            )


def source_evolution(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT213: source evolution needs an offset log of version 2 from the first batch on."""
    entry = newest_entry(view)
    if entry is None or entry.version > 1 or deploy.spark_version < _NAMES_SINCE:
        return  # an earlier Spark does not know the conf
    if deploy.switches_on(SOURCE_EVOLUTION):
        counted = deploy.sources is not None and len(deploy.sources) != len(entry.offsets)  # Spark compares that first
        yield an_error(
            "CKPT213",
            "source evolution is on, but the offset log has version 1, which does not support it",
            view.latest_planned,
            layout.offset_entry(view.latest_planned or 0),
            spark_error=None if counted else f"{_EVOLUTION_ERROR}.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT",
            **continue_sources(view, entry, deploy.sources, f"Deploy without {SOURCE_EVOLUTION}.", named=True),
        )


def source_logs(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Sources restore themselves from their logs before anything is compared."""
    yield from source_types.own_files(view, deploy)
    yield from (finding for finding in source_findings(view, deploy) if finding.code not in COMPARED)


#: What is found when a source's log and its offset are compared.
COMPARED = ("CKPT123", "CKPT126")


def source_findings(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Findings on sources that the deploy has: an offset log of version 2 may hold others, which Spark ignores."""
    return sources.file_source_logs(view, deploy.source_kinds)


def next_entries(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """A file source reads the files of a planned batch, and writes what a new one will read before that is planned."""
    yield from sources.inputs_of_batch_in_flight(view)
    yield from sources.inputs_from_the_future(view)
    yield from sources.log_folders(view)
    yield from sources.orphaned_checksums(view)


def newest_sources(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The offsets of the newest entry belong to the declared sources: number, names, types."""
    entry, batch_id = newest_entry(view), view.latest_planned
    if entry is None or batch_id is None:
        return
    yield from lines_of_no_source(view, batch_id, deploy)
    if deploy.sources is None:
        return
    if entry.version == 1:
        yield from count_fits(entry, layout.offset_entry(batch_id), batch_id, view, deploy)
    if deploy.source_kinds is None:
        yield from _count_of_names(entry, batch_id, view, deploy)
        return
    if entry.version >= 2:
        yield from _names_fit(entry, batch_id, view, deploy, deploy.source_kinds)
    yield from types_fit(entry, batch_id, deploy)


def _count_of_names(entry: OffsetSeq, batch_id: int, view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT210: an entry of version 2 has other sources than so many; Spark does not stop."""
    recorded, declared = [source_id for source_id, _ in entry.offsets], len(deploy.sources or ())
    if entry.version >= 2 and len(recorded) != declared:
        yield a_warning(
            "CKPT210",
            f"the checkpoint has the sources {listed(recorded)}, and the deploy has {declared}: of a source that is "
            "dropped the unread records are never read, and one that is not there is read from the beginning",
            batch_id,
            layout.offset_entry(batch_id),
            **continue_sources(view, entry, None, "Declare the sources by their names.", named=bool(_named(recorded))),
        )


def types_fit(entry: OffsetSeq, batch_id: int, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT212: the offsets of an entry are such as the declared sources write."""
    if entry.metadata is None:
        return  # a continuous query, whose sources write offsets of another form
    recorded = dict(entry.offsets)
    for name, kind in (deploy.source_kinds or {}).items():
        offset = recorded.get(name)
        if offset is not None and kind is not None:
            yield from _type_fits(name, kind, offset, batch_id)


def _names_fit(
    entry: OffsetSeq, batch_id: int, view: CheckpointView, deploy: DeploySpec, declared: Mapping[str, str | None]
) -> Iterator[Finding]:
    recorded, before = dict(entry.offsets), entry_before(view)
    entry_name = layout.offset_entry(batch_id)
    if recorded and len(_named(recorded)) == len(recorded) and not _named(declared):
        yield an_error(
            "CKPT214",
            f"the checkpoint has named sources ({listed(recorded)}), but the sources of the deploy have no names",
            batch_id,
            entry_name,
            f"Name the sources and deploy with {SOURCE_EVOLUTION}=true.",
            "AssertionError",
        )
        return
    known = recorded.keys() | ({} if before is None else dict(before.offsets)).keys()
    for name in declared.keys() - known:
        yield an_error(
            "CKPT211",
            f"source {name} is not in the checkpoint, and Spark reads it from the beginning",
            batch_id,
            entry_name,
            **continue_sources(
                view, entry, deploy.sources, f"The checkpoint has {listed(recorded)}. Keep the name, unless it is new."
            ),
        )
    gone = sorted(recorded.keys() - declared.keys())
    if gone:
        yield a_warning(
            "CKPT210",
            f"the deploy drops the source {listed(gone)}; its records that the query has not read yet are never read",
            batch_id,
            entry_name,
            **continue_sources(
                view,
                entry,
                deploy.sources,
                "Make sure that the query has read all records of the source before the deploy.",
            ),
        )


def _named(names: Iterable[str]) -> list[str]:
    """Names that are no positions; anything else in their place is no name, and Spark passes it over."""
    return [name for name in names if _NAME.fullmatch(name)]


#: What Spark takes for a name (``StreamingNameValidator``), and what is one here: digits alone are a position.
_TAKEN = re.compile(r"[A-Za-z0-9_]+")
_NAME = re.compile(r"(?![0-9]+$)[A-Za-z0-9_]+")
#: What PySpark says where the query is written.
_NO_NAME = "INVALID_STREAMING_SOURCE_NAME"


def count_fits(
    entry: OffsetSeq, name: str, batch_id: int | None, view: CheckpointView, deploy: DeploySpec
) -> Iterator[Finding]:
    """CKPT210: an entry of version 1 has a line for each source; lines that are empty are none's."""
    declared, recorded = len(deploy.sources or ()), len(entry.offsets)
    if recorded != declared:
        yield an_error(
            "CKPT210",
            f"There are [{recorded}] sources in the checkpoint offsets and now there are "
            f"[{declared}] sources requested by the query.",
            batch_id,
            name,
            spark_error="AssertionError",
            **continue_sources(
                view,
                entry,
                deploy.sources,
                "Keep the sources and their order.",
                named=deploy.switches_on(SOURCE_EVOLUTION),
            ),
        )


def lines_of_no_source(view: CheckpointView, batch_id: int, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT107: what an editor has left in an entry, which Spark counts before anything else of it."""
    entry = view.entries[layout.offset_entry(batch_id)]
    if isinstance(entry, OffsetSeq) and entry.empty_lines:
        found = empty_line(view, batch_id, entry, stops=True)
        is_counted = deploy.sources is not None and len(deploy.sources) == len(entry.offsets)
        yield replace(found, spark_error=None) if is_counted else found


def registered_types(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT215: of the source types that packages have registered, those that cannot be used."""
    kinds = sorted({kind for kind in (deploy.source_kinds or {}).values() if kind in KINDS and kind is not None})
    unused = registered_kinds.refused(KINDS.built_in) if kinds else ()
    for problem in (*(f"{KINDS[kind].problem}." for kind in kinds if KINDS[kind].problem), *unused):
        yield a_warning(
            "CKPT215",
            problem,
            hint="Mend or remove the package. Until then the offsets of such a source are not judged.",
        )


def _type_fits(source_name: str, kind: str, offset: SourceOffset, batch_id: int) -> Iterator[Finding]:
    problem = source_types.offset_problem(kind, offset.json) if kind in KINDS else None
    if problem is not None:
        said, spark_error = problem
        yield Finding(
            "CKPT212",
            "error" if kind in KINDS.built_in else "warning",
            f"the offset of source {source_name} is not an offset of a {kind} source: {said}",
            batch_id,
            layout.offset_entry(batch_id),
            f"Keep the sources, their types and their order, {OR_NEW_LOCATION}",
            spark_error,
        )
