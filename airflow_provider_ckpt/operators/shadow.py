"""The operators that let a new version run beside the live query, compare the two, and judge the switch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.change.open_sinks import open_sink, open_sinks
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError, PlanError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors, require_flags
from airflow_provider_ckpt.lineage.datasets import Named, checkpoint, declared_sinks
from airflow_provider_ckpt.operators.base import CheckpointOperator, texts_of, value_of, words
from airflow_provider_ckpt.report.tables import facts
from airflow_provider_ckpt.shadow.compare_outputs import Outcome, Rows, compare_outputs
from airflow_provider_ckpt.shadow.judge_switch import judge_switch, require_exact, require_stopped
from airflow_provider_ckpt.shadow.stage_range import StagedRange, stage_range, staged_of
from airflow_provider_ckpt.shadow.switch import way_back
from airflow_provider_ckpt.sinks.declared import DeclaredSink, parse_sink
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import (
        ComparisonResultDocument,
        StagedRangeDocument,
        SwitchResultDocument,
    )


class CheckpointStageOperator(CheckpointOperator):
    """Gives a fork of the live query ``checkpoint`` its first batch: as long as batches of the live query together.

    A new version that is started on the fork runs that batch first, with the very offsets of the live query, whatever
    its trigger is and whatever the source has by then. So its output can be compared with that of the live query. The
    live query may go on running; nothing of it is changed. A second run finds the batch there.

    Returns ``first_batch`` (which is also the batch of the fork), ``last_batch`` and ``stateful``.

    :param fork: Location of the fork: a restored backup with a new query id, which nobody has started.
    :param last_batch: The batch of the live query that the range ends with, inclusive; the newest committed by default.
        A range of one batch is exact for every deterministic query. Results of stateful operators may depend on where
        batches are cut, and then a longer range may differ.
    """

    does = "stage"
    has_done = "A range of batches was staged of"
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "fork", "last_batch")

    def __init__(self, *, fork: str, last_batch: int | str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fork = fork
        self.last_batch = last_batch

    def execute(self, context: Any) -> StagedRangeDocument:
        """Stage the range, and say what it is."""
        with airflow_errors():
            last = None if self.last_batch in (None, "") else _number("last_batch", self.last_batch)
            staged = stage_range(self.store(), self.store(self.fork), last)
            if staged.stateful and staged.last_batch > staged.first_batch:
                self.log.warning(
                    "The query keeps state: its results may depend on where batches are cut. The fork runs batches %d "
                    "to %d as one. To compare exactly, stage one batch.",
                    staged.first_batch,
                    staged.last_batch,
                )
            result: StagedRangeDocument = {"format_version": FORMAT_VERSION, **staged.to_dict()}  # type: ignore[typeddict-item]  # its fields
            return self.tell(context, result)

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The fork."""
        if (fork := self.hook.known_url(self.fork)) is not None:
            yield checkpoint(fork, change="ALTER" if told else "")


class CheckpointCompareOperator(CheckpointOperator):
    """Fails unless a new version on a fork has written what the live query ``checkpoint`` has, over a staged range.

    What it reads: the two checkpoints, to see that both have committed the range and ended it at the same offsets, and
    with the same watermark; the live sink, to see that the new version has not written to it; and the rows of both
    outputs. Rows are compared as multisets: a row that is there twice has to be there twice.

    Returns ``is_equal``, a ``sentence``, counts (``live_rows``, ``shadow_rows``, ``missing``, ``extra``, ``keys``),
    ``lost_columns``, ``new_columns``, both watermarks and some ``examples``.

    :param fork: Location of the fork.
    :param sink: The sink of the live query, such as ``file:s3://lake/orders``.
    :param shadow_sink: The sink of the new version; another one.
    :param batches: What :class:`CheckpointStageOperator` has returned: ``stage.output``.
    :param keys: Columns that name a row: the examples then show the rows of one key side by side.
    :param ignore: Columns that may differ, such as the time of processing.
    :param added: Columns that the new version adds.
    :param rows: A function that gets an :class:`~airflow_provider_ckpt.shadow.compare_outputs.Output` and returns its
        rows as mappings; by default Parquet and JSON of file sinks are read.
    :param on_difference: ``fail``, or ``report``: succeed, and leave the decision to a person who reads the result.
    """

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
        sink: str,
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
        self.sink = sink
        self.shadow_sink = shadow_sink
        self.batches = batches
        self.keys = keys
        self.ignore = ignore
        self.added = added
        self.rows = rows
        self.on_difference = on_difference

    def execute(self, context: Any) -> ComparisonResultDocument:
        """Compare, log, and fail when something differs."""
        with airflow_errors():
            if self.on_difference not in ("fail", "report"):
                raise CheckpointError(f"on_difference must be fail or report, not {self.on_difference!r:.60}")
            live, shadow = self._opened(self.sink), self._opened(self.shadow_sink)
            self._require_apart(live, shadow)
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
            result = _document(outcome)
            status = "equal" if outcome.is_equal else "different"
            self.tell(context, result, headline=outcome.sentence, status=status)
            if not outcome.is_equal and self.on_difference == "fail":
                raise GateFailedError(f"the new version differs: {outcome.sentence}.", location=self.store().location)
            return result

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The two checkpoints and the two outputs."""
        yield from super().lineage_inputs(told)
        if (fork := self.hook.known_url(self.fork)) is not None:
            yield checkpoint(fork)
        yield from declared_sinks(self.shadow_sink, self.hook.known_url)

    def _opened(self, declared: str) -> tuple[DeclaredSink, Store | None]:
        sink = parse_sink(declared)
        return sink, open_sink(sink, self.store)

    def _require_apart(
        self, live: tuple[DeclaredSink, Store | None], shadow: tuple[DeclaredSink, Store | None]
    ) -> None:
        """Raise PlanError when the shadow sink is the live one, or one is inside the other."""
        ours, theirs = shadow[1], live[1]
        inside = ours is not None and theirs is not None and (ours.is_within(theirs) or theirs.is_within(ours))
        if inside or live[0] == shadow[0]:
            raise PlanError(
                f"the shadow sink {shadow[0].name} is the sink of the live query, or one is inside the other.",
                location=self.store().location,
                hint="Let the new version write to a sink of its own.",
            )

    def _staged(self) -> StagedRange:
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


class CheckpointSwitchOperator(CheckpointOperator):
    """Says what a switch to another version does at the sinks of a query, and refuses one that is not exact.

    The new version goes on with ``checkpoint`` and with its sinks, so a switch is a restart: the only batch that can
    run again is one in flight. Before the query is stopped nobody knows whether there will be one, so the worst effect
    is judged. With ``query_is_stopped`` the checkpoint is watched for a query that still writes, and the effect is
    judged as it is. Nothing is changed.

    Returns ``batch_id``, ``in_flight``, ``sink_effect``, ``sink_effects`` and ``way_back``, the ways to go back.

    :param sinks: Sinks of the query, such as ``file:s3://lake/orders``; one text is one sink.
    :param accept_sink: Effects that are accepted, by name: ``duplicated``, ``unknown``, one or several.
    :param query_is_stopped: True states that the old version is stopped; or a callable that returns whether it is so.
    :param backup_root: Where the backup of the old version is, for ``way_back``.
    :param trigger: The trigger of the query, as in a deploy file.
    """

    does = "switch"
    has_done = "A switch to another version was judged of"
    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        *("sinks", "accept_sink", "backup_root", "trigger"),
    )

    def __init__(
        self,
        *,
        sinks: str | Sequence[str] = (),
        accept_sink: str | Sequence[str] | None = None,
        query_is_stopped: bool | Callable[[], bool] = False,
        backup_root: str = "ROOT",
        trigger: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sinks = sinks
        self.accept_sink = accept_sink
        self.query_is_stopped = query_is_stopped
        self.backup_root = backup_root
        self.trigger = trigger

    def execute(self, context: Any) -> SwitchResultDocument:
        """Judge, log, and refuse what is not exact."""
        with airflow_errors():
            stopped = self._is_stopped()
            store = self.store()
            if stopped:
                require_stopped(store)
            sinks = open_sinks(map(parse_sink, texts_of("sinks", self.sinks)), self.store)
            view, effects = judge_switch(store, sinks, is_stopped=stopped, trigger=self.trigger or None)
            self.report(facts(view.location, [(item.sink, f"{item.effect}: {item.reason}") for item in effects]))
            require_exact(view.location, effects, words(self.accept_sink))
            sink = sinks[0][0].at(sinks[0][1]).name if sinks else ""
            last = view.latest_committed
            result: SwitchResultDocument = {
                "format_version": FORMAT_VERSION,
                "batch_id": last,
                "in_flight": view.in_flight,
                "sink_effects": [
                    {
                        "sink": visible(item.sink),
                        "effect": item.effect,
                        "reason": visible(item.reason),
                        "remedy": visible(item.remedy),
                    }
                    for item in effects
                ],
                "way_back": [] if last is None else list(way_back(view.location, last, sink, self.backup_root)),
            }
            return self.tell(context, result)

    def _is_stopped(self) -> bool:
        """The statement, or the answer of the callable. One that is no bool is refused."""
        if callable(self.query_is_stopped):
            answer = self.query_is_stopped()
            if answer is not True:
                raise PlanError(
                    f"query_is_stopped says {answer!r:.60}, so the old version may still run.",
                    location=self.checkpoint,
                    hint="Nothing was done. Stop the old version, and run this task again.",
                )
            return True
        require_flags(self, "query_is_stopped")
        return self.query_is_stopped


def _number(name: str, value: Any) -> int:
    """A batch id, which a template may have made a text. Raises CheckpointError."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise CheckpointError(f"{name} must be the id of a batch, not {value!r:.60}")


def _document(outcome: Outcome) -> ComparisonResultDocument:
    found = outcome.comparison
    return {
        "format_version": FORMAT_VERSION,
        "is_equal": outcome.is_equal,
        "sentence": visible(outcome.sentence),
        "live_rows": found.live_rows,
        "shadow_rows": found.shadow_rows,
        "missing": found.missing,
        "extra": found.extra,
        "keys": found.keys,
        "lost_columns": [visible(name) for name in found.lost_columns],
        "new_columns": [visible(name) for name in found.new_columns],
        "live_watermark_ms": outcome.live_watermark_ms,
        "shadow_watermark_ms": outcome.shadow_watermark_ms,
        "examples": [
            {"live": visible(item.live) if item.live else None, "shadow": visible(item.shadow) if item.shadow else None}
            for item in found.examples
        ],
    }
