"""The operator that checks a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.hooks.checkpoint import require_flags
from airflow_provider_ckpt.operators.base import CheckpointOperator, declared
from airflow_provider_ckpt.operators.told import findings_told, reasons_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.view import CheckpointView
    from airflow_provider_ckpt.documents.tasks import CheckResultDocument
    from airflow_provider_ckpt.query.source import Source
    from airflow_provider_ckpt.sources.table_loss import TableLosses

_FAILING = {"error": ("error",), "warning": ("error", "warning"), "never": ()}


class CheckpointCheckOperator(CheckpointOperator):
    """Checks a checkpoint for damage and hazards, and fails when there is a finding.

    Returns the location, what was not judged (``unknown``) and the worst findings, at most twenty.

    :param deep: Also read all state chains, source logs and checksum files; by default only the two logs are read.
    :param sources: Sources that are directories or tables, to be compared with what is there now: what the query has
        read and is gone, and what it cannot read. In the form that the gate takes, each with what it reads from, such
        as ``{"0": "file:/lake/orders"}``.
    :param fail_on: Least severity of a finding with which the task fails: ``error``, ``warning`` or ``never``.
    """

    declared_as: ClassVar = {"sources": "stored_sources"}
    does = "check"
    has_done = "The check has passed of"

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "sources")

    def __init__(
        self,
        *,
        deep: bool = False,
        sources: Sequence[str] | Mapping[str, str] | str | None = None,
        fail_on: Literal["error", "warning", "never"] = "error",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if fail_on not in _FAILING:
            raise ValueError(f"fail_on must be one of {', '.join(_FAILING)}, not {fail_on!r}")
        self.deep = deep
        self.sources = sources
        self.fail_on = fail_on

    def execute(self, context: Any) -> CheckResultDocument:
        """Check, log, and fail for a finding of the severity ``fail_on`` or worse."""
        from airflow_provider_ckpt.checks import check
        from airflow_provider_ckpt.checks.findings import worst_first
        from airflow_provider_ckpt.checks.inspect import examine
        from airflow_provider_ckpt.report.tables import findings_table, not_judged_text
        from airflow_provider_ckpt.restart.judged import not_checked

        with self.running(context):
            require_flags(self, "deep")
            places = self._declared()
            store = self.store()
            view = examine(store, deep=self.deep, each=True)
            findings, unknown = check(view), not_checked(view)
            if places:
                lost = self._compared(view, places)
                findings, unknown = worst_first((*findings, *lost.findings)), (*unknown, *lost.unknown)
            title = f"Findings in {store.location}{not_judged_text(unknown)}"
            self.report(replace(findings_table(findings), title=title))
            result: CheckResultDocument = {
                "format_version": FORMAT_VERSION,
                "location": store.location,
                "unknown": list(unknown),
                **findings_told(findings),
                **self.told_of_file(),
            }
            self.tell(context, result, batch_id=view.latest_committed)
            failing = [item for item in findings if item.severity in _FAILING[self.fail_on]]
            if failing:
                reasons = reasons_text([f"{item.code}: {item.message}" for item in failing])
                raise GateFailedError(f"the check failed: {reasons}", location=store.location, findings=findings)
        return result

    def _declared(self) -> dict[str, Source]:
        """The sources that are compared, by id. Raises CheckpointError for what cannot be."""
        from airflow_provider_ckpt.query.deploy import DeploySpec
        from airflow_provider_ckpt.sources.judge_tables import require_judged

        deploy = declared(DeploySpec(), {"sources": self.sources})
        sources = {source.id or "?": source for source in deploy.sources or ()}
        try:
            require_judged(sources)
        except ValueError as error:
            raise CheckpointError(f"sources: {error}") from error
        return sources

    def _compared(self, view: CheckpointView, sources: Mapping[str, Source]) -> TableLosses:
        """Findings of the sources, compared with what the query has read of them."""
        from airflow_provider_ckpt.sources.judge_tables import judge_tables

        return judge_tables(view, sources, {}, self.hook.access(self.checkpoint), now_ms())
