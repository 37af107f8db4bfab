"""The operator that moves the positions of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from airflow_provider_ckpt.change.kinds import Kind
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of
from airflow_provider_ckpt.hooks.kafka import kafka_config
from airflow_provider_ckpt.operators.base import is_nothing, texts_of
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator, CheckpointFencingOperator, plain
from airflow_provider_ckpt.query.source import Source, parse_item, require_asked
from airflow_provider_ckpt.sources.goal import Goal, parse_goal
from airflow_provider_ckpt.sources.kafka.strategies import Scope, parse_scope
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.resolve_goal import resolve_aim
from airflow_provider_ckpt.times import parse_time_ms
from airflow_provider_ckpt.untrusted.fields import require_flag

#: The parameters that say where to, by what the pure reader of goals calls them.
_GOALS = {
    "earliest": "to_earliest",
    "latest": "to_latest",
    "current": "to_current",
    "at_ms": "to_datetime",
    "duration_ms": "by_duration",
    "shift": "shift_by",
    "offsets": "to_offsets",
    "csv": "from_csv",
    "version": "to_version",
    "snapshot": "to_snapshot",
    "skip_version": "skip_version",
    "skip_snapshot": "skip_snapshot",
}


class CheckpointResetOffsetsOperator(CheckpointFencingOperator):
    """Moves the positions of a source, in place, as ``kafka-consumer-groups --reset-offsets`` moves those of a group.

    Where to is exactly one of the ``to_`` and ``skip_`` parameters, ``by_duration``, ``shift_by`` and ``from_csv``, or
    all of it is in ``plan``. A batch in flight is dropped first. What is replaced and removed is kept for
    ``ckpt undo``.

    :param source: The source by its id and what it reads from, such as ``0=kafka:host:9092`` or ``0=delta:URI``;
        with ``kafka_conn_id`` also ``0=kafka``.
    :param to_earliest: To the first offset that each partition still has.
    :param to_latest: To the end of each partition.
    :param to_current: Stay; only drop a batch in flight, and bring positions into what the topics hold.
    :param to_datetime: To the first records that are not older than this time (ISO 8601, or epoch milliseconds).
    :param by_duration: The same, of a time so long ago: ``36h``, a timedelta, or seconds.
    :param shift_by: So many offsets on; a negative number goes back.
    :param to_offsets: One offset, or offsets by topic and partition as in ``startingOffsets``; JSON when it is text.
    :param to_version: Of a Delta source: to the end of this version; the next batch begins with the one after it.
    :param to_snapshot: Of an Iceberg source: the same of a snapshot, by its id.
    :param skip_version: Of a Delta source: past this version, with which the next batch would begin, and past no other.
    :param skip_snapshot: Of an Iceberg source: the same of a snapshot, by its id.
    :param from_csv: Lines ``topic,partition,offset``, as ``--export`` writes them.
    :param topics: What is moved: a topic, or some of its partitions as ``orders:0,1``; one text or a list. By default
        all that the offset log has.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client.
    :param trigger: The trigger of the query as a deploy file says it; with ``realTime`` the logs do not show every
        batch that the sink has rows of.
    :param state_will_see_rows_again: True states that the state of the query may count again what is read again.
    """

    kind: ClassVar[Kind] = "reset"
    does = "reset-offsets"
    has_done = "The offsets were reset of"
    template_fields: Sequence[str] = (
        *CheckpointChangeOperator.template_fields,
        "source",
        "to_earliest",
        "to_latest",
        "to_current",
        "to_datetime",
        "by_duration",
        "shift_by",
        "to_offsets",
        "to_version",
        "to_snapshot",
        "skip_version",
        "skip_snapshot",
        "from_csv",
        "topics",
        "kafka_conn_id",
        "trigger",
        "state_will_see_rows_again",
    )

    def __init__(
        self,
        *,
        source: str | None = None,
        to_earliest: bool | str = False,
        to_latest: bool | str = False,
        to_current: bool | str = False,
        to_datetime: int | str | None = None,
        by_duration: float | str | timedelta | None = None,
        shift_by: int | str | None = None,
        to_offsets: int | str | Mapping[str, Any] | None = None,
        to_version: int | str | None = None,
        to_snapshot: int | str | None = None,
        skip_version: int | str | None = None,
        skip_snapshot: int | str | None = None,
        from_csv: str | None = None,
        topics: str | Sequence[str] | None = None,
        kafka_conn_id: str | None = None,
        trigger: str | None = None,
        state_will_see_rows_again: bool | str = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.to_earliest = to_earliest
        self.to_latest = to_latest
        self.to_current = to_current
        self.to_datetime = to_datetime
        self.by_duration = by_duration
        self.shift_by = shift_by
        self.to_offsets = to_offsets
        self.to_version = to_version
        self.to_snapshot = to_snapshot
        self.skip_version = skip_version
        self.skip_snapshot = skip_snapshot
        self.from_csv = from_csv
        self.topics = topics
        self.kafka_conn_id = kafka_conn_id
        self.trigger = trigger
        self.state_will_see_rows_again = state_will_see_rows_again

    def require_arguments(self) -> None:
        """Raise CheckpointError for a flag that is none."""
        super().require_arguments()
        for name in ("to_earliest", "to_latest", "to_current", "state_will_see_rows_again"):
            self._flag(name)

    def lineage_sources(self) -> Any:
        """The sources of the query, for its lineage."""
        try:
            source_id, declared = self._declared()
            topics = ",".join(self._scope().topics or declared.topics)
        except CheckpointError:  # the task itself says what is wrong
            return None
        return {source_id: f"{declared.type}:{declared.location}{f'/{topics}' if declared.type == 'kafka' else ''}"}

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or that of a reset that was interrupted."""
        source_id, declared = self._declared()
        goal, sink = self._goal(), self.declared_sink()
        stores = Stores.of(self.checkpoint, self.store, sink=sink, undo=self.undo_root)
        aim = resolve_aim(
            declared, goal, self._scope(), Access(self.store, stores.checkpoint, kafka_config(self.kafka_conn_id))
        )
        again = self._flag("state_will_see_rows_again")
        trigger = self.trigger or None
        told: dict[str, Any] = {"sink": sink, "state_sees_rows_again": again, "trigger": trigger}
        told["asks_anew"] = self.asks_anew

        def make(fenced: bool) -> Plan:
            return make_reset(stores, source_id, aim, fenced=fenced, **told)

        return self.planned_behind(make, stores, trigger), stores

    def _declared(self) -> tuple[str, Source]:
        try:
            source = parse_item(self.source if isinstance(self.source, str) else "")
        except ValueError:
            raise CheckpointError(
                f"source must be ID=TYPE:PLACE, such as 0=kafka:host:9092, not {self.source!r:.60}"
            ) from None
        require_asked(source)
        return source.id or "", source

    def _goal(self) -> Goal:
        try:
            return parse_goal(
                earliest=self._flag("to_earliest"),
                latest=self._flag("to_latest"),
                current=self._flag("to_current"),
                at_ms=None if is_nothing(self.to_datetime) else parse_time_ms(str(self.to_datetime), now_ms=now_ms()),
                duration_ms=None if is_nothing(self.by_duration) else duration_ms_of("by_duration", self.by_duration),
                shift=self._number("shift_by"),
                version=self._number("to_version"),
                snapshot=self._number("to_snapshot"),
                skip_version=self._number("skip_version"),
                skip_snapshot=self._number("skip_snapshot"),
                offsets=plain("to_offsets", self.to_offsets) if not is_nothing(self.to_offsets) else None,
                csv=self._csv(),
                called=_GOALS,
            )
        except ValueError as error:
            raise CheckpointError(str(error)) from error

    def _number(self, name: str) -> int | None:
        given = getattr(self, name)
        number = None if is_nothing(given) else plain(name, given)
        if number is not None and type(number) is not int:
            raise CheckpointError(f"{name} must be a whole number, not {given!r:.60}")
        return number

    def _csv(self) -> str | None:
        if is_nothing(self.from_csv):
            return None
        if not isinstance(self.from_csv, str):  # a native template takes quotes for Python
            raise CheckpointError("from_csv must be lines topic,partition,offset without quotes, as one text")
        return self.from_csv

    def _scope(self) -> Scope:
        try:
            return parse_scope(texts_of("topics", self.topics))
        except ValueError as error:
            raise CheckpointError(str(error)) from error

    def _flag(self, name: str) -> bool:
        """A flag, or the text that a template has made of one."""
        return require_flag(name, plain(name, getattr(self, name)))
