"""Answers about a source that is a table or directory: its unread data, and what a restart stops at or loses."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.untrusted.secrets import scrub

#: What is not judged of a source whose options were not declared: with other ones it may stop at something else.
SOURCE_OPTIONS = "source options"


@dataclass(frozen=True, slots=True)
class TableAtRestart:
    """A source of a table or a directory at a restart.

    Args:
        checkpoint: Location of the checkpoint, for the commands that findings advise.
        source_id: Its position in the query, or its name.
        source: The place that it reads from, as it was declared.
        batch_id: The newest committed batch.
        committed: Where that batch ended.
        before: Where the batch before it ended; None when there is none, or when the source had no offset then.
        planned: Where the batch in flight ends; None without one.
        options: Options that the query sets for the source, by names in lower case; empty when nothing was declared.
        trigger: As ``DataStreamWriter.trigger`` calls it; None is unknown.
        back_to: The newest batch that ended before the source read what is not in the table any more, and that the
            checkpoint can be rolled back to; None when there is none, or nothing of that kind was read.
        now_ms: Now, epoch milliseconds.
    """

    checkpoint: str
    source_id: str
    source: Source
    batch_id: int
    committed: SourceOffset
    before: SourceOffset | None = None
    planned: SourceOffset | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    trigger: str | None = None
    back_to: int | None = None
    now_ms: int = field(kw_only=True)

    @property
    def shown_place(self) -> str:
        """Where it reads from, without passwords and signatures: for messages, which are kept in logs."""
        return scrub(self.source.place)

    @property
    def shown_source(self) -> str:
        """The option that declares it, quoted and without passwords: for commands."""
        return f"--source {shlex.quote(f'{self.source_id}={scrub(self.source.text)}')}"

    def sets(self, option: str) -> bool:
        """True if an option, by its name in lower case, is set to true."""
        return self.options.get(option, "").lower() == "true"


@dataclass(frozen=True, slots=True)
class Unread:
    """Unread data of a table or a directory.

    Args:
        unit: The unit: ``versions`` of a Delta table, ``snapshots`` of an Iceberg table, ``files``.
        count: Number of units that hold unread data.
        files: Number of data files that these units have added; a file that was read in part counts.
        size: Bytes of these files.
        oldest_ms: Time at which the oldest unread data was written, by the clock of its writer or of the storage, epoch
            milliseconds; None when there is none, or it has no time.
        note: Sentence on what these numbers leave out.
        is_partial: True if some unread data is not counted, so that a count of 0 is not the end.
        rows: Rows of the files that are left; None where that is not known.
    """

    unit: str
    count: int
    files: int
    size: int
    oldest_ms: int | None = None
    note: str | None = None
    is_partial: bool = False
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class TableLosses:
    """Findings on one source, or on several.

    Args:
        findings: Findings on what a restart stops at, or loses, in the order in which Spark meets it.
        unknown: Names of what was not judged, such as ``source options``.
        expires_ms: The source keeps what the query has not read at least this much longer, milliseconds; None when
            nothing of that expires, or nobody knows.
    """

    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    expires_ms: int | None = None


def all_losses(losses: Iterable[TableLosses]) -> TableLosses:
    """Findings on several sources together."""
    found = list(losses)
    return TableLosses(
        tuple(finding for item in found for finding in item.findings),
        tuple(dict.fromkeys(text for item in found for text in item.unknown)),
        min((item.expires_ms for item in found if item.expires_ms is not None), default=None),
    )
