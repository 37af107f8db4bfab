"""Whether unread records are lost, or will be soon: what a restart loses now, and what retention deletes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.positions.ask_brokers import Brokers
from airflow_provider_ckpt.positions.lag import SourceLag
from airflow_provider_ckpt.positions.read_lag import LagQuestion, read_lag
from airflow_provider_ckpt.positions.read_losses import read_losses
from airflow_provider_ckpt.sources.declared import Access


@dataclass(frozen=True, slots=True)
class LossForecast:
    """What is lost, and what will be.

    Args:
        findings: What a restart loses, or stops at, now.
        sources: The lag of the Kafka sources; their ``expires_ms`` says when the next records may be deleted.
    """

    findings: tuple[Finding, ...]
    sources: tuple[SourceLag, ...]

    @property
    def expires_ms(self) -> int | None:
        """Until the first unread record of any source may be deleted, milliseconds; None when nothing expires."""
        return min((source.expires_ms for source in self.sources if source.expires_ms is not None), default=None)

    def is_within(self, within_ms: int) -> bool:
        """Whether something is lost, or may be after that time."""
        return bool(self.findings) or (self.expires_ms is not None and self.expires_ms <= within_ms)


def foresee_losses(
    view: CheckpointView,
    question: LagQuestion,
    options: Mapping[str, str],
    access: Access,
    now_ms: int,
    brokers: Brokers | None = None,
) -> LossForecast:
    """What the Kafka sources of a query have lost, and when they will lose more.

    Args:
        view: The checkpoint, as it was observed.
        question: The sources.
        options: What the query sets for them, such as ``0.failOnDataLoss``.
        access: How the sources are come by.
        now_ms: Now, epoch milliseconds.
        brokers: As for :func:`read_lag`.

    Raises:
        CheckpointError: No Kafka source was declared, or as :func:`read_lag` and :func:`read_losses`.
    """
    places = {
        source_id: text.partition(":")[2]
        for source_id, text in question.sources.items()
        if text.partition(":")[0].lower() == "kafka"
    }
    if not places:
        raise CheckpointError(
            "no Kafka source was declared, so nobody can be asked what is lost",
            location=view.location,
            hint="Declare one, such as 0=kafka:broker:9092.",
        )
    brokers = brokers or Brokers(access.kafka_config)
    lost = read_losses(view, places, options, {}, brokers)
    sources = read_lag(view, replace(question, ages=True), access, now_ms, brokers)
    return LossForecast(lost.findings, tuple(source for source in sources if source.source_id in places))
