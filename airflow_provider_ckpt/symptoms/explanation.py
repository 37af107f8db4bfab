"""What an error text means: its cause, the evidence on a checkpoint, and the commands. One value for every face."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.symptoms.matching import Match
from airflow_provider_ckpt.symptoms.message_facts import at_location, fill
from airflow_provider_ckpt.symptoms.page import Cause

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import EvidenceFields, ExplanationFields, UnknownTextFields

#: ``confirmed``: a finding shows the cause. ``contradicted``: everything was read that would show it, and nothing did.
#: ``unknown``: the files alone cannot tell.
Result = Literal["confirmed", "contradicted", "unknown"]
#: Commands that show what is there, and are safe on whatever checkpoint.
_READING = ("ckpt check ", "ckpt gate ", "ckpt show ", "ckpt log ")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a checkpoint says about a cause.

    Args:
        result: Whether it confirms the cause.
        sentence: The result, for people.
        findings: What confirms the cause; without that, the errors that the checkpoint has.
        elsewhere: Whether the text names another query or another batch than the checkpoint has.
    """

    result: Result
    sentence: str
    findings: tuple[Finding, ...] = ()
    elsewhere: bool = False

    def to_dict(self) -> EvidenceFields:
        """JSON-ready."""
        findings = [finding.to_dict() for finding in self.findings]
        return {"result": self.result, "sentence": self.sentence, "findings": findings}


@dataclass(frozen=True, slots=True)
class Met:
    """Where a text was met.

    Args:
        line: Number of the first line, from 1.
        last_line: Of its last occurrence.
        times: How often.
    """

    line: int
    last_line: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """One cause of what went wrong.

    Args:
        match: The page or the condition.
        cause: The cause; None for a condition that has nothing to do with checkpoints.
        facts: What the text says.
        met: Where.
        evidence: What the checkpoint says; None when none was asked.
        code: The rule, when it is one that was asked about and not an error.
    """

    match: Match
    cause: Cause | None
    facts: Mapping[str, str] = field(default_factory=dict)
    met: Met = field(default_factory=lambda: Met(1, 1))
    evidence: Evidence | None = None
    code: str | None = None

    @property
    def occurrence(self) -> object:
        """What the causes of one failure share."""
        return self.match.key, self.met.line

    @property
    def title(self) -> str:
        """The error, as the runbook or Spark names it; the title of a rule."""
        if self.code is not None:
            return RULES[self.code]
        if self.match.page is not None:
            return self.match.page.title
        return self.match.condition or (self.match.entry.title if self.match.entry else "")

    @property
    def cause_text(self) -> str:
        """Why Spark stops."""
        if self.cause is not None:
            return self.cause.text
        return (
            f"Spark has the condition {self.match.condition}, and ckpt knows of no checkpoint that raises it: it is "
            "about the query, its data or its cluster."
        )

    @property
    def page(self) -> str | None:
        """Name of the page of the runbook."""
        if self.match.page is not None:
            return self.match.page.name
        return self.match.entry.page if self.match.entry else None

    @property
    def text(self) -> str | None:
        """What to do, as Markdown: of the cause alone, where the text or the checkpoint tells which one it is."""
        if self.match.page is not None:
            is_told = len(self.match.causes) == 1 or (self.evidence is not None and self.evidence.result == "confirmed")
            own = self.cause.repair if self.cause is not None and is_told else ""
            repair = own or self.match.page.sections["Repair"]
            is_here = self.evidence is not None and not self.evidence.elsewhere
            return at_location(repair, self.facts.get("location")) if is_here else repair
        return self.match.entry.repair if self.match.entry else None

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type: what the findings say, and else the commands of the cause with the facts filled in.

        Of the cause then only what repairs it in another way.
        """
        evidence = self.evidence
        commands = () if self.cause is None else self.cause.commands
        if evidence is not None and evidence.elsewhere:
            commands = tuple(command for command in commands if command.startswith(_READING))
        filled = tuple(fill(command, self.facts) for command in commands)
        if evidence is not None and evidence.result == "confirmed":
            found = tuple(dict.fromkeys(command for finding in evidence.findings for command in finding.commands))
            known = {*_READING, *(" ".join(command.split()[:2]) for command in found)}
            if found:
                return (*found, *(command for command in filled if not command.startswith(tuple(known))))
        return filled

    def to_dict(self) -> ExplanationFields:
        """JSON-ready."""
        return {
            "code": self.code,
            "title": self.title,
            "text": self.text,
            "condition": self.match.condition,
            "cause": None if self.code else self.cause_text,
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "command": next(iter(self.commands), None),
            "commands": list(self.commands),
            "page": self.page,
            "rules": [] if self.cause is None else list(self.cause.rules),
            "facts": dict(self.facts),
            "line": None if self.code else self.met.line,
            "last_line": None if self.code else self.met.last_line,
            "times": None if self.code else self.met.times,
        }


@dataclass(frozen=True, slots=True)
class Unknown:
    """An exception that nothing explains.

    Args:
        message: Its class and message, cut.
        met: Where.
    """

    message: str
    met: Met

    def to_dict(self) -> UnknownTextFields:
        """JSON-ready."""
        return {
            "message": self.message,
            "line": self.met.line,
            "last_line": self.met.last_line,
            "times": self.met.times,
        }


@dataclass(frozen=True, slots=True)
class Explained:
    """What a text means.

    Args:
        explanations: The likeliest first.
        unknown: Exceptions that nothing explains, in their order.
        location: The checkpoint that the text names, which nobody has read; None without one.
    """

    explanations: tuple[Explanation, ...]
    unknown: tuple[Unknown, ...] = ()
    location: str | None = None
