"""The operator that compares what a new version has written beside the live query with what that has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.operators.base import CheckpointOperator, texts_of, value_of
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.report.table import facts
from airflow_provider_ckpt.visible import visible, visible_values

if TYPE_CHECKING:
    from airflow_provider_ckpt.blue_green.compare_outputs import Outcome, Rows
    from airflow_provider_ckpt.blue_green.stage_range import Opened, StagedRange
    from airflow_provider_ckpt.documents.tasks import ComparisonResultDocument, OfQueryFileFields
    from airflow_provider_ckpt.lineage.datasets import Named


class CheckpointCompareOperator(CheckpointOperator):
    """Fails unless a new version on a fork has written what the live query ``checkpoint`` has, over a staged range.

    What it reads: the two checkpoints, to see that both have committed the range and ended it at the same offsets, and
    with the same watermark; the live sink, to see that the new version has not written to it; and the rows of both
    outputs. Rows are compared as multisets: a row that is there twice has to be there twice. Of files, the format, the
    partition columns and the types of the columns are compared, too.

    Returns ``is_equal``, a ``sentence``, counts (``live_rows``, ``shadow_rows``, ``missing``, ``extra``, ``keys``),
    ``lost_columns``, ``new_columns``, ``shape``, both watermarks and some ``examples``.

    :param fork: Location of the fork.
    :param sink: The sink of the live query, such as ``file:s3://lake/orders``.
    :param shadow_sink: The sink of the new version; another one.
    :param batches: The return value of :class:`CheckpointStageOperator`: ``stage.output``.
    :param keys: Columns that name a row: the examples then show the rows of one key side by side.
    :param ignore: Columns that may differ, such as the time of processing.
    :param added: Columns that the new version adds.
    :param rows: A function that gets an :class:`~airflow_provider_ckpt.blue_green.compare_outputs.Output` and returns
        its rows as mappings; by default Parquet and JSON of file sinks are read.
    :param on_difference: ``fail``, or ``report``: succeed, and leave the decision to a person who reads the result.
    """

    needs = ("checkpoint", "sink")
    does = "compare"
    has_done = "A new version was compared with the live query of"
    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        *("fork", "sink", "shadow_sink", "batches", "keys", "ignore", "added", "on_difference"),
    )

    def __init__(
        self,
        *,
        fork: str,
        sink: str | None = None,
        shadow_sink: str,
        batches: Mapping[str, Any] | str,
        keys: str | Sequence[str] = (),
        ignore: str | Sequence[str] = (),
        added: str | Sequence[str] = (),
        rows: Rows | None = None,
        on_difference: str = "fail",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.fork = fork
        self.sink: Any = sink
        self.shadow_sink = shadow_sink
        self.batches = batches
        self.keys = keys
        self.ignore = ignore
        self.added = added
        self.rows = rows
        self.on_difference = on_difference
        self.require_named()

    def execute(self, context: Any) -> ComparisonResultDocument:
        """Compare, log, and fail when something differs."""
        from airflow_provider_ckpt.blue_green.compare_outputs import compare_outputs
        from airflow_provider_ckpt.blue_green.require import require_apart

        with self.running(context):
            if self.on_difference not in ("fail", "report"):
                raise CheckpointError(f"on_difference must be fail or report, not {self.on_difference!r:.60}")
            live, shadow = self._opened(self.sink), self._opened(self.shadow_sink)
            require_apart(self.store().location, live, shadow)
            outcome = compare_outputs(
                (self.store(), *live),
                (self.store(self.fork), *shadow),
                self._staged(),
                rows=self.rows,
                keys=texts_of("keys", self.keys),
                ignore=texts_of("ignore", self.ignore),
                added=texts_of("added", self.added),
            )
            self._report(outcome)
            result = _document(outcome, self.told_of_file())
            status = "equal" if outcome.is_equal else "different"
            self.tell(context, result, headline=outcome.sentence, status=status)
            if not outcome.is_equal and self.on_difference == "fail":
                raise GateFailedError(f"the new version differs: {outcome.sentence}.", location=self.store().location)
            return result

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The two checkpoints and the two outputs."""
        from airflow_provider_ckpt.lineage.datasets import checkpoint, declared_sinks

        yield from super().lineage_inputs(told)
        if (fork := self.hook.known_url(self.fork)) is not None:
            yield checkpoint(fork)
        yield from declared_sinks(self.shadow_sink, self.hook.known_url)

    def _opened(self, declared: str) -> Opened:
        from airflow_provider_ckpt.change.open_sinks import open_sink

        sink = parse_sink(declared)
        return sink, open_sink(sink, self.store)

    def _staged(self) -> StagedRange:
        from airflow_provider_ckpt.blue_green.stage_range import staged_of

        try:
            return staged_of(value_of(self.batches))
        except ValueError as error:
            raise CheckpointError(f"batches: {error}") from error

    def _report(self, outcome: Outcome) -> None:
        found = outcome.comparison
        rows: list[tuple[str, object]] = [
            ("result", outcome.sentence),
            ("rows", f"{found.live_rows} live, {found.shadow_rows} shadow"),
        ]
        for item in found.examples:
            rows += [("live", visible(item.live or "none")), ("shadow", visible(item.shadow or "none"))]
        self.report(facts(self.store().location, rows))


def _document(outcome: Outcome, of_file: OfQueryFileFields) -> ComparisonResultDocument:
    return {
        "format_version": FORMAT_VERSION,
        **visible_values(outcome.comparison.to_dict()),
        "is_equal": outcome.is_equal,
        "sentence": visible(outcome.sentence),
        "live_watermark_ms": outcome.live_watermark_ms,
        "shadow_watermark_ms": outcome.shadow_watermark_ms,
        **of_file,
    }
