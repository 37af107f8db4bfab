"""Judgements as documents that CI systems read: JSON, JUnit XML and SARIF 2.1.0."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from airflow_provider_ckpt import __version__
from airflow_provider_ckpt.checks.baseline import fingerprint
from airflow_provider_ckpt.checks.findings import Finding, a_note
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.checks.rule_pages import text_of
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.report.tables import headline, not_judged_text, sentence
from airflow_provider_ckpt.restart.forecast import DECISIONS, Forecast
from airflow_provider_ckpt.visible import visible, visible_json, visible_lines

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import CheckFields, GateFields, JudgedFindingFields, NotJudgedFields

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgement of one checkpoint.

    Args:
        location: Its URI.
        findings: Findings of the rules, the worst first.
        forecast: The restart, forecast by a gate; None for a check.
        known: The findings that a baseline accepts; None when there is no baseline.
        error: Why it could not be judged; None when it could.
        unknown: Names of what was not judged, because it was neither declared nor read.
        fail_on: The decision of a gate from which on the answer is no: ``block`` or ``warn``.
        is_gate: True of a pipeline as a whole that a gate has judged, which has no restart of its own.
    """

    location: str
    findings: tuple[Finding, ...] = ()
    forecast: Forecast | None = None
    known: frozenset[Finding] | None = None
    error: CheckpointError | None = None
    unknown: tuple[str, ...] = ()
    fail_on: str = "block"
    is_gate: bool = False

    @property
    def spark_error(self) -> str | None:
        """Error that Spark would stop with, if there is a forecast."""
        return self.forecast.spark_error if self.forecast else None

    def is_known(self, finding: Finding) -> bool:
        """True if a baseline has the finding."""
        return self.known is not None and finding in self.known

    def is_accepted(self, finding: Finding) -> bool:
        """True if the finding no longer counts. A baseline does not make Spark start, so what Spark stops at still
        counts.
        """
        return self.is_known(finding) and not (self.spark_error and finding.spark_error)

    @property
    def counting(self) -> tuple[Finding, ...]:
        """The findings that count."""
        return tuple(finding for finding in self.findings if not self.is_accepted(finding))

    @property
    def outlook(self) -> Forecast | None:
        """The forecast with the findings that count; its decision is the decision of the gate."""
        return replace(self.forecast, findings=self.counting) if self.forecast else None

    @property
    def headline(self) -> str:
        """The first line for people: the answer, where, and what was not judged."""
        if self.outlook is not None:
            return headline(self.location, self.outlook)
        counted = len(self.findings)
        found = f"{counted} finding{'' if counted == 1 else 's'}" if counted else "no findings"
        return f"{self.location}: {found}{not_judged_text(self.unknown)}"

    @property
    def is_no(self) -> bool:
        """True if the answer is no."""
        if self.outlook is not None:
            return self.outlook.closes(self.fail_on)
        closing = {"error", "warning"} if self.fail_on == "warn" else {"error"}
        return any(finding.severity in closing for finding in self.counting)

    @property
    def decision(self) -> str:
        """Decision of a gate; what could not be judged blocks."""
        if self.error is not None:
            return "block"
        if self.outlook is not None:
            return self.outlook.decision
        severities = {finding.severity for finding in self.counting}
        return "block" if "error" in severities else "warn" if "warning" in severities or self.unknown else "pass"

    @property
    def exit_code(self) -> int:
        """Exit code of the command: the error's own, 1 when the answer is no, else 0."""
        if self.error is not None:
            return self.error.exit_code
        return GateFailedError.exit_code if self.is_no else 0

    def to_dict(self) -> CheckFields | NotJudgedFields:
        """JSON-ready. A checkpoint that could not be judged has ``error`` and no ``findings``."""
        if self.error is not None:
            return {"location": self.location, "error": self.error.to_dict()}
        findings: list[JudgedFindingFields] = [
            {**finding.to_dict(), "known": self.is_accepted(finding)}  # type: ignore[typeddict-item]  # the first keys
            for finding in self.findings
        ]
        checked: CheckFields = {"location": self.location, "unknown": list(self.unknown), "findings": findings}
        if self.outlook is None:
            return checked
        gated: GateFields = {**self.outlook.to_dict(), **checked}
        return gated


def json_text(judged: Sequence[Judged]) -> str:
    """The text of :func:`json_document`."""
    return _dump(json_document(judged))


def json_document(judged: Sequence[Judged]) -> dict[str, Any]:
    """One document: that of the checkpoint, or ``checkpoints`` when there are several. That of a pipeline or of several
    queries which were gated has the worst ``decision`` as well.
    """
    documents = [checkpoint.to_dict() for checkpoint in judged]
    is_pipeline, worst = any(checkpoint.is_gate for checkpoint in judged), {}
    is_one = len(documents) == 1 and not is_pipeline
    fields = documents[0] if is_one else {"checkpoints": documents}
    if is_pipeline or (not is_one and any(item.forecast is not None for item in judged)):
        worst = {"decision": max((checkpoint.decision for checkpoint in judged), key=DECISIONS.index)}
    return {"format_version": FORMAT_VERSION, **worst, **fields}


def plain_text(judged: Sequence[Judged]) -> str:
    """A line for each checkpoint, and one for each of its findings."""
    return "\n".join(visible(part) for checkpoint in judged for part in _plain_lines(checkpoint))


def _plain_lines(checkpoint: Judged) -> Iterator[str]:
    if checkpoint.error is not None:
        yield f"{checkpoint.location}: {checkpoint.error.message}"
        return
    known = sum(checkpoint.is_accepted(finding) for finding in checkpoint.findings)
    yield checkpoint.headline + (f" ({known} of {len(checkpoint.findings)} findings known)" if known else "")
    for finding in checkpoint.findings:
        yield f"  {_line(checkpoint, finding)}"


def _line(checkpoint: Judged, finding: Finding) -> str:
    known = ", known" if checkpoint.is_accepted(finding) else ""
    place = f" {finding.name}:" if finding.name else ""
    return f"{finding.severity} {finding.code}{known}:{place} {sentence(finding.message, finding.advice)}"


def printable(text: str) -> str:
    """A text that every encoding of Unicode can write: names of files can hold bytes that are no text."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _dump(document: Any) -> str:
    return visible_json(json.dumps(document, indent=2, ensure_ascii=False))


# --- JUnit ---------------------------------------------------------------------------------------------------------


def junit_text(judged: Iterable[Judged]) -> str:
    """JUnit XML: a suite for each checkpoint, in it a case for each rule that found something.

    Names hold no batch, so a case is the same in the next run. One case is always there: that the checkpoint could be
    read. Errors are failures, those that a baseline accepts are skipped, all else is output of a case that passes.
    """
    root = ElementTree.Element("testsuites", name="ckpt")
    for checkpoint in judged:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(checkpoint.location))
        suite.extend(_cases(checkpoint))
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document.decode()


def _count(element: ElementTree.Element) -> None:
    counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for attribute, tag in counted.items():
        element.set(attribute, str(sum(1 for _ in element.iter(tag))))


def _cases(checkpoint: Judged) -> Iterator[ElementTree.Element]:
    readable = _case(checkpoint, "The checkpoint can be read")
    yield readable
    if checkpoint.error is not None:
        _add(readable, "error", str(checkpoint.error), checkpoint.error.message, checkpoint.error.code)
        return
    if checkpoint.forecast is not None:
        starts = _case(checkpoint, "Spark starts")
        if checkpoint.spark_error:
            _add(starts, "failure", "", f"Spark stops with {checkpoint.spark_error}", checkpoint.spark_error)
        yield starts
    yield _judged_case(checkpoint)
    for code in dict.fromkeys(finding.code for finding in checkpoint.findings):
        yield _rule_case(checkpoint, code, [finding for finding in checkpoint.findings if finding.code == code])


def _judged_case(checkpoint: Judged) -> ElementTree.Element:
    """Test case for unjudged parts: neither passed nor failed, unless the gate is to fail on it."""
    case = _case(checkpoint, "Everything was judged")
    if checkpoint.unknown:
        tag = "failure" if checkpoint.forecast is not None and checkpoint.fail_on == "warn" else "skipped"
        _add(case, tag, "", f"not judged: {', '.join(checkpoint.unknown)}", "NOT_JUDGED")
    return case


def _rule_case(checkpoint: Judged, code: str, findings: Sequence[Finding]) -> ElementTree.Element:
    case = _case(checkpoint, f"{code} {RULES[code]}")
    errors = [finding for finding in findings if finding.severity == "error"]
    fatal = (
        errors
        if checkpoint.forecast is None or checkpoint.fail_on == "block"
        else [finding for finding in findings if finding.severity != "note"]
    )
    failing = [finding for finding in fatal if not checkpoint.is_accepted(finding)]
    if failing:
        _add(case, "failure", _lines(checkpoint, failing), failing[0].message, code)
    elif errors:
        _add(case, "skipped", "", "accepted in the baseline")
    others = [finding for finding in findings if finding not in failing]
    if others:
        _add(case, "system-out", _lines(checkpoint, others))
    return case


def _case(checkpoint: Judged, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=_xml(checkpoint.location), name=name)


def _add(
    case: ElementTree.Element, tag: str, text: str, message: str | None = None, kind: str | None = None
) -> ElementTree.Element:
    attributes = {"message": message, "type": kind}
    child = ElementTree.SubElement(case, tag, {key: _xml(value) for key, value in attributes.items() if value})
    child.text = _xml(text) or None
    return child


def _lines(checkpoint: Judged, findings: Iterable[Finding]) -> str:
    return "\n".join(visible(_line(checkpoint, finding)) for finding in findings)


def _xml(text: str) -> str:
    """A text of lines without the characters that XML cannot hold, and without hidden ones."""
    return _NOT_XML.sub("\ufffd", visible_lines(text))


# --- SARIF ---------------------------------------------------------------------------------------------------------


def sarif_text(judged: Sequence[Judged]) -> str:
    """SARIF 2.1.0: one run. A checkpoint that could not be judged is a notification, and the run not successful."""
    errors = [_notification(item.location, item.error) for item in judged if item.error is not None]
    unjudged = [_unjudged(item) for item in judged if item.error is None and item.unknown]
    run = {
        "tool": {"driver": {"name": "ckpt", "version": __version__, "rules": [_rule(code) for code in RULES]}},
        "invocations": [{"executionSuccessful": not errors, "toolExecutionNotifications": [*errors, *unjudged]}],
        "results": [_result(checkpoint, finding) for checkpoint in judged for finding in checkpoint.findings],
    }
    return _dump({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code: str) -> dict[str, Any]:
    text = text_of(code) or RULES[code]
    return {
        "id": code,
        "shortDescription": {"text": RULES[code]},
        "help": {"text": f"{text} ({a_note(code, '').doc})", "markdown": text},
    }


def _result(checkpoint: Judged, finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": list(RULES).index(finding.code),
        "level": finding.severity,
        "message": {"text": sentence(finding.message, finding.advice)},
        "locations": [_location(checkpoint.location, finding.name)],
        # GitHub reads no other key.
        "partialFingerprints": {"primaryLocationLineHash": fingerprint(finding).digest(checkpoint.location)},
        "properties": {"batch_id": finding.batch_id, "location": checkpoint.location, "name": finding.name},
    }
    if checkpoint.known is not None:
        result["baselineState"] = "unchanged" if checkpoint.is_known(finding) else "new"
    if checkpoint.is_accepted(finding):
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": "In the baseline."}]
    return result


def _notification(location: str, error: CheckpointError) -> dict[str, Any]:
    return {
        "level": "error",
        "descriptor": {"id": error.code},
        "message": {"text": sentence(error.message, error.hint)},
        "locations": [_location(location, error.name)],
    }


def _unjudged(checkpoint: Judged) -> dict[str, Any]:
    return {
        "level": "warning",
        "descriptor": {"id": "NOT_JUDGED"},
        "message": {"text": f"Not judged: {', '.join(checkpoint.unknown)}."},
        "locations": [_location(checkpoint.location, None)],
    }


def _location(location: str, name: str | None) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": artifact_uri(location, name)}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": _path(location, name)}],
    }


def artifact_uri(location: str, name: str | None) -> str:
    """The URI of a file in a SARIF document, percent-encoded.

    A local file has its own. Of any other the scheme becomes a directory, as ``s3/lake/orders/offsets/6``: GitHub
    refuses a whole document for one URI whose scheme is not ``file``.
    """
    if not location.startswith("/"):
        location = re.sub("::|:/*", "/", location)
    path = quote(printable(_path(location, name)))
    return f"file://{path}" if path.startswith("/") else path


def _path(location: str, name: str | None) -> str:
    return f"{location}/{name}" if name else location
