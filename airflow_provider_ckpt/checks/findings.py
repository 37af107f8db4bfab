"""Findings of rules: stable codes, severities, and the page that explains each rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Concatenate, Literal, ParamSpec

from airflow_provider_ckpt.documents.as_document import Documented

#: ``error``: a restart fails, loses data or ignores the deploy. ``warning``: it may. ``note``: worth knowing.
Severity = Literal["error", "warning", "note"]

Rest = ParamSpec("Rest")
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding(Documented):
    """One result of a rule."""

    last_keys: ClassVar = ("spark_error", "doc")

    code: Annotated[str, "stable code of the rule, `CKPT` and three digits"]
    severity: Annotated[Severity, "`error`, `warning` or `note`"]
    message: Annotated[str, "the finding in one sentence"]
    batch_id: Annotated[int | None, "batch that the finding is about"] = None
    name: Annotated[str | None, "file that the finding is about"] = None
    hint: Annotated[str | None, "what to do"] = None
    spark_error: Annotated[
        str | None,
        "error condition, or simple name of the innermost Java exception, with which a restart stops because of "
        "the finding; null when Spark starts",
    ] = None
    commands: Annotated[
        tuple[str, ...], "what does it, as it is typed: each shows its plan, and needs `--execute` to act"
    ] = ()

    @property
    def advice(self) -> str | None:
        """Remedy with its commands, for people."""
        if not self.commands:
            return self.hint
        shows = "This command shows its plan" if len(self.commands) == 1 else "Each of these commands shows its plan"
        told = f"{shows}, and changes nothing without --execute: {'; '.join(self.commands)}"
        return f"{self.hint} {told}" if self.hint else told

    @property
    def doc(self) -> Annotated[str, "command that explains the rule"]:
        """The command that explains the rule."""
        return f"ckpt explain {self.code}"


def _of(
    severity: Severity, make: Callable[Concatenate[str, Severity, Rest], Finding]
) -> Callable[Concatenate[str, Rest], Finding]:
    def finding(code: str, /, *rest: Rest.args, **named: Rest.kwargs) -> Finding:
        return make(code, severity, *rest, **named)

    return finding


#: Findings of a severity: all arguments of :class:`Finding` but that one.
an_error, a_warning, a_note = _of("error", Finding), _of("warning", Finding), _of("note", Finding)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by severity, code and name."""

    def rank(finding: Finding) -> tuple[int, str, str]:
        return SEVERITIES.index(finding.severity), finding.code, finding.name or ""

    return tuple(sorted(findings, key=rank))
