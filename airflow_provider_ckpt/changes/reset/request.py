"""What a person can ask of a reset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from airflow_provider_ckpt.change.option import (
    WAIT_S,
    FenceFirst,
    Form,
    Opt,
    SinkOf,
    TriggerOf,
    WaitForBatch,
    goal_names,
    goal_values,
)
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.goal import Goal, parse_goal
from airflow_provider_ckpt.sources.kafka.strategies import Scope, parse_scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRequest:
    """Which source is moved, and where to."""

    source: Annotated[
        Source | None,
        Opt(
            "--source ID=TYPE:PLACE",
            "Source to move, by its id, and what it reads from, such as 0=kafka:host:9092 or 0=delta:URI.",
            "source",
        ),
        Form("Source, and what it reads from", "0=kafka:broker:9092, 0=delta:s3://lake/orders"),
    ] = None
    to_earliest: Annotated[
        bool,
        Opt("--to-earliest", "Move to the first offset that each partition still has.", goal="earliest"),
        Form("To the first offset that each partition still has"),
    ] = False
    to_latest: Annotated[
        bool,
        Opt("--to-latest", "Move to the end of each partition.", goal="latest"),
        Form("Or: to the end of each partition"),
    ] = False
    to_current: Annotated[
        bool,
        Opt(
            "--to-current",
            "Keep the positions. Only drop a batch in flight, and correct positions that the topics do not hold.",
            goal="current",
        ),
        Form("Or: stay, and only drop a batch in flight"),
    ] = False
    to_datetime: Annotated[
        int | None,
        Opt(
            "--to-datetime",
            "Move to the first record of each partition that is not older than this time, or else to its end. The "
            "time is that of the records; for what was processed since a time, see ckpt rollback --to-timestamp.",
            "time",
            goal="at_ms",
        ),
        Form("Or: to the first records from this time on", "2026-11-22T12:00Z"),
    ] = None
    by_duration: Annotated[
        int | None,
        Opt(
            "--by-duration",
            "Move to the first record of each partition that is not older than this, such as 36h; a plain number is "
            "seconds.",
            "duration",
            goal="duration_ms",
        ),
        Form("Or: to the first records of the last", "36h"),
    ] = None
    shift_by: Annotated[
        int | None,
        Opt(
            "--shift-by OFFSETS",
            "Move by so many offsets, such as 100 or -100; a negative number goes back.",
            "whole",
            goal="shift",
        ),
        Form("Or: so many offsets on; a negative number goes back", "-500"),
    ] = None
    to_offsets: Annotated[
        str | int | Mapping[str, Any] | None,
        Opt(
            "--to-offsets JSON|OFFSET",
            'Move to these offsets, such as {"orders": {"0": 5}}, in which -2 is the earliest and -1 the latest; or '
            "to one offset in every partition.",
            "json",
            goal="offsets",
        ),
        Form("Or: to these offsets, by topic and partition", '{"orders": {"0": 500}}'),
    ] = None
    from_csv: Annotated[
        str | None,
        Opt(
            "--from-file FILE",
            "Move to the offsets in this file: lines topic,partition,offset, as --export and kafka-consumer-groups "
            "write them.",
            "csv",
            goal="csv",
        ),
        Form("Or: to the offsets of these lines", "orders,0,500"),
    ] = None
    to_version: Annotated[
        int | None,
        Opt(
            "--to-version VERSION",
            "Move a Delta source to the end of this version of its table: the next batch begins with the one after it.",
            "whole",
            least=0,
            goal="version",
        ),
        Form("Or: to the end of this version of a Delta table", "17"),
    ] = None
    to_snapshot: Annotated[
        int | None,
        Opt(
            "--to-snapshot SNAPSHOT",
            "Move an Iceberg source to the end of this snapshot of its table, by its id: the next batch begins with "
            "the one after it.",
            "id",
            goal="snapshot",
        ),
        Form("Or: to the end of this snapshot of an Iceberg table", "8271638172635"),
    ] = None
    skip_version: Annotated[
        int | None,
        Opt(
            "--skip-version VERSION",
            "Skip this version of a Delta table, at which the query stops, and no other. The query must have read all "
            "that comes before it.",
            "whole",
            least=0,
            goal="skip_version",
        ),
        Form("Or: past this version alone of a Delta table", "18"),
    ] = None
    skip_snapshot: Annotated[
        int | None,
        Opt(
            "--skip-snapshot SNAPSHOT",
            "Skip this snapshot of an Iceberg table, by its id, at which the query stops, and no other. The query "
            "must have read all that comes before it.",
            "id",
            goal="skip_snapshot",
        ),
        Form("Or: past this snapshot alone of an Iceberg table", "8271638172636"),
    ] = None
    topics: Annotated[
        tuple[str, ...],
        Opt(
            "--topic TOPIC[:PARTITIONS]",
            "Move this topic only, or these of its partitions, such as orders:0,1. By default all that the offset log "
            "has. Can be given more than once.",
        ),
        Form("Only these topics, or partitions as orders:0,1", "orders:0,1 events"),
    ] = ()
    kafka_conn_id: Annotated[
        str | None,
        Opt(""),  # the command line has --kafka-config
        Form("Connection of type kafka", "kafka_default"),
    ] = None
    sink: SinkOf = None
    state_will_see_rows_again: Annotated[
        bool,
        Opt(
            "--state-will-see-rows-again",
            "Confirm that the state of the query may count a row twice when it is read twice. A reset does not move "
            "state.",
        ),
        Form("The state may count again what is read again"),
    ] = False
    trigger: TriggerOf = None
    fence: FenceFirst = False
    wait_for_batch: WaitForBatch = WAIT_S

    def goal(self) -> Goal:
        """Where to. Raises ValueError: none or several are given, or one makes no sense."""
        return parse_goal(**goal_values(self), called=goal_names(ResetRequest))

    def scope(self) -> Scope:
        """What is moved of the source. Raises ValueError."""
        return parse_scope(self.topics)
