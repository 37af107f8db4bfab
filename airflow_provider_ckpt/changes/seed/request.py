"""What a person can ask of a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from airflow_provider_ckpt.change.option import Opt
from airflow_provider_ckpt.changes.seed.plan import MOST_BATCHES
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRequest:
    """Where a new checkpoint begins."""

    origin: Annotated[
        str | None,
        Opt("--from LOC", "Checkpoint whose positions the new one gets. It is only read.", "place"),
    ] = None
    batch: Annotated[
        int | None,
        Opt(
            "--batch BATCH_ID",
            "Positions after this committed batch of --from. By default the newest one.",
            "whole",
            least=0,
        ),
    ] = None
    at: Annotated[
        int | None,
        Opt("--at", "Positions after the newest committed batch of --from that began by this time.", "time"),
    ] = None
    offsets: Annotated[
        str | Mapping[str, Any] | None,
        Opt(
            "--offsets JSON",
            'Positions by source id, such as {"0": {"topic": {"0": 5}}}; every partition of a topic.',
            "json",
        ),
    ] = None
    sources: Annotated[
        Mapping[str, Source],
        Opt(
            "--source ID=TYPE",
            "Type of a source by its id: kafka, delta or iceberg. Needed for each source. Can be given more than once.",
            "sources",
        ),
    ] = field(default_factory=dict)
    sinks: Annotated[
        tuple[Sink, ...],
        Opt(
            "--sink TYPE[:URI]",
            "Sink of the query, such as file:/data/out; the checkpoint begins after the newest batch that it has "
            "seen. Can be given more than once.",
            "sinks",
        ),
    ] = ()
    after_batch: Annotated[
        int | None,
        Opt(
            "--after-batch BATCH_ID",
            "Begin after this batch or a later one, for a sink that ckpt cannot read. By default after the newest "
            "batch of --from.",
            "whole",
            least=0,
            most=MOST_BATCHES,
        ),
    ] = None
