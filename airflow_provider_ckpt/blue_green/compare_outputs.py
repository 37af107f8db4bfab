"""Compares the outputs of a new version and the live query over the batches that both have read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_ckpt.blue_green.read_fitting import read_fitting
from airflow_provider_ckpt.blue_green.read_rows import read_files
from airflow_provider_ckpt.blue_green.rows import Comparison, Shape, compare_rows, shape_differences
from airflow_provider_ckpt.blue_green.stage_range import StagedRange
from airflow_provider_ckpt.checkpoint.observe import observe, read_entries
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Output:
    """One of the two outputs, for a function that reads its rows.

    Args:
        side: ``live`` or ``shadow``.
        checkpoint: URI of the checkpoint.
        sink: The sink, as it was declared.
        first_batch: The first batch whose rows are compared; the only one of the shadow output.
        last_batch: The last one, inclusive.
    """

    side: str
    checkpoint: str
    sink: Sink
    first_batch: int
    last_batch: int


#: A function that reads the rows of an output: values by column.
Rows = Callable[[Output], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a comparison.

    Args:
        comparison: The rows.
        live_watermark_ms: Watermark after the range, epoch milliseconds; 0 when there is none.
        shadow_watermark_ms: The same of the new version.
    """

    comparison: Comparison
    live_watermark_ms: int
    shadow_watermark_ms: int

    @property
    def is_equal(self) -> bool:
        """True if rows and watermark are equal."""
        return self.comparison.is_equal and self.live_watermark_ms == self.shadow_watermark_ms

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if self.live_watermark_ms == self.shadow_watermark_ms:
            return self.comparison.sentence
        return (
            f"{self.comparison.sentence}, but the watermark after them is {self.shadow_watermark_ms} ms and that of "
            f"the live query {self.live_watermark_ms} ms, so later batches will drop other rows as late"
        )


def compare_outputs(
    live: tuple[Store, Sink, Store | None],
    shadow: tuple[Store, Sink, Store | None],
    staged: StagedRange,
    *,
    rows: Rows | None = None,
    keys: Sequence[str] = (),
    ignore: Collection[str] = (),
    added: Collection[str] = (),
) -> Outcome:
    """Compare what the live query and the fork have written of one range.

    Args:
        live: The checkpoint, the sink and the store of the sink of the live query.
        shadow: Those of the fork.
        staged: The range as it was staged; its first batch is the batch of the fork.
        rows: Reads the rows of an output; by default those of a file sink.
        keys: Columns that name a row, for the examples.
        ignore: Columns that may differ.
        added: Columns that the new version adds.

    Raises:
        PlanError: The two have not read the same range, the new version wrote to the live sink, or the rows cannot be
            compared.
    """
    first, last = staged.first_batch, staged.last_batch
    fork_id = _require_fork(live[0], shadow[0])
    watermark_ms = _require_same_range(shadow[0], staged)
    _require_live_untouched(live, shadow[0], fork_id, first)
    _require_own_output(shadow, staged)
    outputs = (
        (Output("live", live[0].location, live[1], first, last), live[2]),
        (Output("shadow", shadow[0].location, shadow[1], first, first), shadow[2]),
    )
    shapes: tuple[set[Shape], set[Shape]] = (set(), set())
    left, right = (
        _given_rows(rows, output) if rows else _file_rows(output, store, seen)
        for (output, store), seen in zip(outputs, shapes, strict=True)
    )
    try:
        found = compare_rows(left, right, keys=keys, ignore=ignore, added=added)
    except ValueError as error:
        raise PlanError(f"the outputs cannot be compared: {error}.", location=live[0].location) from error
    found = replace(found, shape=shape_differences(*shapes))
    return Outcome(found, staged.watermark_ms, watermark_ms)


def _require_fork(checkpoint: Store, fork: Store) -> str:
    """The query id of the fork. Raises PlanError when it is no fork of a live query."""
    fork_id = observe(fork).query_id
    if fork_id is None or fork_id == observe(checkpoint).query_id:
        raise PlanError(
            f"it has the query id {fork_id} of the live query, so it is no fork.",
            location=fork.location,
            hint="Give the location of the fork: a backup that was restored with a new query id.",
        )
    return fork_id


def _require_same_range(fork: Store, staged: StagedRange) -> int:
    """Watermark of the fork after the range. Raises PlanError when it has not committed it, or has read another one."""
    batch = staged.first_batch
    found, _ = read_entries(fork, (batch,))
    entry, commit = found.get(layout.offset_entry(batch)), found.get(layout.commit_entry(batch))
    if not isinstance(entry, OffsetSeq) or not isinstance(commit, CommitMetadata):
        raise PlanError(
            f"batch {batch} of the fork is not committed, or Spark has purged its entries.",
            location=fork.location,
            batch_id=batch,
            hint="Wait until the batch is committed; if it was purged, begin again with a new backup.",
        )
    if {source_id: offset.json if offset else None for source_id, offset in entry.offsets} != dict(staged.offsets):
        raise PlanError(
            f"batch {batch} of the fork has ended at other offsets than batch {staged.last_batch} of the live query.",
            location=fork.location,
            batch_id=batch,
            hint="Restore the backup to a new location, stage the range again, and start the new version on that.",
        )
    return commit.next_batch_watermark_ms


def _require_live_untouched(live: tuple[Store, Sink, Store | None], fork: Store, fork_id: str, first: int) -> None:
    """Raise PlanError when the sink of the live query has batches of the fork, or batches that the query has not."""
    checkpoint, sink, store = live
    if store is None:
        return
    if sink.kind != "file" and not sink.writer:
        theirs = read_marker(sink, store, fork_id, first)
        if theirs.last_batch is not None:
            raise PlanError(
                f"the new version has written batch {theirs.last_batch} to {sink.at(store).name}, the sink of the live "
                "query.",
                location=fork.location,
                hint=f"Do not switch. Stop the new version, and take its rows back; its query id is {fork_id}.",
            )
    read_fitting(checkpoint, sink, store)


def _require_own_output(shadow: tuple[Store, Sink, Store | None], staged: StagedRange) -> None:
    """Raise PlanError when the shadow sink is not known to have its batch from the fork.

    The log of a file sink names no query: what it has is of the fork when it was empty before the fork began, and has
    no other batches since.
    """
    fork, sink, store = shadow
    if store is None:
        return
    name = sink.at(store).name
    if sink.kind == "file" and staged.shadow_sink != name:
        told = f"for {staged.shadow_sink}" if staged.shadow_sink else "without a shadow sink"
        raise PlanError(
            f"the range was staged {told}, so nobody has seen whether {name} was empty before.",
            location=fork.location,
            hint="Give shadow_sink to CheckpointStageOperator, and begin again with a new fork and a new shadow sink.",
        )
    _, marker = read_fitting(fork, sink, store)
    batches = [entry.batch_id for entry in read_file_sink(store).entries] if sink.kind == "file" else []
    if min(batches, default=staged.first_batch) < staged.first_batch:
        raise PlanError(
            f"the shadow sink {name} has batch {min(batches)}, which is before the first batch of the fork, "
            f"{staged.first_batch}: somebody else writes to it.",
            location=fork.location,
            hint="Begin again with a new fork and a new shadow sink.",
        )
    if marker.last_batch is None or marker.last_batch < staged.first_batch:
        raise PlanError(
            f"the shadow sink {name} does not have batch {staged.first_batch} of the fork.",
            location=fork.location,
            hint="Let the new version write to the shadow sink, and run this task again.",
        )


def _given_rows(rows: Rows, output: Output) -> Iterable[Mapping[str, Any]]:
    given = rows(output)
    if not isinstance(given, Iterable) or isinstance(given, Mapping | str | bytes):
        raise PlanError(
            f"rows= has given {given!r:.60} for the {output.side} output.",
            location=output.checkpoint,
            hint="Let the function return its rows: a list or an iterator of mappings from column to value.",
        )
    return given


def _file_rows(output: Output, store: Store | None, seen: set[Shape]) -> Iterable[Mapping[str, Any]]:
    """The rows of a file sink; when they are read, the shapes of all files were seen."""
    if output.sink.kind != "file" or store is None:
        raise PlanError(
            f"ckpt does not read the rows of the {output.side} sink {output.sink.at(store).name}.",
            location=output.checkpoint,
            hint="Give the task a function that reads them (rows=), or let the new version write to files.",
        )
    for shape, rows in read_files(store, output.first_batch, output.last_batch):
        seen.add(shape)
        yield from rows
