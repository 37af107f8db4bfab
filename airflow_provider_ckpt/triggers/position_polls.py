"""One poll of where a query is in its sources: what the sensors of positions and their triggers share. It blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, duration_ms_of, query_options_of
from airflow_provider_ckpt.positions.foresee_losses import foresee_losses
from airflow_provider_ckpt.positions.lag import SourceLag
from airflow_provider_ckpt.positions.read_lag import LagQuestion, read_lag
from airflow_provider_ckpt.positions.source_options import option_texts
from airflow_provider_ckpt.sources.declared import Access
from airflow_provider_ckpt.times import duration_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import LagResultDocument, LossResultDocument


@dataclass(frozen=True, slots=True)
class Polled:
    """What one poll has brought.

    Args:
        is_done: Whether the wait is over.
        result: What the task then returns.
        text: The positions in one line, for the log.
    """

    is_done: bool
    result: LagResultDocument | LossResultDocument
    text: str


class PositionPoll(Protocol):
    """Asks the checkpoint and its sources once."""

    def poll(self) -> Polled:
        """Ask once. Raises CheckpointError; StoreUnavailableError when another poll can help."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query and its sources, as the arguments of a sensor or a trigger name them.

    Args:
        checkpoint: Its checkpoint location.
        sources: Where each source reads from, by id.
        kafka_conn_id: Connection of type ``kafka``, or None.
        checkpoint_conn_id: Connection of type ``checkpoint``, or None.

    Raises:
        CheckpointError: The sources are no mapping.
    """

    checkpoint: str
    sources: Mapping[str, str]
    kafka_conn_id: str | None = None
    checkpoint_conn_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sources, Mapping):
            raise CheckpointError(
                f"sources must be a mapping such as {{'0': 'kafka:host:9092'}}, not {self.sources!r:.60}"
            )

    def opened(self) -> tuple[CheckpointView, Access]:
        """The checkpoint as it is now, and how its sources are come by."""
        hook = CheckpointHook(self.checkpoint_conn_id)
        return observe(hook.store(self.checkpoint)), hook.access(self.checkpoint, self.kafka_conn_id)


@dataclass(frozen=True, slots=True)
class LagPoll:
    """Whether a query is behind its sources by no more than it may be.

    Args:
        query: The query.
        most: So much may be unread of each source, in its unit; None for any number.
        max_age: The oldest unread data may be as old as this, as a duration is spelled; None for any age.
        source_options: What the query sets for its Kafka sources, for what the next batch reads.
        trigger: Its trigger; None when that was not said.
    """

    query: Query
    most: int | str | None = None
    max_age: Any = None
    source_options: Mapping[str, Any] | None = None
    trigger: str | None = None

    def poll(self) -> Polled:
        """See :class:`PositionPoll`."""
        most = None if self.most is None else _whole("most", self.most)
        max_age_ms = None if self.max_age is None else duration_ms_of("max_age", self.max_age)
        question = LagQuestion(
            self.query.sources, query_options_of(self.source_options, self.trigger), ages=max_age_ms is not None
        )
        view, access = self.query.opened()
        found = read_lag(view, question, access, now_ms())
        unknown = [source for source in found if source.source_type is None]
        if unknown:
            raise CheckpointError(
                f"source {unknown[0].source_id} was not declared, so nobody can be asked where it ends",
                location=view.location,
                hint="Declare every source, one without an end by its type alone, such as rate.",
            )
        is_said = bool(self.source_options or self.trigger)
        text = ", ".join(f"source {source.source_id} is behind by {_behind(source, is_said)}" for source in found)
        result: LagResultDocument = {"format_version": FORMAT_VERSION, "sources": [item.to_dict() for item in found]}
        return Polled(all(source.is_within(most, max_age_ms) for source in found), result, text)


@dataclass(frozen=True, slots=True)
class LossPoll:
    """Whether a query has lost what it has not read, stops at it, or may lose some soon.

    Args:
        query: The query; at least one of its sources is Kafka, or a Delta or Iceberg table.
        within: So long before the first that is unread may be deleted, as a duration is spelled.
        source_options: What the query sets for its sources.
        trigger: Its trigger; None when that was not said.
    """

    query: Query
    within: Any
    source_options: Mapping[str, Any] | None = None
    trigger: str | None = None

    def poll(self) -> Polled:
        """See :class:`PositionPoll`."""
        within_ms = duration_ms_of("will_lose_data_within", self.within)
        try:
            options = option_texts(self.source_options or {})
        except ValueError as error:
            raise CheckpointError(f"source_options: {error}") from error
        view, access = self.query.opened()
        question = LagQuestion(self.query.sources, query_options_of(self.source_options, self.trigger))
        foreseen = foresee_losses(view, question, options, access, now_ms())
        expires = "nothing unread expires"
        if foreseen.expires_ms is not None:
            expires = f"the first that is unread may be deleted in {duration_text(foreseen.expires_ms)}"
        unknown = [f"not judged: {', '.join(foreseen.unknown)}"] if foreseen.unknown else []
        text = "; ".join((*(finding.message for finding in foreseen.findings), expires, *unknown))
        result: LossResultDocument = {
            "format_version": FORMAT_VERSION,
            "findings": [finding.to_dict() for finding in foreseen.findings],
            "expires_ms": foreseen.expires_ms,
            "unknown": list(foreseen.unknown),
        }
        return Polled(foreseen.is_within(within_ms), result, text)


def _whole(name: str, value: int | str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise CheckpointError(f"{name} must be a whole number, not {value!r:.60}") from None


def _behind(source: SourceLag, is_said: bool) -> str:
    """How far a query is behind a source, and when its options were said, how it gets to the end."""
    if source.total is None:
        return "; ".join(source.notes) or "a number that is not known"
    age = "" if source.age_ms is None else f", {duration_text(source.age_ms)}"
    coming = f" (next batch: {source.next_batch.text})" if is_said and source.next_batch else ""
    return f"{source.total} {source.unit}{age}{coming}"
