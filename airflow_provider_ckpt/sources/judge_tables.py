"""Asking the tables and directories that a query reads what stops its next start, and what they will not keep for it.

One module a type, loaded when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.source_options import options_of, parse_options
from airflow_provider_ckpt.sources.kafka.read_losses import data_loss_of
from airflow_provider_ckpt.sources.open_end import Access, module_of
from airflow_provider_ckpt.sources.table_loss import TableAtRestart, TableLosses, all_losses


class Judge(Protocol):
    """Interface of the module of a source type."""

    def judge(self, at: TableAtRestart, declared: Source, access: Access) -> TableLosses:
        """Judge what stops the source, and when its unread data expires.

        Raises:
            StoreUnavailableError: The storage does not answer; another try can help.
            StoreError: The place that the source reads from cannot be read.
            CheckpointError: The offset is none of that type.
        """


def judge_tables(
    view: CheckpointView,
    sources: Mapping[str, Source],
    options: Mapping[str, str],
    access: Access,
    now_ms: int,
    trigger: str | None = None,
) -> TableLosses:
    """Judge what stops the sources that are tables or directories, and when their unread data expires.

    Args:
        view: The checkpoint, as it was observed.
        sources: By id; those of other types are left out, and one whose offsets are of another type is not judged.
        options: Options that the query sets for its sources, such as ``0.skipChangeCommits``.
        access: Access to the sources.
        now_ms: Now, epoch milliseconds.
        trigger: As ``DataStreamWriter.trigger`` calls it; None is unknown.

    Raises:
        ValueError: An option is not known.
        CheckpointError: As :meth:`Judge.judge`.
    """
    parse_options(options.items())
    told = {name: source for name, source in sources.items() if source.is_stored}
    judged = [replace(at, trigger=trigger) for at in _at_restart(view, fitting(view, told), options, now_ms)]
    asked = {at.source_id for at in judged}
    planned = told.keys() if view.latest_planned is not None else set()
    lost = all_losses(_judge(at, access) for at in judged)
    return replace(lost, unknown=(*lost.unknown, *map(data_loss_of, sorted(planned - asked))))


def require_judged(sources: Mapping[str, Source]) -> None:
    """Raise ValueError for a source of a type that is not judged, or without what it reads from."""
    for name, source in sorted(sources.items()):
        if not source.is_stored:
            raise ValueError(
                f"{name}={source.text or '?'}: check compares tables and directories, "
                f"{', '.join(KINDS.answering('judge'))}, each with what it reads from, such as 0=file:/lake/orders. "
                "ckpt gate asks Kafka as well"
            )


def _judge(at: TableAtRestart, access: Access) -> TableLosses:
    judge: Judge = module_of(at.source.type, "judge")
    return judge.judge(at, at.source, access)


def _at_restart(
    view: CheckpointView, sources: Mapping[str, Source], options: Mapping[str, str], now_ms: int
) -> Iterator[TableAtRestart]:
    """The declared sources that have a position; one that has none is not judged."""
    batch_id = view.latest_committed
    committed, planned = view.readable_offset_seq(batch_id), view.readable_offset_seq(view.in_flight)
    before = None if batch_id is None else view.readable_offset_seq(view.predecessor(batch_id))
    for source_id, source in sources.items():
        offset = _offset(committed, source_id)
        if offset is not None and batch_id is not None:
            yield TableAtRestart(
                view.location,
                source_id,
                source,
                batch_id=batch_id,
                committed=offset,
                before=_offset(before, source_id),
                planned=_offset(planned, source_id),
                options=options_of(source_id, options),
                now_ms=now_ms,
            )


def _offset(entry: OffsetSeq | None, source_id: str) -> SourceOffset | None:
    return None if entry is None or source_id not in dict(entry.offsets) else entry.offset(source_id)


# --- offsets of another type ------------------------------------------------------------------------------------------
# A source that has such is not asked: the rules about the logs say what is wrong, and what Spark does with it.


def fitting(view: CheckpointView, sources: Mapping[str, Source]) -> dict[str, Source]:
    """Those of the sources that can be asked with the offsets that a restart goes on from.

    Args:
        view: The checkpoint, as it was observed.
        sources: By id.
    """
    return {name: source for name, source in sources.items() if _fits(view, name, source)}


def _fits(view: CheckpointView, source_id: str, source: Source) -> bool:
    try:
        for offset in _offsets(view, source_id):
            if source.type is not None:
                offset.view(source.type)
    except MalformedEntryError:
        return False
    return True


def _offsets(view: CheckpointView, source_id: str) -> Iterator[SourceOffset]:
    """Where the newest commit ends, the batch before it, and the one in flight."""
    committed = view.latest_committed
    before = None if committed is None else view.predecessor(committed)
    for batch_id in (before, committed, view.in_flight):
        entry = view.readable_offset_seq(batch_id)
        offset = dict(entry.offsets).get(source_id) if entry is not None else None
        if offset is not None:
            yield offset
