"""Opens what a source reads from, to find its goal there; a module a type, loaded when it is needed."""

from __future__ import annotations

from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.goal import Goal
from airflow_provider_ckpt.sources.kafka.strategies import Scope
from airflow_provider_ckpt.sources.move import Aim
from airflow_provider_ckpt.sources.open_end import Access, module_of


def resolve_aim(declared: Source, goal: Goal, scope: Scope, access: Access) -> Aim:
    """Where a source is to go.

    Args:
        declared: The place that it reads from.
        goal: Where to.
        scope: Of Kafka: which partitions are moved.
        access: How what it reads from is come by.

    Raises:
        PlanError: A source of that type cannot be moved, or not there.
        StoreError: The place that it reads from cannot be opened.
    """
    try:
        scope = scope.within(declared.topics)
    except ValueError as error:
        raise PlanError(f"{error}.", hint="Nothing was done.") from None
    if declared.type in KINDS.answering("resolve_goal"):
        aim: Aim | None = module_of(declared.type, "resolve_goal").aim_of(declared, goal, scope, access)
        if aim is not None:
            return aim
    location = access.checkpoint.location if access.checkpoint is not None else None
    if declared.type == "file":
        raise PlanError(
            "a file source has no position that could be moved: its log names each file that was read.",
            location=location,
            hint="Nothing was done. To read files again, roll back (ckpt rollback), or give them new names.",
        )
    raise PlanError(
        f"a {declared.type} source cannot be moved like this.",
        location=location,
        hint="Nothing was done. Sources of Kafka (kafka:HOST:PORT), of Delta tables (delta:URI, to versions and times) "
        "and of Iceberg tables (iceberg:URI, to snapshots and times) can be moved.",
    )
