"""What was judged: ``check``, ``gate``, ``fleet`` and ``explain``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields


class FindingFields(TypedDict):
    """One thing that a rule found."""

    code: Annotated[str, "stable code of the rule, `CKPT` and three digits"]
    severity: Annotated[Literal["error", "warning", "note"], "how bad it is"]
    message: Annotated[str, "what was found, one sentence"]
    batch_id: Annotated[int | None, "batch that it is about"]
    name: Annotated[str | None, "file that it is about"]
    hint: Annotated[str | None, "what to do"]
    commands: Annotated[list[str], "what does it, as it is typed: each shows its plan, and needs `--execute` to act"]
    spark_error: Annotated[str | None, "what a restart stops with because of it; null when Spark goes on"]
    doc: Annotated[str, "command that explains the rule"]


class JudgedFindingFields(FindingFields):
    """A finding, compared with a baseline."""

    known: Annotated[bool, "whether the baseline accepts it; false without a baseline"]


class CheckFields(TypedDict):
    """A checkpoint that was checked."""

    location: Annotated[str, "URI of the checkpoint"]
    unknown: Annotated[list[str], "what was not judged, because it was neither declared nor read"]
    findings: Annotated[list[JudgedFindingFields], "what the rules found, worst first"]


class NotJudgedFields(TypedDict):
    """A checkpoint that could not be judged."""

    location: Annotated[str, "URI of the checkpoint"]
    error: Annotated[ErrorFields, "why it could not be judged"]


class CheckDocument(CheckFields, Document):
    """One checkpoint that was checked."""


class NotJudgedDocument(NotJudgedFields, Document):
    """One checkpoint that could not be judged."""


class ChecksDocument(Document):
    """Several checkpoints that were checked."""

    checkpoints: Annotated[list[CheckFields | NotJudgedFields], "in the order of the command line"]


class ConfFields(TypedDict):
    """What a restart does with one once-only conf."""

    key: Annotated[str, "key in the offset log"]
    session_key: Annotated[str, "key in the session; another one for shuffle partitions from Spark 4.1"]
    log_value: Annotated[str | None, "what the offset log holds"]
    deploy_value: Annotated[str | None, "what the deploy sets explicitly"]
    effective: Annotated[str | None, "what the query will run with"]
    outcome: Annotated[Literal["kept", "overridden", "defaulted", "session"], "where that value comes from"]
    message: Annotated[str | None, "line that Spark logs about it"]


class ForecastFields(TypedDict):
    """The next restart."""

    decision: Annotated[str, "`pass`, `warn` or `block`"]
    resumes_at_batch: Annotated[int | None, "first batch that Spark will run; null when it does not start"]
    reruns_batch: Annotated[int | None, "that batch when it is already planned"]
    spark_error: Annotated[str | None, "Spark's error condition or Java exception; null when Spark starts"]
    start_offsets: Annotated[dict[str, str | None], "where each source begins (exclusive), JSON text by source id"]
    end_offsets: Annotated[dict[str, str | None] | None, "where the first batch ends when it is already planned"]
    watermark_ms: Annotated[int | None, "watermark of the first batch, epoch milliseconds"]
    confs: Annotated[list[ConfFields], "what happens to each once-only conf"]


class ForecastWithFindingsFields(ForecastFields):
    """The next restart, and what speaks against it."""

    unknown: Annotated[list[str], "what was not judged, because it was neither declared nor read"]
    findings: Annotated[list[FindingFields], "what speaks against it, worst first"]


class GateFields(ForecastFields, CheckFields):
    """The next restart, and what speaks against it, compared with a baseline."""


class GateDocument(GateFields, Document):
    """The next restart, forecast."""


class FleetRowFields(TypedDict):
    """One checkpoint of a fleet."""

    location: Annotated[str, "URI of the checkpoint"]
    query_id: Annotated[str | None, "id of the query"]
    latest_planned_batch: Annotated[int | None, "latest batch of the offset log"]
    latest_committed_batch: Annotated[int | None, "latest batch of the commit log"]
    in_flight: Annotated[int | None, "batch that is planned and not committed"]
    watermark_ms: Annotated[int | None, "watermark, epoch milliseconds"]
    last_commit_age_ms: Annotated[int | None, "milliseconds since the latest commit, by the clock of the storage"]
    findings: Annotated[list[FindingFields], "what the rules found, worst first"]
    decision: Annotated[str | None, "`pass`, `warn` or `block`; null without a deploy"]
    unknown: Annotated[list[str], "what was not judged"]
    error: Annotated[str | None, "why it could not be read; all else is then empty"]
    replaced_by: Annotated[str | None, "version of a pipeline's flow that has replaced it; all else is then empty"]


class FleetSummaryFields(TypedDict):
    """What the rows add up to."""

    decision: Annotated[str | None, "worst decision; null without a deploy"]
    unknown: Annotated[list[str], "what was not judged in at least one of them"]
    checkpoints: Annotated[int, "checkpoints that were read"]
    errors: Annotated[int, "checkpoints with an error"]
    warnings: Annotated[int, "checkpoints with warnings at worst"]
    notes: Annotated[int, "checkpoints with notes at worst"]
    unreadable: Annotated[int, "directories that could not be read"]
    replaced: Annotated[int, "checkpoints that were replaced by a full refresh"]
    blocked: Annotated[int, "checkpoints whose gate is closed"]
    requests: Annotated[int, "requests to the storage"]
    requests_per_checkpoint: Annotated[float | None, "the same divided by the checkpoints"]


class FleetDocument(Document):
    """Every checkpoint under some roots."""

    checkpoints: Annotated[list[FleetRowFields], "a row each, in the order of their directories"]
    summary: Annotated[FleetSummaryFields, "what the rows add up to"]


class ExplanationFields(TypedDict):
    """One rule."""

    code: Annotated[str, "code of the rule"]
    title: Annotated[str, "what it is about"]
    text: Annotated[str | None, "what it means, why Spark behaves so, and what to do"]


class ExplainDocument(Document):
    """What rules mean."""

    explanations: Annotated[list[ExplanationFields], "a rule each"]
