"""The operator that checks whether a query went on where it had stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import Variable

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.hooks.pipeline_task import PipelineTask
from airflow_provider_ckpt.operators.base import CheckpointOperator, declared
from airflow_provider_ckpt.operators.told import findings_told, reasons_text
from airflow_provider_ckpt.report.table import Table, facts
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.view import CheckpointView
    from airflow_provider_ckpt.documents.tasks import ContinuitiesResultDocument, ContinuityResultDocument
    from airflow_provider_ckpt.restart.bookmark import Bookmark
    from airflow_provider_ckpt.restart.continuity import Continuity
    from airflow_provider_ckpt.storage.store import Store


class CheckpointContinuityOperator(PipelineTask, CheckpointOperator):
    """Fails when a query did not continue where it had stopped: data read again, skipped, or another query id.

    After a deploy, compare with the bookmark of the gate. On a schedule, let the operator store its own bookmark from
    run to run: it then fails once, without retries, for what happened since the last run.

    Returns the status (``continued``, ``doubtful`` with warnings, ``pending`` while nothing new is committed, and on a
    schedule ``begun`` the first time), the newest committed batch and the findings. After a deploy, a ``pending``
    result fails the task, and Airflow retries it; put a
    :class:`~airflow_provider_ckpt.sensors.checkpoint.CheckpointProgressSensor` before it.

    ``query`` may be the name of a pipeline, or a list of names, as for the gate. Its run has ended by then, so each
    flow is compared once: one that committed nothing is ``idle``, which fails nothing; one with a batch in flight fails
    the task, and Airflow tries again, because the run may go on in the Connect server.

    :param bookmark: The bookmark that the gate returns: ``gate.output["bookmark"]``, or that as JSON text.
    :param bookmark_variable: Name of the Airflow Variable that keeps the bookmark; instead of ``bookmark``.
    :param sources: The sources of the query, in the form that the gate takes; offsets of an unknown type cannot be
        compared.
    """

    does = "continuity"
    has_done = "The continuation was judged of"
    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "bookmark",
        "bookmark_variable",
        "sources",
    )

    def __init__(
        self,
        *,
        bookmark: Any = None,
        bookmark_variable: str | None = None,
        sources: int | Sequence[str] | Mapping[str, str | None] | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.bookmark = bookmark
        self.bookmark_variable = bookmark_variable
        self.sources = sources

    def execute(self, context: Any) -> ContinuityResultDocument | ContinuitiesResultDocument:
        """Compare, log, and fail when the query did not continue."""
        from airflow_provider_ckpt.checkpoint.observe import observe
        from airflow_provider_ckpt.restart.bookmark import read_bookmark
        from airflow_provider_ckpt.restart.continuity import continuity

        with self.running(context):
            if self.is_several:
                return self._compare_several(context)
            kept = Variable.get(self.bookmark_variable, default=None) if self.bookmark_variable else self.bookmark
            if self.bookmark_variable and kept is None:
                return self.tell(context, self._begin())
            bookmark = read_bookmark(kept)
            view = observe(self.store(), batch_id=bookmark.next_batch)
            result = continuity(bookmark, view, self._kinds())
            self._report(view, result)
            said = self.told_of_file()
            told: ContinuityResultDocument = {**result.to_dict(), **findings_told(result.findings), **said}
            self.tell(context, told)
            if self.bookmark_variable and result.status != "pending":
                self._remember(view)
            if result.status == "broken":
                reasons = reasons_text([item.message for item in result.findings if item.severity == "error"])
                message = f"the query did not continue where it had stopped: {reasons}"
                raise GateFailedError(message, location=view.location, findings=result.findings)
        if result.status == "pending" and not self.bookmark_variable:
            raise AirflowException(f"{view.location}: no batch was committed after batch {bookmark.batch_id}")
        return told

    def _compare_several(self, context: Any) -> ContinuitiesResultDocument:
        """The same for each flow of a pipeline, or each query of a list, of which the gate took a bookmark."""
        from airflow_provider_ckpt.fleet.continuities import flow_continuity, worst_status
        from airflow_provider_ckpt.report.tables import findings_table

        if self.bookmark_variable:
            raise CheckpointError("bookmark_variable is of one query; give the bookmark of the gate")
        self.require_shared({"sources": self.sources})
        found, file = {}, self.declared_file
        for name, bookmark in _bookmarks(self.bookmark).items():
            query = None if file is None else file.find(name)
            store = self.store(bookmark.location or ("" if query is None else query.checkpoint))
            kinds = (
                {} if query is None else {key: kind for key, kind in (query.deploy.source_kinds or {}).items() if kind}
            )
            newest = None if query is None or self.seen is None else query.checkpoint
            found[name] = flow_continuity(bookmark, _now(store, bookmark), kinds, newest)
        rows = [(name, each.status, each.bookmark.batch_id, each.latest_committed) for name, each in found.items()]
        self.report(Table("Continuity", ("query", "status", "stopped after", "now"), tuple(rows)))
        self.report(*[findings_table(each.findings) for each in found.values() if each.findings])
        result: ContinuitiesResultDocument = {
            "format_version": FORMAT_VERSION,
            "status": worst_status(found),
            "queries": {
                name: {
                    "location": each.location,
                    "status": each.status,
                    "batch_id": each.bookmark.batch_id,
                    "latest_committed_batch": each.latest_committed,
                    **findings_told(each.findings),
                }
                for name, each in found.items()
            },
        }
        self.tell(context, result)
        said = [
            f"{name}: {item.message}"
            for name, each in found.items()
            for item in each.findings
            if item.severity == "error" or item.code == "CKPT306"
        ]
        if result["status"] == "broken":
            raise GateFailedError(f"not each query continued where it had stopped: {reasons_text(said)}")
        if result["status"] == "in flight":
            raise AirflowException(reasons_text(said))
        return result

    def _begin(self) -> ContinuityResultDocument:
        """The first run on a schedule: there is nothing yet to compare with."""
        from airflow_provider_ckpt.checkpoint.observe import observe

        view = observe(self.store())
        self._remember(view)
        return {
            "format_version": FORMAT_VERSION,
            "status": "begun",
            "batch_id": None,
            "latest_committed_batch": view.latest_committed,
            **findings_told(()),
            **self.told_of_file(),
        }

    def _remember(self, view: CheckpointView) -> None:
        from airflow_provider_ckpt.restart.bookmark import take_bookmark

        Variable.set(self.bookmark_variable, json.dumps(take_bookmark(view).to_dict()))

    def _kinds(self) -> dict[str, str]:
        from airflow_provider_ckpt.query.deploy import DeploySpec

        sources = declared(DeploySpec(), {"sources": self.sources}).source_kinds or {}
        return {name: kind for name, kind in sources.items() if kind}

    def _report(self, view: CheckpointView, result: Continuity) -> None:
        from airflow_provider_ckpt.report.tables import findings_table

        stopped_after = result.bookmark.batch_id
        rows = [("status", result.status), ("stopped after", stopped_after), ("now", result.latest_committed)]
        self.report(facts(view.location, rows), findings_table(result.findings))


def _bookmarks(given: Any) -> dict[str, Bookmark]:
    """The bookmarks that a gate of several queries has pushed, by name. Raises CheckpointError."""
    from airflow_provider_ckpt.restart.bookmark import read_bookmark

    try:
        value = parse_json(given) if isinstance(given, str) else given
    except ValueError as error:
        raise CheckpointError(f"the bookmark is not JSON: {error}") from None
    queries = value.get("queries") if isinstance(value, Mapping) else None
    if not isinstance(queries, Mapping):
        raise CheckpointError(
            "the bookmark is not one of several queries", hint="Give the bookmark of a gate of the same query."
        )
    return {str(name): read_bookmark(each) for name, each in queries.items()}


def _now(store: Store, bookmark: Bookmark) -> CheckpointView:
    """The checkpoint of a query with what is beside it; of a flow that has not run, nothing."""
    from airflow_provider_ckpt.checkpoint.find_flows import find_surroundings
    from airflow_provider_ckpt.checkpoint.observe import observe
    from airflow_provider_ckpt.checkpoint.view import CheckpointView

    around = find_surroundings(store, table=True)
    if not any(store.ls()):
        return CheckpointView(store.location, now_ms(), {}, complete=True, surroundings=around)
    return replace(observe(store, batch_id=bookmark.next_batch), surroundings=around)
