"""The registry of rules: what each code is about, and the checks that judge a checkpoint by it.

Tables, JUnit, SARIF, ``ckpt explain`` and baselines take codes and titles from here; ``docs/rules.md`` explains each
rule, and a test holds the page against the registry. Rules about a deploy (2xx) are judged by ``restart/steps.py`` in
Spark's order, those after a restart (3xx) by ``restart/continuity.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TypeVar

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding

#: A function from a checkpoint as it was read to findings; it judges what the view holds, the two logs or everything.
Check = Callable[[CheckpointView], Iterable[Finding]]

#: What each rule is about, by code. 1xx: the checkpoint as it is. 2xx: the checkpoint and a deploy.
#: 3xx: after a restart.
RULES: Mapping[str, str] = {
    "CKPT101": "Incomplete log file",
    "CKPT102": "Malformed entry",
    "CKPT103": "Unknown log version",
    "CKPT104": "Query id missing",
    "CKPT105": "Offset entry without metadata",
    "CKPT106": "Newest offset entry is a copy",
    "CKPT107": "Empty line in a log entry",
    "CKPT108": "File name that is no version of the state",
    "CKPT109": "Batch number of a Kinesis source goes back",
    "CKPT110": "Predecessor of the newest batch missing",
    "CKPT111": "Gaps in the offset log",
    "CKPT112": "Commit log ahead of the offset log",
    "CKPT113": "Commit log trails by more than one batch",
    "CKPT115": "Name that Spark counts as a batch",
    "CKPT116": "Conf with a value that Spark refuses",
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
    "CKPT128": "Input file gone",
    "CKPT129": "Input file from the future",
    "CKPT130": "State chain incomplete",
    "CKPT131": "State without an offset log",
    "CKPT132": "State directory missing",
    "CKPT133": "Commit without state ids",
    "CKPT134": "Broken snapshot",
    "CKPT135": "Number of partitions not known",
    "CKPT136": "Unknown state store provider",
    "CKPT137": "Broken state of an unfinished batch",
    "CKPT138": "State of batches that the log does not have",
    "CKPT140": "Sink log ahead of the checkpoint",
    "CKPT141": "Sink log behind the checkpoint",
    "CKPT142": "Hole in the sink log",
    "CKPT143": "Another sink than before",
    "CKPT144": "Unreadable sink log entry",
    "CKPT145": "Sink log entry of another batch",
    "CKPT146": "Stray copy in the offset log",
    "CKPT147": "Watermark in the future",
    "CKPT148": "Rows that were read and that a file sink does not name any more",
    "CKPT149": "Checkpoint inside",
    "CKPT150": "Two writers",
    "CKPT151": "Fenced checkpoint",
    "CKPT152": "Files closed to the query",
    "CKPT153": "File that cannot be opened",
    "CKPT156": "Replaced version of a flow",
    "CKPT157": "Two flows write one table",
    "CKPT158": "Two queries with one id",
    "CKPT159": "Copy that is not running",
    "CKPT160": "Files that are not Spark's",
    "CKPT161": "Links",
    "CKPT162": "Backups inside the checkpoint",
    "CKPT163": "Objects that cannot be opened",
    "CKPT201": "Conf will be ignored",
    "CKPT202": "Conf absent from the log",
    "CKPT203": "Shuffle partitions do not change the state",
    "CKPT204": "Legacy state format",
    "CKPT205": "Number of state partitions changed",
    "CKPT206": "Version of a flow that Spark does not run",
    "CKPT207": "New flow into the log of another one",
    "CKPT208": "Flow that no file defines",
    "CKPT209": "Storage in which no flow has run",
    "CKPT210": "Number of sources changed",
    "CKPT211": "Source unknown to the checkpoint",
    "CKPT212": "Source type changed",
    "CKPT213": "Source evolution switched on",
    "CKPT214": "Sources without names",
    "CKPT215": "Registered source type not used",
    "CKPT216": "Table of a pipeline with format delta",
    "CKPT217": "Full refresh of a table that others read, or of sinks",
    "CKPT220": "Offset log too new for the target Spark",
    "CKPT221": "Commit log not readable by the target Spark",
    "CKPT222": "State checkpoint format switched",
    "CKPT223": "Sink evolution switched",
    "CKPT224": "State written by a later Spark",
    "CKPT225": "Results wait for new data",
    "CKPT230": "Stateful operators changed",
    "CKPT231": "Progress tracking mode changed",
    "CKPT232": "Real-time mode",
    "CKPT233": "Continuous trigger",
    "CKPT240": "Sink changed",
    "CKPT241": "Compaction interval changed",
    "CKPT250": "Unread records are gone",
    "CKPT251": "Topic or partitions gone",
    "CKPT252": "Position past the end",
    "CKPT253": "Topic created again",
    "CKPT254": "New partition without its first records",
    "CKPT255": "Version that a Delta source cannot read",
    "CKPT256": "Schema of a Delta table changed",
    "CKPT257": "Versions of a Delta table are gone",
    "CKPT258": "Data files of a Delta table are gone",
    "CKPT259": "Another Delta table",
    "CKPT260": "Snapshot of an Iceberg source is gone",
    "CKPT261": "Snapshot of an Iceberg source was rolled back",
    "CKPT262": "Snapshot that an Iceberg source cannot read",
    "CKPT263": "Initial offset of an Iceberg source",
    "CKPT264": "Position of an Iceberg source is given up",
    "CKPT265": "Unread files that the storage deletes",
    "CKPT266": "Unread data that is deleted soon",
    "CKPT267": "Versions of a Delta table that a RESTORE reverted",
    "CKPT268": "Rows that were read and that a RESTORE reverted",
    "CKPT301": "Query id changed",
    "CKPT302": "History rewritten",
    "CKPT303": "Source rescans",
    "CKPT304": "Batches skipped",
    "CKPT305": "Flow with another version",
    "CKPT306": "Batch in flight after a run",
}

#: Each check with the codes of the findings that it can give.
CHECKS: dict[Check, tuple[str, ...]] = {}
_Check = TypeVar("_Check", bound=Check)


def rule(*codes: str) -> Callable[[_Check], _Check]:
    """Register a check under the codes that it can give. Raises ValueError for a code that is no rule."""
    if unknown := set(codes) - RULES.keys():
        raise ValueError(f"there is no rule {min(unknown)}; ckpt explain lists all rules")

    def register(check: _Check) -> _Check:
        CHECKS[check] = codes
        return check

    return register


def checks_of(*modules: ModuleType) -> tuple[Check, ...]:
    """The checks of some modules, in the order of the modules and of their lines."""
    return tuple(check for module in modules for check in CHECKS if check.__module__ == module.__name__)
