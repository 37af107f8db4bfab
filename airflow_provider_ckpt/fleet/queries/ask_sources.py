"""Asking the sources of one query how far it is behind: of one that does not answer the others say it all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.lag import SourceLag
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, read_lag

#: Why a source cannot be asked, of which the file says the type alone.
NO_PLACE = "the file does not say what it reads from"


@dataclass(frozen=True, slots=True)
class SourcesAnswer:
    """How far a query is behind its sources.

    Args:
        sources: A lag each; of one that did not answer it is not known, and its note says why.
        error: Why sources did not answer; None when all did that could be asked.
    """

    sources: tuple[SourceLag, ...]
    error: str | None = None


def ask_sources(
    view: CheckpointView,
    question: LagQuestion,
    access: Access,
    now_ms: int,
    brokers: Brokers,
    late: Mapping[str, str],
) -> SourcesAnswer:
    """How far a query is behind each of its sources; raises nothing that a source does.

    Args:
        view: The checkpoint.
        question: The question.
        access: How the sources are come by.
        now_ms: Now, epoch milliseconds.
        brokers: The brokers, which have been asked.
        late: Why servers of Kafka are not to be asked, by these.
    """
    errors = {
        source_id: late[source.location]
        for source_id, source in question.sources.items()
        if source.type == "kafka" and source.location in late
    }
    placeless = {
        source_id: NO_PLACE
        for source_id, source in question.sources.items()
        if not source.place and not source.is_endless
    }
    asked = {name: source for name, source in question.sources.items() if name not in errors and name not in placeless}

    def read(only: LagQuestion) -> dict[str, SourceLag]:
        found = read_lag(view, only, access, now_ms, brokers)
        return {lag.source_id: lag for lag in found}

    try:
        lags = read(replace(question, sources=asked))
    except CheckpointError:
        lags, failed = _each_alone(read, replace(question, sources=asked))
        errors |= failed
    for source_id, why in {**placeless, **errors}.items():
        lags[source_id] = SourceLag(source_id, question.sources[source_id].type, notes=(why,), is_partial=True)
    return SourcesAnswer(tuple(lags.values()), next(iter(errors.values()), None))


def _each_alone(
    read: Callable[[LagQuestion], dict[str, SourceLag]], question: LagQuestion
) -> tuple[dict[str, SourceLag], dict[str, str]]:
    """The lags of the sources that answer, and why the others do not."""
    lags, errors = dict[str, SourceLag](), dict[str, str]()
    for source_id, source in question.sources.items():
        try:
            found = read(replace(question, sources={source_id: source}))
        except CheckpointError as error:
            errors[source_id] = error.message
            continue
        lags = {**found, **lags, source_id: found[source_id]}
    return lags, errors
