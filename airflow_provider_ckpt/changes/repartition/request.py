"""What a person can ask of a repartition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from airflow_provider_ckpt.change.option import Opt
from airflow_provider_ckpt.query.sink import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class RepartitionRequest:
    """How many partitions the state is to have, and the Spark that moves it."""

    partitions: Annotated[
        int | None,
        Opt(
            "--partitions PARTITIONS",
            "How many partitions the state is to have. The next start of the query runs with that number.",
            "whole",
            least=1,
        ),
    ] = None
    confs: Annotated[
        Mapping[str, str],
        Opt(
            "--conf KEY=VALUE",
            "Conf of the Spark session that repartitions, such as spark.master or what it needs to reach the "
            "checkpoint. Confs of the state are taken from the checkpoint. Can be given more than once.",
            "pairs",
            beside_plan=True,
        ),
    ] = field(default_factory=dict)
    sink: Annotated[
        Sink | None,
        Opt(
            "--sink TYPE[:URI]",
            "Sink of the query: file, delta, iceberg or hudi with its URI, or another type such as kafka. The log of "
            "a file sink gets an empty entry, without which the sink stops later.",
            "sink",
        ),
    ] = None
