"""One poll of where a query is in its sources: what the sensors of positions and their triggers share. It blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, duration_ms_of, query_options_of
from airflow_provider_ckpt.times import duration_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.view import CheckpointView
    from airflow_provider_ckpt.documents.tasks import (
        LagResultDocument,
        LossResultDocument,
        QueryLagFields,
        QueryLossFields,
    )
    from airflow_provider_ckpt.query.source import Source
    from airflow_provider_ckpt.query.source_options import QueryOptions
    from airflow_provider_ckpt.sources.foresee_losses import LossForecast
    from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
    from airflow_provider_ckpt.sources.lag import SourceLag
    from airflow_provider_ckpt.sources.open_end import Access
    from airflow_provider_ckpt.sources.read_lag import LagQuestion


@dataclass(frozen=True, slots=True)
class Polled:
    """Result of one poll.

    Args:
        is_done: True if the wait is over.
        result: The value that the task then returns.
        text: The positions in one line, for the log.
    """

    is_done: bool
    result: LagResultDocument | LossResultDocument
    text: str


class PositionPoll(Protocol):
    """Asks the checkpoint and its sources once."""

    def poll(self) -> Polled:
        """Ask once. Raises CheckpointError; StoreUnavailableError when another poll can help."""


#: So many queries are in a result, and so many findings of each.
MOST_QUERIES, MOST_FINDINGS = 100, 20


@dataclass(frozen=True, slots=True)
class Opened:
    """One query, as it is now.

    Args:
        view: Its checkpoint.
        question: Its sources.
        access: The means to open them.
    """

    view: CheckpointView
    question: LagQuestion
    access: Access


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries and their sources, as the arguments of a sensor or a trigger name them.

    Args:
        checkpoint: A checkpoint location, or a list of them.
        sources: Where each source reads from, by id, of every query; or the same by checkpoint.
        kafka_conn_id: Connection of type ``kafka``, or None.
        hook: The hook that opens them.

    Raises:
        CheckpointError: There is no checkpoint, or the sources are no mapping, or not of each checkpoint, or a type is
            not known.
    """

    checkpoint: str | Sequence[str]
    sources: Mapping[str, Any]
    kafka_conn_id: str | None = None
    hook: CheckpointHook = field(default_factory=CheckpointHook)
    #: What was declared, read once: the sources by id, of each checkpoint.
    _parsed: Mapping[str, Mapping[str, Source]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from airflow_provider_ckpt.query.source import parse_by_id

        if not isinstance(self.sources, Mapping):
            raise CheckpointError(
                f"sources must be a mapping such as {{'0': 'kafka:host:9092'}}, not {self.sources!r:.60}"
            )
        if not self.locations or not all(isinstance(location, str) for location in self.locations):
            raise CheckpointError(f"checkpoint must be a location or a list of them, not {self.checkpoint!r:.60}")
        parsed = {location: parse_by_id(self._said_of(location)) for location in self.locations}
        object.__setattr__(self, "_parsed", parsed)

    @property
    def locations(self) -> list[str]:
        """The checkpoints."""
        if isinstance(self.checkpoint, str):
            return [self.checkpoint]
        return list(self.checkpoint) if isinstance(self.checkpoint, list | tuple) else []

    def opened(
        self, options: QueryOptions | None = None, *, ages: bool = False
    ) -> list[tuple[str, Opened | CheckpointError]]:
        """The queries as they are now, or why one cannot be read. The brokers are not asked yet."""
        from airflow_provider_ckpt.query.source_options import QueryOptions

        said = options or QueryOptions()
        return [(location, self._opened(location, said, ages=ages)) for location in self.locations]

    def _opened(self, location: str, options: QueryOptions, *, ages: bool) -> Opened | CheckpointError:
        from airflow_provider_ckpt.checkpoint.observe import observe
        from airflow_provider_ckpt.sources.read_lag import LagQuestion

        try:
            view = observe(self.hook.store(location))
            access = self.hook.access(location, self.kafka_conn_id)
        except CheckpointError as error:
            return error
        return Opened(view, LagQuestion(self._parsed[location], options, ages), access)

    def _said_of(self, location: str) -> Mapping[str, str]:
        by_checkpoint = any(isinstance(value, Mapping) for value in self.sources.values())
        sources = self.sources.get(location) if by_checkpoint else self.sources
        if not isinstance(sources, Mapping):
            raise CheckpointError(
                f"sources are given by checkpoint, and not for {location}",
                hint="Give the sources of each checkpoint of the list, by its name in the list.",
            )
        return sources


def together(found: Sequence[tuple[str, Opened | CheckpointError]], asked_at_ms: int) -> Brokers:
    """The brokers of some queries, asked for all of them together."""
    from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
    from airflow_provider_ckpt.sources.read_lag import read_ahead

    opened = [item for _, item in found if isinstance(item, Opened)]
    access = opened[0].access if opened else None
    brokers = Brokers(access.kafka_config, configs=access.kafka_configs) if access is not None else Brokers({})
    if len(opened) > 1:
        read_ahead([(item.view, item.question) for item in opened], brokers, asked_at_ms)
    return brokers


@dataclass(frozen=True, slots=True)
class LagPoll:
    """Poll of queries for a lag that is within limits.

    Args:
        queries: The queries.
        most: Most unread data of each source, in its unit; None for any number.
        max_age: Greatest age of the oldest unread data, as a duration is spelled; None for any age.
        source_options: Options of the query's Kafka sources, for the forecast of the next batch.
        trigger: Its trigger; None when it is not given.
    """

    queries: Queries
    most: int | str | None = None
    max_age: Any = None
    source_options: Mapping[str, Any] | None = None
    trigger: str | None = None

    def poll(self) -> Polled:
        """Read the lag of the queries (see :class:`PositionPoll`). A query that cannot be asked is an error: its lag is
        unknown.
        """
        from airflow_provider_ckpt.sources.lag import summary_of

        most = None if self.most is None else _whole("most", self.most)
        max_age_ms = None if self.max_age is None else duration_ms_of("max_age", self.max_age)
        if most is None and max_age_ms is None:
            raise CheckpointError(
                "neither most nor max_age says how far the query may be behind, so every lag would be small enough",
                hint="A template that gives None, with render_template_as_native_obj, counts as not given.",
            )
        options = query_options_of(self.source_options, self.trigger)
        found, now = self.queries.opened(options, ages=max_age_ms is not None), now_ms()
        brokers = together(found, now)
        lags = [(location, *self._lag(item, now, brokers)) for location, item in found]
        is_within = [all(source.is_within(most, max_age_ms) for source in sources) for _, _, sources in lags]
        rows: list[QueryLagFields] = [
            {"location": view.location, "is_within": within, "sources": [summary_of(source) for source in sources]}
            for within, (_, view, sources) in zip(is_within, lags, strict=True)
        ]
        rows.sort(key=lambda row: row["is_within"])
        is_said = bool(self.source_options or self.trigger)
        texts = [
            (location, ", ".join(f"source {item.source_id} is behind by {_behind(item, is_said)}" for item in sources))
            for location, _, sources in lags
        ]
        result: LagResultDocument = {
            "format_version": FORMAT_VERSION,
            "checkpoints": rows[:MOST_QUERIES],
            "others": len(rows[MOST_QUERIES:]),
        }
        return Polled(all(is_within), result, _of_all(texts))

    @staticmethod
    def _lag(
        item: Opened | CheckpointError, asked_at_ms: int, brokers: Brokers
    ) -> tuple[CheckpointView, tuple[SourceLag, ...]]:
        from airflow_provider_ckpt.sources.read_lag import read_lag

        if isinstance(item, CheckpointError):
            raise item
        sources = read_lag(item.view, item.question, item.access, asked_at_ms, brokers)
        if unknown := [source for source in sources if source.source_type is None]:
            raise CheckpointError(
                f"source {unknown[0].source_id} was not declared, so nobody can be asked where it ends",
                location=item.view.location,
                hint="Declare every source, one without an end by its type alone, such as rate.",
            )
        if odd := [source for source in sources if not source.is_known]:
            raise CheckpointError(f"of source {odd[0].source_id} {odd[0].notes[0]}", location=item.view.location)
        return item.view, sources


@dataclass(frozen=True, slots=True)
class LossPoll:
    """Poll of queries for one that has lost unread data, stops at it, or may lose some soon.

    Args:
        queries: The queries; at least one source of each can be asked for losses.
        within: Time before the first unread data may be deleted, as a duration is spelled.
        source_options: Options that each query sets for its sources.
        trigger: Its trigger; None when it is not given.
    """

    queries: Queries
    within: Any
    source_options: Mapping[str, Any] | None = None
    trigger: str | None = None

    def poll(self) -> Polled:
        """Read the losses of the queries (see :class:`PositionPoll`). An error of one query is raised only if no other
        lost data.
        """
        from airflow_provider_ckpt.query.source_options import option_texts

        within_ms = duration_ms_of("will_lose_data_within", self.within)
        try:
            options = option_texts(self.source_options or {})
        except ValueError as error:
            raise CheckpointError(f"source_options: {error}") from error
        said = query_options_of(self.source_options, self.trigger)
        found, now = self.queries.opened(said, ages=True), now_ms()
        brokers = together(found, now)
        foreseen = [(location, _foreseen(item, options, now, brokers)) for location, item in found]
        rows = [_loss_row(location, item, within_ms) for location, item in foreseen]
        errors = [item for _, item in foreseen if isinstance(item, CheckpointError)]
        if errors and not any(row["is_within"] for row in rows):
            raise next((error for error in errors if error.retryable), errors[0])
        rows.sort(key=lambda row: (not row["is_within"], row["error"] is None))
        expiries = [row["expires_ms"] for row in rows if row["expires_ms"] is not None]
        result: LossResultDocument = {
            "format_version": FORMAT_VERSION,
            "checkpoints": rows[:MOST_QUERIES],
            "others": len(rows[MOST_QUERIES:]),
            "expires_ms": min(expiries, default=None),
        }
        text = _of_all([(location, _loss_text(item)) for location, item in foreseen])
        return Polled(any(row["is_within"] for row in rows), result, text)


def _foreseen(
    item: Opened | CheckpointError, options: Mapping[str, str], asked_at_ms: int, brokers: Brokers
) -> LossForecast | CheckpointError:
    from airflow_provider_ckpt.sources.foresee_losses import foresee_losses

    if isinstance(item, CheckpointError):
        return item
    try:
        return foresee_losses(item.view, item.question, options, item.access, asked_at_ms, brokers)
    except CheckpointError as error:
        return error


def _loss_row(location: str, item: LossForecast | CheckpointError, within_ms: int) -> QueryLossFields:
    if isinstance(item, CheckpointError):
        said = str(item)
        return {
            "location": location,
            "is_within": False,
            "findings": [],
            "expires_ms": None,
            "unknown": [],
            "error": said,
        }
    return {
        "location": location,
        "is_within": item.is_within(within_ms),
        "findings": [finding.to_dict() for finding in item.findings[:MOST_FINDINGS]],
        "expires_ms": item.expires_ms,
        "unknown": list(item.unknown),
        "error": None,
    }


def _loss_text(item: LossForecast | CheckpointError) -> str:
    if isinstance(item, CheckpointError):
        return str(item)
    expires = "nothing unread expires"
    if item.expires_ms is not None:
        expires = f"the first that is unread may be deleted in {duration_text(item.expires_ms)}"
    unknown = [f"not judged: {', '.join(item.unknown)}"] if item.unknown else []
    return "; ".join((*(finding.message for finding in item.findings), expires, *unknown))


def _of_all(texts: Sequence[tuple[str, str]]) -> str:
    """One text; of several queries each with its name."""
    return texts[0][1] if len(texts) == 1 else "; ".join(f"{location}: {text}" for location, text in texts)


def _whole(name: str, value: int | str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise CheckpointError(f"{name} must be a whole number that is not negative, not {value!r:.60}")
    return number


def _behind(source: SourceLag, is_said: bool) -> str:
    """How far a query is behind a source, and when its options were said, how it gets to the end."""
    if source.total is None:
        return "; ".join(source.notes) or "a number that is not known"
    age = "" if source.age_ms is None else f", {duration_text(source.age_ms)}"
    coming = f" (next batch: {source.next_batch.text})" if is_said and source.next_batch else ""
    lost = f"; {source.lost} unread {source.unit} are lost" if source.lost else ""
    partial = f", and more that cannot be counted: {'; '.join(source.notes)}" if source.is_partial else ""
    return f"{source.total} {source.unit}{age}{coming}{lost}{partial}"
