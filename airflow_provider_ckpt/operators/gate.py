"""The operators around a deploy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.confs import SPARK_MAX, parse_spark_version
from airflow_provider_ckpt.deploy import DeploySpec, conf_text, count_of_sources
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.forecast import forecast
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.operators.base import CheckpointOperator
from airflow_provider_ckpt.report import forecast_tables


class CheckpointGateOperator(CheckpointOperator):
    """Forecasts the restart of a query with the confs of a deploy, and fails when it must not go ahead.

    Returns the forecast: verdict, the batch Spark resumes at, what happens to each conf, the findings.

    :param confs: SQL confs that the deploy sets explicitly.
    :param spark_version: Spark of the deploy, such as ``4.3``; the newest known by default.
    :param sources: Number of sources of the query, or None when it is not known.
    """

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "confs", "spark_version", "sources")

    def __init__(
        self,
        *,
        confs: Mapping[str, str] | None = None,
        spark_version: str | None = None,
        sources: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.confs = dict(confs or {})
        self.spark_version = spark_version
        self.sources = sources

    def execute(self, context: Any) -> dict[str, Any]:
        """Forecast, log, and fail on a blocked gate."""
        with airflow_errors():
            view = lifecycle.observe(self.store())
            foretold = forecast(view, self._deploy())
            self.report(*forecast_tables(view.location, foretold))
            if foretold.verdict == "block":
                reasons = "; ".join(finding.message for finding in foretold.findings if finding.severity == "error")
                raise GateFailedError(
                    f"the gate is closed: {reasons}", location=view.location, findings=foretold.findings
                )
        return foretold.to_dict()

    def _deploy(self) -> DeploySpec:
        try:
            version = parse_spark_version(self.spark_version) if self.spark_version else SPARK_MAX
        except ValueError as error:
            raise CheckpointError(str(error)) from error
        confs = {key: conf_text(value) for key, value in self.confs.items()}
        return DeploySpec(version, confs, None if self.sources is None else count_of_sources(int(self.sources)))
