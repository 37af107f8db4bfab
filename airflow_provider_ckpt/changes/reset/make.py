"""Making the plans of resets: find where the source goes, and what becomes of what it reads again or leaves out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from shlex import quote
from typing import Annotated, Any, ClassVar, Self

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.fence.find import required_fence
from airflow_provider_ckpt.change.find_repeated import repeated_warnings
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.make_plan import Planner, Seen, observe_without_flight, refuse_unfinished
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
    not_known_yet,
    of_field,
)
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.changes.reset.plan import (
    countings,
    effects_of,
    moves_of,
    plan_reset,
    positions_of,
    refuse_again,
)
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError, located
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.source import Source, require_asked
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.sources.goal import Goal, parse_goal
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.kafka.kafka_csv import write_csv
from airflow_provider_ckpt.sources.kafka.strategies import Scope, parse_scope
from airflow_provider_ckpt.sources.move import Aim, Move
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.resolve_goal import resolve_aim
from airflow_provider_ckpt.untrusted.fields import require_flag


def make_reset(
    stores: Stores,
    source_id: str,
    aim: Aim,
    *,
    sink: Sink | None = None,
    state_sees_rows_again: bool = False,
    trigger: str | None = None,
    fenced: bool = False,
    asks_anew: Callable[[str], bool] = lambda by: False,
) -> Plan:
    """Plan to move one source, or find the plan of the same reset that was killed.

    Args:
        stores: The checkpoint and the other places of the change.
        source_id: The source: its position in the query, or its name.
        aim: The goal of the move.
        sink: The sink of the query; a file sink when ``stores.sink`` is given and nothing else is said.
        state_sees_rows_again: The user's word that a query with state may read again what its state has counted.
        trigger: The trigger of the query as the query file says it; ``realTime`` changes what is sure of the sink.
        fenced: Require the fence that is there (``ckpt fence``) in place of the word that the query is stopped.
        asks_anew: True if who asks now is another one than who has made a change, as its record says it, and so wants
            the same relative move once more.

    Raises:
        PlanError: It is refused; the error says why.
        CheckpointMovedError: The query is running, and removes what was just listed.
        StoreError: The place that the source reads from cannot be asked, or is not what the query reads.
    """
    require_flag("state_sees_rows_again", state_sees_rows_again)
    require_flag("fenced", fenced)
    return ResetRequest(
        source=Source(source_id),
        aim=aim,
        sink=sink,
        state_will_see_rows_again=state_sees_rows_again,
        trigger=trigger,
        fenced=fenced,
        asks_anew=asks_anew,
    ).plan(stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRequest(Planner):
    """Which source is moved, and where to.

    Args:
        aim: The goal of the move, as the source itself has told it.
        again: A plan whose offsets are the aim; what the sources hold is not asked again.
        asks_anew: As for :func:`make_reset`.
    """

    kind: ClassVar[Kind] = "reset"
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
            "Delta: skip exactly this version, which the next batch would start with.",
            "whole",
            least=0,
            goal="skip_version",
        ),
        Form("Delta: skip exactly this version, which the next batch would start with", "18"),
    ] = None
    skip_snapshot: Annotated[
        int | None,
        Opt(
            "--skip-snapshot SNAPSHOT",
            "Iceberg: skip exactly this snapshot, by its id, which the next batch would start with.",
            "id",
            goal="skip_snapshot",
        ),
        Form("Iceberg: skip exactly this snapshot, by its id, which the next batch would start with", "8271638172636"),
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
    aim: Aim | None = None
    again: Plan | None = None
    asks_anew: Callable[[str], bool] = lambda by: False

    def goal(self) -> Goal:
        """Where to. Raises ValueError: none or several are given, or one makes no sense."""
        return parse_goal(**goal_values(self), called=goal_names(ResetRequest))

    def scope(self) -> Scope:
        """What is moved of the source. Raises ValueError."""
        return parse_scope(self.topics)

    def require_sense(self) -> None:
        """Raise ValueError unless exactly one goal and a source are given that make sense."""
        with of_field("to_offsets" if self.to_offsets is not None else "from_csv"):
            self.goal()
        if self.source is None:
            raise ValueError("give --source ID=TYPE:PLACE (in a DAG: source), such as 0=kafka:host:9092, or a plan")
        with of_field("source"):
            require_asked(self.source)
        with of_field("topics"):
            self.scope()

    def aimed(self, access: Access) -> Self:
        """The same with its aim, for which what the source reads from is asked. Raises CheckpointError, ValueError."""
        if self.source is None:
            raise PlanError("no source was given to move.", hint="Nothing was done. Give source.")
        return replace(self, aim=resolve_aim(self.source, self.goal(), self.scope(), access))

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The offsets that a plan has."""
        return cls(again=plan, sink=plan.declared_sink, trigger=plan.trigger, fenced=plan.fence is not None)

    @property
    def source_id(self) -> str:
        """The source: its position in the query, or its name."""
        return (self.source.id if self.source else None) or ""

    @property
    def aim_there(self) -> Aim:
        """Where to, once it was asked. Raises PlanError before."""
        if self.aim is None:
            raise not_known_yet("the aim of the reset", "aimed()")
        return self.aim

    @property
    def text(self) -> str:
        """The goal as a sentence; the first note of the plan."""
        return f"Source {self.source_id} goes to {self.aim_there.text}."

    @property
    def digest(self) -> str:
        """Digest of the request that a plan keeps."""
        if self.again is not None:
            return self.again.asked
        return hashlib.sha256(json.dumps([self.source_id, self.aim_there.key]).encode()).hexdigest()[:16]

    def is_met_by(self, plan: Plan) -> bool:
        """A plan keeps a digest; one of an earlier version says so in its first note alone."""
        return plan.asked == self.digest if plan.asked else plan.notes[:1] == (self.text,)

    def is_done(self, record: Record, stores: Stores) -> bool:
        """A relative move, until the query has run or another one asks: nobody wants to go further."""
        if self.again is not None or not self.aim_there.is_relative or self.asks_anew(record.by):
            return False
        view = self.observe(stores)
        return view.latest_planned == record.plan.batch_id and not moves_of(record.plan, view)

    def decide(self, seen: Seen) -> Plan:
        """Ask what the source reads from where it goes to."""
        if self.again is not None:
            return self._decide_again(seen, self.again)
        view, initial = seen.view, _initials(seen).get(self.source_id)
        committed, planned, warnings = positions_of(view, self.source_id)
        with located(view.location):
            first = None if initial is None else SourceOffset(initial.decode(errors="replace"))
            move = self.aim_there.move(self.source_id, committed, planned, first)
        move = replace(move, warnings=(*warnings, *move.warnings), notes=(self.text, *move.notes))
        if view.stateful and not self.state_will_see_rows_again:
            refuse_again(view, move)
        plan = self._plan(seen, [move], trigger_of(self.trigger, view.operator_names))
        if move.again or move.perhaps:
            told = repeated_warnings(seen.stores, self._is_repeated_by, view.committed)
            plan = replace(plan, warnings=(*plan.warnings, *told))
        return replace(plan, asked=self.digest)

    def _is_repeated_by(self, plan: Plan) -> bool:
        return plan.kind == self.kind and self.is_met_by(plan)

    def _decide_again(self, seen: Seen, made: Plan) -> Plan:
        """With the count of rows that leads to the effects of the plan, where its offsets leave that open."""
        plans = (self._plan(seen, counted, made.trigger) for counted in countings(moves_of(made, seen.view)))
        first, effects = next(plans), [item.effect for item in made.effects]
        same = (again for again in chain([first], plans) if [item.effect for item in again.effects] == effects)
        return replace(next(same, first), asked=made.asked)

    def observe(self, stores: Stores) -> CheckpointView:
        """The whole checkpoint. Raises PlanError when no source of it can be moved."""
        view = observe_without_flight(stores.checkpoint)
        _refuse_unmovable(view)
        return view

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """Without the batch in flight, where a start could let that be committed."""
        batch = seen.view.in_flight
        hint = f"Start the query, let it commit batch {batch} and stop it; then run the same command again."
        return judge_start(plan, seen.view, seen.checkpoint, hint="" if batch is None else hint)

    def _plan(self, seen: Seen, moves: Sequence[Move], trigger: str) -> Plan:
        fence = required_fence(seen.stores) if self.fenced else None
        found = effects_of(seen.view, seen.sink.marker, moves, real_time=trigger == REAL_TIME, fenced=self.fenced)
        effects = tuple(map(seen.sink.named, found))
        return replace(plan_reset(seen.view, moves, now_ms(), effects, _initials(seen), fence), trigger=trigger)


class Executor(InPlace):
    """Drops the batch in flight, and gives the newest committed offset entry other offsets."""

    planner = ResetRequest


def export_positions(stores: Stores, source_id: str, aim: Aim) -> str:
    """Where a reset would move a source, in the CSV of ``kafka-consumer-groups``. Raises as :func:`make_reset`."""
    view = observe_without_flight(stores.checkpoint)
    _refuse_unmovable(view)
    committed, planned, _ = positions_of(view, source_id)
    with located(view.location):
        move = aim.move(source_id, committed, planned)
    if move.kind != "kafka":
        problem = f"source {source_id} is a {move.kind} source, whose position is none of Kafka's CSV."
        raise PlanError(problem, location=view.location, hint="Nothing was done. Leave out --export.")
    return write_csv(offsets_of(move.new))


def _initials(seen: Seen) -> dict[str, bytes]:
    """The initial offsets of the sources that keep one in a file of its own (Iceberg), by source id."""
    return {
        place.source_id: seen.checkpoint.read(name)
        for name in seen.view.objects
        if isinstance(place := layout.parse(name), layout.InitialOffsetFile)
    }


def _refuse_unmovable(view: CheckpointView) -> None:
    if view.latest_committed is None:
        raise PlanError(
            "no batch is committed, so there is no position to move.",
            location=view.location,
            hint="Nothing was done. Remove the checkpoint, and start the query with the option startingOffsets.",
        )
    refuse_unfinished(view)
    if (name := layout.offset_entry(view.latest_committed)) not in view.objects:
        raise PlanError(
            "the offset entry of the newest committed batch is missing, so there is no position to move.",
            location=view.location,
            name=name,
            batch_id=view.latest_committed,
            hint="Nothing was done. If the query is running, stop it and run the command again. Else take the entry "
            f"from a backup (ckpt rollback {quote(view.location)} --to-backup ROOT/ID), or roll back to an earlier "
            "batch.",
        )
