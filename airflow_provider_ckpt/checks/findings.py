"""Findings of rules: stable codes, severities, and the page that explains each rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import FindingFields

#: ``error``: a restart fails, loses data or ignores the deploy. ``warning``: it may. ``note``: worth knowing.
Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a rule.

    Args:
        code: Stable, ``CKPT`` and three digits.
        severity: How bad.
        message: The problem, in one sentence.
        batch_id: The batch concerned, or None.
        name: The file concerned, or None.
        hint: The remedy, in words.
        spark_error: Error with which a restart stops because of it: Spark's error condition, or the simple name of the
            innermost Java exception; None when Spark goes on.
        commands: As they are typed: each shows its plan, and changes nothing without ``--execute``.
    """

    code: str
    severity: Severity
    message: str
    batch_id: int | None = None
    name: str | None = None
    hint: str | None = None
    spark_error: str | None = None
    commands: tuple[str, ...] = ()

    @property
    def advice(self) -> str | None:
        """Remedy with its commands, for people."""
        if not self.commands:
            return self.hint
        shows = "This command shows its plan" if len(self.commands) == 1 else "Each of these commands shows its plan"
        told = f"{shows}, and changes nothing without --execute: {'; '.join(self.commands)}"
        return f"{self.hint} {told}" if self.hint else told

    @property
    def doc(self) -> str:
        """The command that explains the rule."""
        return f"ckpt explain {self.code}"

    def to_dict(self) -> FindingFields:
        """JSON-ready."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "batch_id": self.batch_id,
            "name": self.name,
            "hint": self.hint,
            "commands": list(self.commands),
            "spark_error": self.spark_error,
            "doc": self.doc,
        }


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by severity, code and name."""

    def rank(finding: Finding) -> tuple[int, str, str]:
        return SEVERITIES.index(finding.severity), finding.code, finding.name or ""

    return tuple(sorted(findings, key=rank))
