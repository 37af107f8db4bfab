"""Forecast of lost data: what a restart loses or stops at now, and what retention deletes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.sources.judge_sources import judge_sources
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.loss import Losses
from airflow_provider_ckpt.sources.lag import SourceLag
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, read_lag


@dataclass(frozen=True, slots=True)
class LossForecast:
    """Losses now, and the lag from which later ones follow.

    Args:
        lost: Losses and stops of a restart now.
        sources: The lag of the Kafka sources; their ``expires_ms`` says when the next records may be deleted.
    """

    lost: Losses
    sources: tuple[SourceLag, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings on what a restart loses, or stops at, now."""
        return self.lost.findings

    @property
    def expires_ms(self) -> int | None:
        """Until the first that any source needs may be deleted, milliseconds; None when nothing expires."""
        expiries = (self.lost.expires_ms, *(source.expires_ms for source in self.sources))
        return min((expiry for expiry in expiries if expiry is not None), default=None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of what was not judged; always ``topic ids`` with a Kafka source, as nobody remembers them here."""
        return self.lost.unknown

    def is_within(self, within_ms: int) -> bool:
        """True if data is lost now, or may be within that time. A warning is about a loss that may never come."""
        return any(finding.severity == "error" for finding in self.findings) or (
            self.expires_ms is not None and self.expires_ms <= within_ms
        )


def foresee_losses(
    view: CheckpointView,
    question: LagQuestion,
    options: Mapping[str, str],
    access: Access,
    now_ms: int,
    brokers: Brokers | None = None,
) -> LossForecast:
    """Forecast what the sources of a query have lost or stop at, and when they will lose more.

    Args:
        view: The checkpoint, as it was observed.
        question: The sources, and the trigger of the query.
        options: Options that the query sets for them, such as ``0.failOnDataLoss``.
        access: Access to the sources.
        now_ms: Now, epoch milliseconds.
        brokers: As for :func:`read_lag`.

    Raises:
        CheckpointError: No source was declared that can be asked, or as :func:`read_lag` and
            :func:`~airflow_provider_ckpt.sources.judge_sources.judge_sources`.
    """
    declared = question.sources
    kafka = {name: source for name, source in declared.items() if source.type == "kafka"}
    if not kafka and not any(source.is_stored for source in declared.values()):
        raise CheckpointError(
            "no source was declared that can be asked what is lost",
            location=view.location,
            hint="Declare one, such as 0=kafka:broker:9092, 0=delta:s3://lake/orders or 0=iceberg:s3://lake/db/orders.",
        )
    brokers = brokers or Brokers(access.kafka_config, configs=access.kafka_configs)
    trigger = question.options.trigger
    lost = judge_sources(view, declared, options, access, brokers, now_ms, trigger=trigger)
    asked = replace(question, sources=kafka, ages=True)
    lags = read_lag(view, asked, access, now_ms, brokers) if kafka else ()
    return LossForecast(lost, tuple(lag for lag in lags if lag.source_id in kafka))
