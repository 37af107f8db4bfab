"""Errors that a change would add: they stop Spark, or make it lose data, at a restart. No change adds any.

The checkpoint as it is and as the change leaves it are judged by the same rules, damage by code and file, and by the
forecast, by code: of a start now with any deploy, of a start afterwards with the deploy that the change is for. Errors
that were there before are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.skipped_batch import judged_by_sink
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.no_data import reads_nothing_between, why_waiting
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.untrusted.spans import batches_text

#: A deploy of which nobody has said anything.
ANY = DeploySpec()
#: How a warning begins that is about what was there before the change.
_NO_START = "Spark does not start from this checkpoint"


def require_no_worse(
    plan: Plan,
    now: CheckpointView,
    after: CheckpointView,
    *,
    deploy: DeploySpec = ANY,
    hint: str = "",
    error: type[PlanError] = PlanError,
    marker: SinkMarker | None = None,
) -> Plan:
    """The plan with a warning for what stops Spark after it and did so before.

    Args:
        plan: The change.
        now: The checkpoint as it is, as far as a restart reads it.
        after: The same as the plan leaves it.
        deploy: What is started afterwards.
        hint: What helps where the plan is refused.
        error: What is raised then.
        marker: What the sink remembers, where the plan leaves a batch in flight and the log of the sink as it is: the
            effect is ``stops`` where the query stops after that batch.

    Raises:
        PlanError: There would be an error that is not there now; the error names the rule. An undo puts back what was
            there before the change, errors as well, and so is not refused.
    """
    new, stops = _added(now, after, deploy)
    if new and not plan.rules.takes_back:
        raise error(
            f"after the {plan.called} the checkpoint would have an error that it does not have now: {new[0].code}: "
            f"{new[0].message.rstrip('.')}.",
            location=plan.location,
            batch_id=new[0].batch_id if new[0].batch_id is not None else plan.batch_id,
            name=new[0].name,
            hint=f"Nothing was done. {hint}".strip(),
        )
    plan = plan if marker is None else judged_by_sink(plan, after, marker)
    told = (*(_told(plan, stops) if stops else ()), *_waiting(plan, now, after))
    return replace(plan, warnings=(*plan.warnings, *told)) if told else plan


def with_present_stops(plan: Plan, now: CheckpointView) -> Plan:
    """The plan with a warning for what stops Spark at a start from the checkpoint as it is."""
    stops = [finding for finding in errors_of(now) if finding.spark_error]
    told = (f"{_NO_START} as it is: {_listed(stops)}.",) if stops else ()
    return replace(plan, warnings=(*plan.warnings, *told)) if told else plan


def is_without_start(plan: Plan) -> bool:
    """True if a plan was judged, and warns that Spark does not start from the checkpoint that it changes."""
    return any(text.startswith(_NO_START) for text in plan.warnings)


def errors_of(view: CheckpointView, deploy: DeploySpec = ANY) -> list[Finding]:
    """Errors of the forecast: they stop Spark at a restart, or make it lose data."""
    return _errors(forecast(view, deploy).findings)


def damage_of(view: CheckpointView) -> list[Finding]:
    """The errors of the rules, whatever is started."""
    return _errors(check(view))


def _added(now: CheckpointView, after: CheckpointView, deploy: DeploySpec) -> tuple[list[Finding], list[Finding]]:
    """The errors that a change adds, and those that stop Spark after it."""
    known = {(finding.code, finding.name) for finding in damage_of(now)}
    before, then = {finding.code for finding in errors_of(now)}, errors_of(after, deploy)
    new = [finding for finding in damage_of(after) if (finding.code, finding.name) not in known]
    return [*new, *(finding for finding in then if finding.code not in before)], [
        finding for finding in then if finding.spark_error
    ]


def _told(plan: Plan, stops: list[Finding]) -> Iterator[str]:
    if plan.rules.takes_back:
        yield f"After this {plan.called} Spark does not start: {_listed(stops)}."
    else:
        yield f"{_NO_START}, before the {plan.called} and after it: {_listed(stops)}."


def _listed(stops: list[Finding]) -> str:
    found = "; ".join(dict.fromkeys(map(_said, stops[:3])))
    return f"{found}; and {len(stops) - 3} more" if len(stops) > 3 else found


def _waiting(plan: Plan, now: CheckpointView, after: CheckpointView) -> Iterator[str]:
    """Sentences on a query that goes back to before a batch without data: what it does, and does not do."""
    why = why_waiting(after) if plan.actions else None
    if why is None or not reads_nothing_between(now, after):
        return
    gone = [batch for batch in now.planned if batch > (after.latest_planned or 0)]
    lacks = f" Until then the sink lacks the rows of {batches_text(gone[0], gone[-1])} where they go." if gone else ""
    yield f"After this {plan.called} nothing runs until there is new data: {why}.{lacks}"


def _said(finding: Finding) -> str:
    """The message of a finding, with the file if the message does not name it."""
    message = finding.message.rstrip(".")
    return message if finding.name is None or finding.name in message else f"{finding.name}: {message}"


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == "error"]
