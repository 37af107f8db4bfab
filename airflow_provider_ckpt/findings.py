"""What a rule found: stable codes, severities, and where each rule is explained."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

#: ``error``: a restart fails, loses data or ignores the deploy. ``warning``: it may. ``note``: worth knowing.
Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

#: What each rule is about, by code. 1xx: the checkpoint as it is. 2xx: the checkpoint and a deploy.
#: 3xx: after a restart.
RULES = {
    "CKPT101": "Incomplete log file",
    "CKPT102": "Malformed entry",
    "CKPT103": "Unknown log version",
    "CKPT104": "Query id missing",
    "CKPT105": "Offset entry without metadata",
    "CKPT106": "Newest offset entry is a copy",
    "CKPT110": "Predecessor of the newest batch missing",
    "CKPT111": "Gaps in the offset log",
    "CKPT112": "Commit log ahead of the offset log",
    "CKPT113": "Commit log trails by more than one batch",
    "CKPT115": "Name that Spark counts as a batch",
    "CKPT116": "Conf without a value that Spark takes",
    "CKPT117": "Offset entry without shuffle partitions (SPARK-59662)",
    "CKPT118": "Watermark goes backwards",
    "CKPT119": "Unfinished repartition",
    "CKPT120": "Checksum file without its object",
    "CKPT121": "Stale Hadoop checksum",
    "CKPT122": "Checksum mismatch",
    "CKPT123": "Source log behind the offset log",
    "CKPT124": "Source log with a hole",
    "CKPT125": "Source offset missing",
    "CKPT126": "Source offset goes backwards",
    "CKPT127": "Source log entry of another batch",
    "CKPT130": "State chain incomplete",
    "CKPT131": "State under an empty log",
    "CKPT132": "State directory missing",
    "CKPT133": "Commit without state ids",
    "CKPT134": "Broken snapshot",
    "CKPT135": "Partitions that nobody can tell",
    "CKPT136": "Unknown state store provider",
    "CKPT137": "Broken state of an unfinished batch",
    "CKPT138": "State of batches that the log does not have",
    "CKPT140": "Sink log ahead of the checkpoint",
    "CKPT141": "Sink log behind the checkpoint",
    "CKPT142": "Hole in the sink log",
    "CKPT143": "Another sink than before",
    "CKPT144": "Unreadable sink log entry",
    "CKPT145": "Sink log entry of another batch",
    "CKPT150": "Two writers",
    "CKPT160": "Files that are not Spark's",
    "CKPT161": "Links",
    "CKPT162": "Backups inside the checkpoint",
    "CKPT201": "Conf will be ignored",
    "CKPT202": "Conf absent from the log",
    "CKPT203": "Shuffle partitions do not reach the state",
    "CKPT204": "Legacy state format",
    "CKPT205": "Number of state partitions changed",
    "CKPT210": "Number of sources changed",
    "CKPT211": "Source unknown to the checkpoint",
    "CKPT212": "Source type changed",
    "CKPT213": "Source evolution switched on",
    "CKPT214": "Sources without names",
    "CKPT220": "Offset log too new for the target Spark",
    "CKPT221": "Commit log not readable by the target Spark",
    "CKPT222": "State checkpoint format switched",
    "CKPT223": "Sink evolution switched",
    "CKPT224": "State written by a later Spark",
    "CKPT230": "Stateful operators changed",
    "CKPT231": "Progress tracking mode changed",
    "CKPT232": "Real-time mode",
    "CKPT240": "Sink changed",
    "CKPT301": "Query id changed",
    "CKPT302": "History rewritten",
    "CKPT303": "Source rescans",
    "CKPT304": "Batches skipped",
}


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

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "doc": self.doc}


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


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by severity, code and name."""

    def rank(finding: Finding) -> tuple[int, str, str]:
        return SEVERITIES.index(finding.severity), finding.code, finding.name or ""

    return tuple(sorted(findings, key=rank))
