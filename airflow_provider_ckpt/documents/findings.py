"""Judgements: ``check``, ``gate``, ``fleet`` and ``explain``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields
from airflow_provider_ckpt.documents.as_document import DocumentOf
from airflow_provider_ckpt.documents.positions import LagSummaryFields, NextBatchFields

FindingFields = Annotated[dict[str, Any], DocumentOf("checks.findings", "Finding")]


class JudgedFindingFields(TypedDict):
    """A finding, compared with a baseline."""

    known: Annotated[bool, "whether the baseline has this finding; false without a baseline"]


class CheckFields(TypedDict):
    """A checkpoint that was checked."""

    location: Annotated[str, "URI of the checkpoint"]
    unknown: Annotated[list[str], "what was not judged, because it was neither declared nor read"]
    findings: Annotated[list[JudgedFindingFields], "what the rules found, worst first"]


class NotJudgedFields(TypedDict):
    """A checkpoint that could not be judged."""

    location: Annotated[str, "URI of the checkpoint"]
    error: Annotated[ErrorFields, "why the checkpoint could not be judged"]


class CheckDocument(CheckFields, Document):
    """One checkpoint that was checked."""


class NotJudgedDocument(NotJudgedFields, Document):
    """One checkpoint that could not be judged."""


class ChecksDocument(Document):
    """Several checkpoints that were checked."""

    checkpoints: Annotated[
        list[CheckFields | NotJudgedFields], "a result for each location, in the order of the command line"
    ]


ConfFields = Annotated[dict[str, Any], DocumentOf("checkpoint.spark_confs", "ConfOutcome")]


class ForecastFields(TypedDict):
    """The next restart."""

    decision: Annotated[str, "`pass`, `warn` or `block`"]
    resumes_at_batch: Annotated[int | None, "first batch that Spark will run; null when it stops, or nobody can say"]
    reruns_batch: Annotated[int | None, "that batch when it is already planned"]
    spark_error: Annotated[str | None, "Spark's error condition or Java exception; null when Spark starts"]
    start_offsets: Annotated[
        dict[str, str | None], "start offset of each source in that batch (exclusive), JSON text by source id"
    ]
    end_offsets: Annotated[
        dict[str, str | None] | None,
        "end offset of each source when that batch is already planned, JSON text by source id",
    ]
    next_batches: Annotated[
        dict[str, NextBatchFields], "what that batch reads of each Kafka source with a declared broker, by source id"
    ]
    not_foretold: Annotated[dict[str, str], "what is missing to say so of the other sources, by source id"]
    watermark_ms: Annotated[int | None, "watermark of the first batch, epoch milliseconds"]
    waits_for_data: Annotated[bool, "no batch runs until there is new data, and results of closed windows wait for it"]
    confs: Annotated[list[ConfFields], "outcome of each once-only conf"]


class ToldFindingsFields(TypedDict):
    """Findings of the rules, as in an XCom."""

    findings: Annotated[list[FindingFields], "findings, worst first; at most twenty"]
    findings_left_out: Annotated[int, "number of findings that are not among them; the log of the task has them"]


class ForecastWithFindingsFields(ForecastFields):
    """The next restart, and what speaks against it."""

    unknown: Annotated[list[str], "what was not judged, because it was neither declared nor read"]
    findings: Annotated[list[FindingFields], "findings against the restart, worst first"]


class GateFields(ForecastFields, CheckFields):
    """The next restart, and what speaks against it, compared with a baseline."""


class GateDocument(GateFields, Document):
    """The next restart, forecast."""


BatchRateFields = Annotated[dict[str, Any], DocumentOf("fleet.batch_rate", "BatchRate")]


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
    error: Annotated[str | None, "why the checkpoint could not be read; the other fields are then empty"]
    replaced_by: Annotated[
        str | None,
        "version of a declarative pipeline's flow that has replaced this checkpoint; the other fields are then empty",
    ]
    planned_at_ms: Annotated[int | None, "when the latest committed batch began, epoch milliseconds"]
    lag: Annotated[list[LagSummaryFields] | None, "how far the query is behind each source; null when nobody asked"]
    expires_ms: Annotated[
        int | None, "until a source may delete the first that the query needs; for Kafka null without `--ages`"
    ]
    lag_error: Annotated[str | None, "why the sources could not be asked"]
    last_commit_ms: Annotated[int | None, "when the latest batch was committed, by the clock of the storage"]
    rate: Annotated[BatchRateFields | None, "batches over the time of the commit log; null for fewer than two"]
    stalled_ms: Annotated[
        int | None, "for how long there is no commit, where that is much longer than the query's own rhythm, else null"
    ]


class NoCheckpointsFields(TypedDict):
    """What is below the roots and is no checkpoint."""

    empty_directories: Annotated[int, "directories with nothing in them; one of them may have been a checkpoint"]
    files: Annotated[int, "files directly below a root, but for hidden ones and those of tables"]
    first: Annotated[list[str], "locations of the first of them, at most three of each"]


class FleetSummaryFields(TypedDict):
    """Totals of the rows."""

    complete: Annotated[bool, "whether all were checked; false when the search was interrupted"]
    last: Annotated[str | None, "the last row of a search that was interrupted; null when it is complete"]
    decision: Annotated[str | None, "worst decision; null without a deploy"]
    unknown: Annotated[list[str], "what was not judged in at least one checkpoint"]
    checkpoints: Annotated[int, "checkpoints that were read"]
    errors: Annotated[int, "checkpoints with an error"]
    warnings: Annotated[int, "checkpoints with warnings at worst"]
    notes: Annotated[int, "checkpoints whose worst finding is a note"]
    unreadable: Annotated[int, "directories that could not be read"]
    replaced: Annotated[int, "checkpoints that were replaced by a full refresh"]
    blocked: Annotated[int, "number of checkpoints whose gate decision is `block`"]
    sources_unreadable: Annotated[int, "number of checkpoints whose sources could not be asked"]
    not_searched: Annotated[int, "number of directories deeper than `--depth`, which were not searched"]
    no_checkpoints: Annotated[NoCheckpointsFields, "what is there and is no checkpoint; it changes no exit code"]
    requests: Annotated[int, "number of requests to the storage"]
    requests_per_checkpoint: Annotated[float | None, "number of requests to the storage per checkpoint"]


class FleetDocument(Document):
    """Every checkpoint under some roots."""

    checkpoints: Annotated[list[FleetRowFields], "a row each, in the order of their directories"]
    summary: Annotated[FleetSummaryFields, "totals of all rows"]


EvidenceFields = Annotated[dict[str, Any], DocumentOf("explain.explanation", "Evidence")]


SignFields = Annotated[dict[str, Any], DocumentOf("explain.sign", "Sign")]


class ExplanationFields(TypedDict):
    """A rule, or one cause of an error."""

    code: Annotated[str | None, "code of the rule; null for an error"]
    title: Annotated[str, "title of the rule; for an error its text in the runbook, or its condition"]
    text: Annotated[str | None, "what the rule means, why Spark behaves so, and what to do; of an error, what to do"]
    condition: Annotated[str | None, "error condition; null for a rule and for an error that has none"]
    message: Annotated[str | None, "what the text says, on one line; null for a rule"]
    cause: Annotated[str | None, "why Spark stops; null for a rule, and where nothing shows that this is why"]
    possible: Annotated[
        str | None,
        "in place of `cause`: one sentence that says what it may be instead, and how to tell",
    ]
    certainty: Annotated[
        Literal["proven", "possible"] | None,
        "`possible` of each of several causes; null for a rule and without a cause",
    ]
    shown_by: Annotated[list[SignFields], "what shows that it is about this; empty where nothing does"]
    evidence: Annotated[EvidenceFields | None, "what the checkpoint says; null without a location and for a rule"]
    command: Annotated[str | None, "the first of `commands`; null where there is none"]
    commands: Annotated[list[str], "what to type, the first first; a word in capitals has to be replaced"]
    page: Annotated[str | None, "page of the runbook"]
    rules: Annotated[list[str], "rules whose finding on a checkpoint is the evidence"]
    facts: Annotated[dict[str, str], "what the text says, such as a batch or a location, by name"]
    line: Annotated[int | None, "line of the text where the error was first met, from 1; null for a rule"]
    last_line: Annotated[int | None, "line where it was last met"]
    times: Annotated[int | None, "how often it was met"]


class UnknownTextFields(TypedDict):
    """An exception that nothing explains."""

    message: Annotated[str, "its class and its message, cut"]
    thrown_by: Annotated[
        str | None, "frame of the query's own code that threw it, or called what did; null where none is shown"
    ]
    line: Annotated[int, "line of the text where it was first met, from 1"]
    last_line: Annotated[int, "line where it was last met"]
    times: Annotated[int, "how often it was met"]


class ExplainDocument(Document):
    """Meaning of rules and errors."""

    explanations: Annotated[list[ExplanationFields], "a rule each, or a cause each, the likeliest first"]
    unknown: Annotated[list[UnknownTextFields], "exceptions of the text that nothing explains, 20 at most"]
    location: Annotated[str | None, "checkpoint that was read, or that the text names; null when it names none"]
