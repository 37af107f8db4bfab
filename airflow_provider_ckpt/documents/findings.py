"""Judgements: ``check``, ``gate``, ``fleet`` and ``explain``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields
from airflow_provider_ckpt.documents.as_document import DocumentOf
from airflow_provider_ckpt.documents.positions import NextBatchFields

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
    waits_for_data: Annotated[
        bool,
        "no batch runs until there is new data: all sources were asked and are read to their ends, or results of "
        "closed windows wait for it",
    ]
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


class GatedPipelineDocument(Document):
    """The next run of a pipeline; one without flows has the keys of one checkpoint in place of `checkpoints`."""

    decision: Annotated[str, "the worst decision, of the whole and of each flow: `pass`, `warn` or `block`"]
    checkpoints: Annotated[
        list[CheckFields | GateFields | NotJudgedFields], "the pipeline as a whole, and the restart of each flow"
    ]


FleetRowFields = Annotated[dict[str, Any], DocumentOf("fleet.row", "FleetRow")]
BatchRateFields = Annotated[dict[str, Any], DocumentOf("fleet.row", "BatchRate")]


class NoCheckpointsFields(TypedDict):
    """What is below the roots and is no checkpoint."""

    empty_directories: Annotated[int, "directories with nothing in them; one of them may have been a checkpoint"]
    files: Annotated[int, "files directly below a root, but for hidden ones and those of tables"]
    first: Annotated[list[str], "locations of the first of them, at most three of each"]


FleetSummaryFields = Annotated[dict[str, Any], DocumentOf("cli.fleet_output", "Summary")]


class FleetDocument(Document):
    """Every checkpoint under some roots."""

    checkpoints: Annotated[list[FleetRowFields], "a row each, in the order of their directories"]
    summary: Annotated[FleetSummaryFields, "totals of all rows"]


EvidenceFields = Annotated[dict[str, Any], DocumentOf("explain.explanation", "Evidence")]
SignFields = Annotated[dict[str, Any], DocumentOf("explain.matching", "Sign")]


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
