"""What a rule found: stable codes, severities, and where each rule is explained."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import FindingFields

#: ``error``: a restart fails, loses data or ignores the deploy. ``warning``: it may. ``note``: worth knowing.
Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    Args:
        code: Stable, ``CKPT`` and three digits.
        severity: How bad.
        message: What, in one sentence.
        batch_id: The batch concerned, or None.
        name: The file concerned, or None.
        hint: What to do.
        spark_error: What a restart stops with because of it: Spark's error condition, or the simple name of the
            innermost Java exception; None when Spark goes on.
    """

    code: str
    severity: Severity
    message: str
    batch_id: int | None = None
    name: str | None = None
    hint: str | None = None
    spark_error: str | None = None

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
            "spark_error": self.spark_error,
            "doc": self.doc,
        }


_FROM_BACKUP = re.compile(r"from a backup", re.IGNORECASE)
_ROLL_BACK = re.compile(r"roll back to (?:the|a) batch", re.IGNORECASE)
#: What a hint to roll back becomes where there is no batch to roll back to.
NO_BATCH_BEFORE = (
    "There is no committed batch before it to roll back to: restore the checkpoint from a backup, or start the query "
    "with a new checkpoint location."
)


def without_empty_hints(findings: Iterable[Finding], committed: Collection[int]) -> Iterator[Finding]:
    """The same findings; none advises to roll back below the first committed batch."""
    for finding in findings:
        advises = _ROLL_BACK.search(finding.hint or "")
        if advises and not any(finding.batch_id is None or batch < finding.batch_id for batch in committed):
            yield replace(finding, hint=NO_BATCH_BEFORE)
        else:
            yield finding


#: What mends files in place, and what brings a whole checkpoint back, as they are typed.
REPAIR_COMMAND = "ckpt rollback LOCATION --to-backup ROOT/ID --sink FORMAT:URI"
RESTORE_COMMAND = "ckpt restore ROOT ID --to NEW_LOCATION --sink FORMAT:URI --execute"
_COMMANDS = f"In place: {REPAIR_COMMAND} (it shows the plan). At a new location: {RESTORE_COMMAND}"


def with_commands(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The same findings; a hint to take something from a backup names the commands: in place first."""
    for finding in findings:
        if finding.hint and _FROM_BACKUP.search(finding.hint) and RESTORE_COMMAND not in finding.hint:
            yield replace(finding, hint=f"{finding.hint} {_COMMANDS}")
        else:
            yield finding


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by severity, code and name."""

    def rank(finding: Finding) -> tuple[int, str, str]:
        return SEVERITIES.index(finding.severity), finding.code, finding.name or ""

    return tuple(sorted(findings, key=rank))
