"""What a person can ask of a salvage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt.change.option import Opt, SinkOf, TriggerOf


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageRequest:
    """With what a damaged checkpoint is saved."""

    backup_root: Annotated[
        str | None,
        Opt("--backup-root ROOT", "Root of backups, where files that the checkpoint lacks are searched for.", "place"),
    ] = None
    sink: SinkOf = None
    trim_sink_log: Annotated[
        bool,
        Opt(
            "--trim-sink-log",
            "Also remove the batches that are given up from the file sink's log. Needs --sink file:URI.",
        ),
    ] = False
    trigger: TriggerOf = None
