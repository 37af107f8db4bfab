"""What a person can ask of a restore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt.backup.relocation import PathRule
from airflow_provider_ckpt.change.option import WAIT_S, Opt, TriggerOf, WaitForBatch
from airflow_provider_ckpt.query.sink import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """Which backup comes back, and as what."""

    backup_root: Annotated[str, Opt("")] = ""  # arguments of the command
    backup_id: Annotated[str, Opt("")] = "latest"
    query_id: Annotated[
        str | None,
        Opt(
            "--query-id ID",
            "Use the latest backup of this query, or check that the backup of BACKUP_ID is of this query. Needed "
            "without BACKUP_ID where the root has backups of several queries.",
        ),
    ] = None
    new_query_id: Annotated[
        bool,
        Opt("--new-query-id", "Give the restored checkpoint a new query id, for a second query beside the first."),
    ] = False
    rewrite_paths: Annotated[
        tuple[PathRule, ...],
        Opt(
            "--rewrite-paths FROM=TO",
            "Replace this prefix of input file paths in the logs of file sources. Can be given more than once.",
            "paths",
        ),
    ] = ()
    sinks: Annotated[
        tuple[Sink, ...],
        Opt(
            "--sink TYPE[:URI]",
            "Sink of the query, such as file:/data/out or delta:s3://lake/orders; the plan states the effect on it. "
            "Can be given more than once.",
            "sinks",
        ),
    ] = ()
    fence: Annotated[
        bool,
        Opt(
            "--fence",
            "First fence the checkpoint that the backup was taken from (ckpt fence), so that a query there that "
            "cannot be reached stops at its next batch. Needs --execute.",
            beside_plan=True,
        ),
    ] = False
    wait_for_batch: WaitForBatch = WAIT_S
    trigger: TriggerOf = None
