"""The operator that judges the switch from one version of a query to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointError, EngineUnknownError, PlanError
from airflow_provider_ckpt.operators.base import CheckpointOperator, texts_of, value_of, word_of, words
from airflow_provider_ckpt.operators.changes.in_place import own_errors
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.report.table import facts
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible_values

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import SwitchResultDocument


class CheckpointSwitchOperator(CheckpointOperator):
    """Says what a switch to another version does at the sinks of a query, and refuses one that is not exact.

    The new version goes on with ``checkpoint`` and with its sinks, so a switch is a restart: the only batch that can
    run again is one in flight. Before the query is stopped nobody knows whether there will be one, so the worst effect
    is judged. With ``query_is_stopped`` the checkpoint is watched for a query that still writes, and the effect is
    judged as it is. Nothing is changed.

    Returns ``batch_id``, ``in_flight``, ``sink_effects`` and ``way_back``, the ways to go back.

    :param sinks: Sinks of the query, such as ``file:s3://lake/orders``; one text is one sink.
    :param accept_sink: Effects that are accepted, by name: ``duplicated``, ``unknown``, one or several.
    :param query_is_stopped: True states that the old version is stopped; or a callable that returns whether it is so,
        and gets Airflow's context where it has a parameter ``context``, or one without a default. By default the
        receipt of a stop says so, where the query file declares an engine and there is one.
    :param backup_root: Where the backup of the old version is, for ``way_back``.
    :param trigger: The trigger of the query, as in the query file.
    :param unchanged_since: The return value of an earlier task of this class: it fails when a query has run since.
    """

    does = "switch"
    has_done = "A switch to another version was judged of"
    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        *("sinks", "accept_sink", "backup_root", "trigger", "unchanged_since"),
    )

    def __init__(
        self,
        *,
        sinks: str | Sequence[str] = (),
        accept_sink: str | Sequence[str] | None = None,
        query_is_stopped: bool | Callable[..., bool] = False,
        backup_root: str | None = None,
        trigger: str | None = None,
        unchanged_since: Mapping[str, Any] | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sinks = sinks
        self.accept_sink = accept_sink
        self.query_is_stopped = query_is_stopped
        self.backup_root = backup_root
        self.trigger = trigger
        self.unchanged_since = unchanged_since

    def execute(self, context: Any) -> SwitchResultDocument:
        """Judge, log, and refuse what is not exact."""
        from airflow_provider_ckpt.blue_green.judge_switch import judge_switch, require_exact, way_back
        from airflow_provider_ckpt.blue_green.require import require_stopped, require_unchanged
        from airflow_provider_ckpt.change.open_sinks import open_sinks

        with self.running(context):
            stopped, earlier = self._is_stopped(context), self._earlier()
            store = self.store()
            if stopped:
                require_stopped(store)
            sinks = open_sinks(map(parse_sink, texts_of("sinks", self.sinks)), self.store)
            view, effects = judge_switch(store, sinks, is_stopped=stopped, trigger=self.trigger or None)
            if earlier is not None:
                require_unchanged(view, *earlier)
            self.report(facts(view.location, [(item.sink, f"{item.effect}: {item.reason}") for item in effects]))
            require_exact(view.location, effects, words(self.accept_sink))
            sink = sinks[0][0].at(sinks[0][1]).name if sinks else ""
            last = view.latest_committed
            result: SwitchResultDocument = {
                "format_version": FORMAT_VERSION,
                "batch_id": last,
                "in_flight": view.in_flight,
                "sink_effects": [visible_values(item.to_dict()) for item in effects],
                "way_back": []
                if last is None
                else list(way_back(view.location, last, scrub(sink), scrub(self.backup_root or "ROOT"))),
            }
            return self.tell(context, result)

    def _is_stopped(self, context: Any) -> bool:
        """The statement, or the answer of the callable. One that is no bool is refused."""
        from airflow_provider_ckpt.change.ask_word import ask_word

        if self.query_is_stopped is False:
            return self.declares_engine and self._has_receipt()
        with own_errors():
            answer = ask_word(word_of(self.query_is_stopped, context), self.shown_checkpoint)
        if not answer and callable(self.query_is_stopped):
            raise PlanError(
                "query_is_stopped says False, so the old version may still run.",
                location=self.shown_checkpoint,
                hint="Nothing was done. Stop the old version, and run this task again.",
            )
        return answer

    def _has_receipt(self) -> bool:
        """True if the engine says that the query is stopped; otherwise the worst is judged."""
        from airflow_provider_ckpt.hooks.engines import open_declared
        from airflow_provider_ckpt.running.require_stopped import require_stopped

        try:
            require_stopped(*open_declared(self))
        except (CheckpointBusyError, EngineUnknownError) as error:
            self.log.info("The worst effect is judged: %s", error)
            return False
        return True

    def _earlier(self) -> tuple[int | None, int | None] | None:
        """The latest committed batch and the one in flight, as an earlier task has judged them."""
        if self.unchanged_since in (None, ""):
            return None
        try:
            given = value_of(self.unchanged_since)
        except ValueError as error:
            raise CheckpointError(f"unchanged_since: {error}") from error
        if not isinstance(given, Mapping) or not {"batch_id", "in_flight"} <= given.keys():
            raise _not_returned(given)
        batch_id, in_flight = given["batch_id"], given["in_flight"]
        if any(number is not None and type(number) is not int for number in (batch_id, in_flight)):
            raise _not_returned(given)
        return batch_id, in_flight


def _not_returned(given: Any) -> CheckpointError:
    return CheckpointError(f"unchanged_since must be what CheckpointSwitchOperator has returned, not {given!r:.60}")
