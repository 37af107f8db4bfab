"""What a person can ask of a repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt.change.option import Opt
from airflow_provider_ckpt.changes.repair.decision import Decisions, parse_decisions
from airflow_provider_ckpt.query.sink import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """Which log of a file sink is completed, and with what."""

    sink: Annotated[
        Sink | None,
        Opt("--sink file:URI", "File sink of the query, whose _spark_metadata is completed.", "sink"),
    ] = None
    copy: Annotated[
        str | None,
        Opt(
            "--copy URI",
            "Copy of the output directory or of its _spark_metadata, from which missing entries are taken.",
            "place",
        ),
    ] = None
    adopt: Annotated[
        tuple[str, ...],
        Opt(
            "--adopt BATCH[=NAME]",
            "Give this batch the data files that may be its own and that no entry names, or this one of them. Can be "
            "given more than once.",
        ),
    ] = ()
    empty: Annotated[
        tuple[str, ...],
        Opt(
            "--empty BATCH",
            "Give this batch an entry without files: readers do not get its rows. Can be given more than once.",
        ),
    ] = ()
    compact_interval: Annotated[
        int | None,
        Opt(
            "--compact-interval BATCHES",
            "What the query sets as spark.sql.streaming.fileSink.log.compactInterval. By default 10.",
            "whole",
            least=1,
        ),
    ] = None

    def decisions(self) -> Decisions:
        """What is decided about batches whose files are not proven. Raises ValueError."""
        return parse_decisions(self.adopt, self.empty, self.compact_interval)
