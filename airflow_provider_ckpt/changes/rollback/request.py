"""What a person can ask of a rollback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from airflow_provider_ckpt.change.option import (
    WAIT_S,
    Downstream,
    FenceFirst,
    Form,
    Opt,
    SinkOf,
    TriggerOf,
    WaitForBatch,
    goal_values,
)
from airflow_provider_ckpt.changes.rollback.goal import BeforeDeploy, RollbackTarget, ToBackup, parse_target
from airflow_provider_ckpt.query.source import Source, known_types
from airflow_provider_ckpt.restart.bookmark import Bookmark


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """Where a checkpoint goes back to."""

    to_batch: Annotated[
        int | str | None,
        Opt("--to-batch BATCH_ID", "Keep this batch, and drop all later ones.", "whole", least=0, goal="batch"),
        Form("Keep batches up to", "a batch id, such as 41"),
    ] = None
    to_timestamp: Annotated[
        int | str | None,
        Opt(
            "--to-timestamp",
            "Roll back to the newest batch that began at or before this time.",
            "time",
            goal="timestamp",
        ),
        Form("Or: keep batches that began up to", "2026-11-22T12:00Z"),
    ] = None
    to_watermark: Annotated[
        int | str | None,
        Opt(
            "--to-watermark",
            "Roll back to the newest batch whose watermark is at most this time.",
            "time",
            goal="watermark",
        ),
        Form("Or: keep batches with a watermark up to", "2026-11-22T12:00Z"),
    ] = None
    to_offsets: Annotated[
        str | Mapping[str, Any] | None,
        Opt(
            "--to-offsets JSON",
            "Roll back to the newest batch in which no source partition is beyond these offsets, by source id, such "
            'as {"0": {"topic": {"0": 5}}}.',
            "json",
            goal="offsets",
        ),
        Form("Or: keep batches that have not read past", '{"0": {"orders": {"0": 500}}}'),
    ] = None
    to_backup: Annotated[
        str | None,
        Opt(
            "--to-backup ROOT/ID",
            "Roll back to the batch of this backup. Files that Spark has purged are restored from it.",
            goal="backup",
        ),
        Form("Or: go to the batch of a backup", "s3://lake/backups/ID"),
    ] = None
    to_before_deploy: Annotated[
        Bookmark | str | Mapping[str, Any] | None,
        Opt(
            "--to-before-deploy FILE",
            "Roll back to the batch that was the newest committed one when ckpt gate --bookmark has written this file.",
            "bookmark",
            goal="before_deploy",
        ),
        Form("Or: go back to before a deploy", "the XCom bookmark of its gate"),
    ] = None
    sources: Annotated[
        Mapping[str, Source],
        Opt(
            "--source ID=TYPE",
            "Type of a source by its id, such as 0=kafka; --to-offsets needs it. Can be given more than once.",
            "sources",
        ),
        Form("Types of the sources", "0=kafka, 1=delta; for amounts and offsets"),
    ] = field(default_factory=dict)
    backup_root: Annotated[
        str | None,
        Opt(
            "--backup-root ROOT", "Root of the backups from which files that Spark has purged may be restored.", "place"
        ),
        Form("Root of backups, for a batch that was purged", "s3://lake/backups"),
    ] = None
    sink: SinkOf = None
    trim_sink_log: Annotated[
        bool,
        Opt("--trim-sink-log", "Also remove the dropped batches from the file sink's log. Needs --sink file:URI."),
        Form("Remove the dropped batches from the log of a file sink, too"),
    ] = False
    downstream: Downstream = ()
    fence: FenceFirst = False
    wait_for_batch: WaitForBatch = WAIT_S
    trigger: TriggerOf = None

    @property
    def source_types(self) -> dict[str, str]:
        """The types of the sources that were declared, by id."""
        return known_types(self.sources)

    def target(self) -> RollbackTarget | ToBackup | BeforeDeploy:
        """Where to.

        Raises:
            ValueError: None or several are given, or one makes no sense.
            CheckpointError: ``to_before_deploy`` is no bookmark.
        """
        return parse_target(**goal_values(self), source_types=self.source_types)

    def backups_of(self, target: RollbackTarget | ToBackup | BeforeDeploy) -> str | None:
        """The root of backups: of the backup that is gone back to, or the one that was said."""
        return target.root if isinstance(target, ToBackup) else self.backup_root
