"""The operator that looks whether a restarted query went on where it had stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.continuity import Bookmark, bookmark_from_dict, continuity
from airflow_provider_ckpt.deploy import DeploySpec
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.operators.base import CheckpointOperator, declared
from airflow_provider_ckpt.report import facts, findings_table


class CheckpointContinuityOperator(CheckpointOperator):
    """Fails when a restarted query did not go on where it had stopped: rescanned, skipped, or lost its identity.

    Returns the verdict (``continued``, or ``doubtful`` with warnings), the newest committed batch and the findings.
    While nothing new is committed the task fails in a way that retries help with; wait with a
    :class:`~airflow_provider_ckpt.sensors.checkpoint.CheckpointProgressSensor` before it.

    :param bookmark: Where the query stood, as the gate leaves it: ``gate.output["bookmark"]``, or that as JSON text.
    :param sources: The sources of the query as the gate takes them; offsets of an unknown type have no order.
    """

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "bookmark", "sources")

    def __init__(
        self,
        *,
        bookmark: Any,
        sources: int | Sequence[str] | Mapping[str, str | None] | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.bookmark = bookmark
        self.sources = sources

    def execute(self, context: Any) -> dict[str, Any]:
        """Compare, log, and fail on a break."""
        with airflow_errors():
            bookmark = _read_bookmark(self.bookmark)
            sources = declared(DeploySpec(), {"sources": self.sources}).source_kinds or {}
            kinds = {name: kind for name, kind in sources.items() if kind}
            view = lifecycle.observe(self.store(), batch_id=bookmark.next_batch)
            result = continuity(bookmark, view, kinds)
            rows = [("verdict", result.verdict), ("stopped after", bookmark.batch_id), ("now", result.latest_committed)]
            self.report(facts(view.location, rows), findings_table(result.findings))
            if result.verdict == "broken":
                reasons = "; ".join(item.message for item in result.findings if item.severity == "error")
                message = f"the query did not go on where it had stopped: {reasons}"
                raise GateFailedError(message, location=view.location, findings=result.findings)
        if result.verdict == "pending":
            raise AirflowException(f"{view.location}: no batch was committed after batch {bookmark.batch_id}")
        return result.to_dict()


def _read_bookmark(value: Any) -> Bookmark:
    try:
        fields = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise CheckpointError(f"the bookmark is no JSON: {error}") from error
    if not isinstance(fields, Mapping):
        raise CheckpointError(f"no bookmark: {fields!r}", hint="Give that of a gate, gate.output['bookmark'].")
    return bookmark_from_dict(fields)
