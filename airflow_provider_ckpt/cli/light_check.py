"""Judgement of the rules on a checkpoint of which little was read: for the commands that people call first."""

from __future__ import annotations

from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import SEVERITIES
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.cli.render import say
from airflow_provider_ckpt.report.table import counted
from airflow_provider_ckpt.restart.judged import not_read

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import LightCheckFields

#: So many codes are told in words.
_MOST_CODES = 3


def light_check(view: CheckpointView) -> LightCheckFields:
    """Findings of the rules on the files that were read, and names of what they did not judge."""
    findings = check(view)
    counts = Counter(finding.severity for finding in findings)
    return {
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
        "codes": list(dict.fromkeys(finding.code for finding in findings)),
        "unknown": list(not_read(view)),
    }


def worst_text(found: LightCheckFields) -> str:
    """The worst finding in words, and how many codes there are beside it."""
    if not found["codes"]:
        return "none in what was read"
    counts = (found["errors"], found["warnings"], found["notes"])
    severity = next(name for name, count in zip(SEVERITIES, counts, strict=True) if count)
    first, *others = found["codes"]
    more = f", and {counted(len(others), 'other')}" if others else ""
    return f"{severity}: {first} {RULES[first]}{more}"


def say_light_check(location: str, found: LightCheckFields) -> None:
    """One line: what was found, or that nothing was and what was not judged; and the command that says more."""
    place, codes = quote(location), found["codes"]
    counts = (found["errors"], found["warnings"], found["notes"])
    if not codes:
        unread = f" Not judged: {', '.join(found['unknown'])}." if found["unknown"] else ""
        say(f"No finding in what was read here.{unread} To judge more: ckpt check --deep {place}")
        return
    told = ", ".join(counted(count, severity) for count, severity in zip(counts, SEVERITIES, strict=True) if count)
    named = ", ".join(f"{code} {RULES[code]}" for code in codes[:_MOST_CODES])
    more = f" and {len(codes) - _MOST_CODES} more" if len(codes) > _MOST_CODES else ""
    colour = "red" if found["errors"] else "yellow"
    say(f"In what was read here: {told}: {named}{more}. What to do: ckpt check {place}", colour=colour)
