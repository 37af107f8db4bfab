"""What a pipeline as a whole says of its next run, before any flow of it is judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning, an_error, worst_first
from airflow_provider_ckpt.fleet.pipeline import LOGGED_FORMATS, PipelineFlow, SeenPipeline
from airflow_provider_ckpt.query.pipeline_spec import DEFAULT_FORMAT
from airflow_provider_ckpt.visible import visible

#: All tables, in place of the name of one that is refreshed in full.
ALL = "all"
#: What is not judged where the files of a pipeline could not be read whole.
DEFINITIONS = "definitions of flows"
#: More than a person reads.
_MOST_REASONS = 20


def pipeline_findings(seen: SeenPipeline, full_refresh: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Findings against the next run of a pipeline, the worst first.

    Args:
        seen: The pipeline.
        full_refresh: Tables that the run refreshes in full, as they are given to ``spark-pipelines``; ``all`` is all.

    Raises:
        ValueError: A table that is to be refreshed is none of the pipeline.
    """
    return worst_first(
        (*_two_flows(seen), *_undefined(seen), *_formats(seen), *_storage(seen), *_refreshed(seen, full_refresh))
    )


def not_judged_of(seen: SeenPipeline) -> tuple[str, ...]:
    """What could not be judged, because a file of the pipeline was not read whole."""
    return (DEFINITIONS,) if seen.definitions.not_read else ()


def reasons_of(seen: SeenPipeline) -> tuple[str, ...]:
    """Why the files of a pipeline may define more or less than was read: the first twenty reasons, a sentence each."""
    return tuple(f"Not read whole: {visible(sentence)}." for sentence in seen.definitions.not_read[:_MOST_REASONS])


def runs(seen: SeenPipeline) -> tuple[PipelineFlow, ...]:
    """The flows that the next run may start: those that are defined, and all where that is not known."""
    if seen.definitions.not_read or not seen.definitions.flows:
        return seen.flows
    return tuple(flow for flow in seen.flows if flow.defined is not None)


def table_of(seen: SeenPipeline, table: str) -> tuple[str, ...]:
    """The whole name of a table that is named as ``spark-pipelines`` takes it. Raises ValueError for none."""
    wanted = table.replace("`", "")
    known = {*(flow.target for flow in seen.flows), *seen.targets}
    found = [parts for parts in known if wanted in {".".join(parts[at:]) for at in range(len(parts))}]
    if len(found) != 1:
        names = ", ".join(sorted(".".join(parts) for parts in found or known)) or "none"
        raise ValueError(f"{table} is {'several tables' if found else 'no table'} of {seen.name}: {names}")
    return found[0]


def _two_flows(seen: SeenPipeline) -> Iterator[Finding]:
    """CKPT157: two flows write the files of one table, whose log takes each batch id once."""
    writers = defaultdict[tuple[str, ...], list[PipelineFlow]](list)
    for flow in seen.flows:
        if flow.defined is not None:
            writers[flow.target].append(flow)
    for parts, flows in writers.items():
        kept = seen.format_of(parts)
        if len(flows) < 2 or (kept is not None and kept not in LOGGED_FORMATS):
            continue
        both = f"the flows {', '.join(flow.key[1] for flow in flows)} write to {'.'.join(parts)}"
        hint = (
            "Keep one flow, which reads all inputs of the table; or give the table the format of Delta or Iceberg, "
            "which take the rows of both."
        )
        if kept is not None:
            yield an_error(
                "CKPT157",
                f"{both}, which keeps {kept} files with one log, and that takes each batch id once: the rows of one "
                "flow are dropped, and the run ends as completed",
                hint=hint,
            )
        elif not all(flow.is_there for flow in flows):  # those that have run are judged by what they wrote
            yield a_warning(
                "CKPT157",
                f"{both}, and nothing says its format: in Parquet, the format without another one, both share one log, "
                "and rows are lost in silence",
                hint=f"{hint} Or say the format: {DEFAULT_FORMAT} in the configuration of {seen.place}.",
            )


def _undefined(seen: SeenPipeline) -> Iterator[Finding]:
    """CKPT208: a flow that has a checkpoint, and that no file defines."""
    if not seen.definitions.flows or seen.definitions.not_read:
        return
    for flow in seen.flows:
        if flow.defined is None:
            yield a_note(
                "CKPT208",
                f"{flow.flow.called} has a checkpoint, and no file of the pipeline defines it: Spark does not run it",
                hint=f"If it was renamed, give it its name again, or the flow with the new name begins anew. Else "
                f"{flow.flow.directory} may be removed.",
            )


def _storage(seen: SeenPipeline) -> Iterator[Finding]:
    """CKPT209: no flow has run with this storage."""
    if any(flow.is_there for flow in seen.flows):
        return
    yield a_warning(
        "CKPT209",
        f"no flow has a checkpoint below {seen.storage}: each begins with batch 0. If the pipeline ran with another "
        "storage before, its tables get rows twice, and those that keep files lose the rows of every batch that their "
        "log has",
        hint="Give the storage that the pipeline ran with; or refresh all tables in full, if their sources still have "
        "all rows. For the first run of a new pipeline nothing is to be done.",
    )


def _formats(seen: SeenPipeline) -> Iterator[Finding]:
    """CKPT216: a table of Delta that Spark creates and then takes for one of another format."""
    if seen.spec.format == "delta":
        return
    tables = [parts for parts, target in seen.targets.items() if target.format == "delta" and not target.is_sink]
    if tables:
        yield a_warning(
            "CKPT216",
            f"{', '.join('.'.join(parts) for parts in sorted(tables))}: with format='delta' the first run makes the "
            "table, and each later one stops with DELTA_CANNOT_CHANGE_PROVIDER",
            hint=f"Give {DEFAULT_FORMAT}: delta in the configuration of {seen.place}, and no format to the table.",
        )


def _refreshed(seen: SeenPipeline, tables: Sequence[str]) -> Iterator[Finding]:
    """CKPT217: a full refresh of a table from which flows read that are not refreshed, or of sinks, which stay full."""
    is_all = ALL in tables
    if is_all:
        yield from _sinks_refreshed(seen)
    refreshed = {*(flow.target for flow in seen.flows)} if is_all else {table_of(seen, table) for table in tables}
    for parts in sorted(refreshed):
        readers = [flow for flow in seen.flows if parts in _reads(seen, flow)]
        names = ", ".join(flow.flow.called for flow in readers)
        if readers and seen.format_of(parts) == "iceberg":
            yield a_warning(
                "CKPT217",
                f"a full refresh of {'.'.join(parts)} deletes its rows in a snapshot, which the table keeps: {names} "
                "stops there with Cannot process delete snapshot, also when it is refreshed with it",
                hint="Let it read the table with the option streaming-skip-delete-snapshots; or drop the table first.",
            )
        elif any(flow.target not in refreshed for flow in readers):
            names = ", ".join(flow.flow.called for flow in readers if flow.target not in refreshed)
            yield a_warning(
                "CKPT217",
                f"a full refresh of {'.'.join(parts)} writes its rows again, and {names} is not refreshed: of a table "
                "of files it reads all rows again, so what is there gets them twice, or drops them as late; of a Delta "
                "table it may stop at the rows that are deleted",
                hint="Refresh what reads it as well, down to the last table, if the sources still have all rows; a "
                "sink outside the pipeline is to be emptied first.",
            )


def _sinks_refreshed(seen: SeenPipeline) -> Iterator[Finding]:
    sinks = {parts for parts, target in seen.targets.items() if target.is_sink}
    flows = [flow for flow in runs(seen) if flow.is_there and (flow.target in sinks or len(flow.target) < 3)]
    if flows:
        names = ", ".join(flow.flow.called for flow in flows)
        yield a_warning(
            "CKPT217",
            f"a full refresh of all begins {names} with batch 0, and Spark empties no sink: one of files drops each "
            "batch that its log has, also later ones with new rows, and any other sink gets all rows a second time",
            hint="Empty the sink first, with its _spark_metadata, or give it another path; or refresh the tables by "
            "their names, which leaves the flows into sinks as they are.",
        )


def _reads(seen: SeenPipeline, flow: PipelineFlow) -> Iterable[tuple[str, ...]]:
    """Whole names of the tables that the definition of a flow reads as streams."""
    if flow.defined is None:
        return ()
    return (seen.whole(parts) for parts in flow.defined.reads)
