"""Whether unread data is lost, or will be: what a restart loses or stops at now, and what retention deletes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.positions.ask_brokers import Brokers
from airflow_provider_ckpt.positions.judge_tables import is_judged, judge_tables
from airflow_provider_ckpt.positions.lag import SourceLag
from airflow_provider_ckpt.positions.read_lag import LagQuestion, read_lag
from airflow_provider_ckpt.positions.read_losses import read_losses
from airflow_provider_ckpt.positions.table_loss import TableLosses
from airflow_provider_ckpt.sources.declared import Access


@dataclass(frozen=True, slots=True)
class LossForecast:
    """What is lost, and what will be.

    Args:
        findings: What a restart loses, or stops at, now.
        sources: The lag of the Kafka sources; their ``expires_ms`` says when the next records may be deleted.
        tables: What was found of tables and directories.
    """

    findings: tuple[Finding, ...]
    sources: tuple[SourceLag, ...]
    tables: TableLosses = field(default_factory=TableLosses)

    @property
    def expires_ms(self) -> int | None:
        """Until the first that any source needs may be deleted, milliseconds; None when nothing expires."""
        expiries = (self.tables.expires_ms, *(source.expires_ms for source in self.sources))
        return min((expiry for expiry in expiries if expiry is not None), default=None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What was not judged of tables and directories."""
        return self.tables.unknown

    def is_within(self, within_ms: int) -> bool:
        """Whether something is lost, or may be after that time. A warning is of what may never come."""
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
    """What the sources of a query have lost or stop at, and when they will lose more.

    Args:
        view: The checkpoint, as it was observed.
        question: The sources, and the trigger of the query.
        options: What the query sets for them, such as ``0.failOnDataLoss``.
        access: How the sources are come by.
        now_ms: Now, epoch milliseconds.
        brokers: As for :func:`read_lag`.

    Raises:
        CheckpointError: No source was declared that can be asked, or as :func:`read_lag`, :func:`read_losses` and
            :func:`~airflow_provider_ckpt.positions.judge_tables.judge_tables`.
    """
    declared = question.sources
    kafka = {name: text for name, text in declared.items() if text.partition(":")[0].lower() == "kafka"}
    if not kafka and not any(map(is_judged, declared.values())):
        raise CheckpointError(
            "no source was declared that can be asked what is lost",
            location=view.location,
            hint="Declare one, such as 0=kafka:broker:9092, 0=delta:s3://lake/orders or 0=iceberg:s3://lake/db/orders.",
        )
    brokers = brokers or Brokers(access.kafka_config)
    lost = read_losses(view, {name: text.partition(":")[2] for name, text in kafka.items()}, options, {}, brokers)
    asked = replace(question, sources=kafka, ages=True)
    lags = read_lag(view, asked, access, now_ms, brokers) if kafka else ()
    tables = judge_tables(view, declared, options, access, now_ms, question.options.trigger)
    own = tuple(lag for lag in lags if lag.source_id in kafka)
    return LossForecast((*lost.findings, *tables.findings), own, tables)
