"""Planning a seed: positions that were given, or those of another checkpoint, as a new checkpoint."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

from airflow_provider_ckpt.change.new_place.make import find_or_make_new, require_free_place
from airflow_provider_ckpt.change.open_sinks import Sinks
from airflow_provider_ckpt.change.option import Opt
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.seed.plan import (
    MOST_BATCHES,
    Positions,
    committed_batch,
    plan_seed,
    require_after,
    require_ids_left,
    require_positions,
    seed_effect,
)
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import BatchNotRestorableError, PlanError, located
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store


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


@dataclass(frozen=True, slots=True)
class Given:
    """Positions for a seed, and the batch of another checkpoint that they are of.

    Args:
        positions: Where each source begins.
        read_to: The batch at whose end they are; None when they come from no checkpoint.
        newest: The newest batch that is planned in that checkpoint.
        note: Sentence on the origin of the positions.
    """

    positions: Positions
    read_to: int | None = None
    newest: int | None = None
    note: str = "The positions were given."


def given_positions(offsets: Mapping[str, str]) -> Given:
    """Positions from offsets as JSON text, by source id: 0, 1, …, given in any order."""
    source_ids = sorted(offsets, key=lambda source_id: (len(source_id), source_id))  # 2 before 10
    return Given(Positions(tuple((source_id, SourceOffset(offsets[source_id])) for source_id in source_ids)))


def parse_positions(value: object) -> Given:
    """Positions from a JSON object: the offset of each source, by source id. Raises ValueError for anything else.

    A DAG and YAML may give an id as a number.
    """
    if not isinstance(value, dict) or not value:
        raise ValueError("give a JSON object by source id")
    if any(type(key) not in (str, int) for key in value) or len({str(key) for key in value}) < len(value):
        raise ValueError(f"give a JSON object by source id, each once, not {value!r:.60}")
    return given_positions({str(key): json.dumps(offset, separators=(",", ":")) for key, offset in value.items()})


def positions_of(checkpoint: Store, batch_id: int | None = None) -> Given:
    """The positions of all sources of another query after a committed batch; the newest one without an id.

    Raises:
        BatchNotRestorableError: The batch is not committed.
        PlanError: The query has state, or a source had no offset yet.
        CheckpointError: The checkpoint cannot be read.
    """
    view = observe(checkpoint, batch_id=batch_id)
    wanted = view.latest_committed if batch_id is None else batch_id
    if wanted is None or wanted not in view.committed:
        raise BatchNotRestorableError(
            "no batch is committed" if wanted is None else f"batch {wanted} is not committed",
            location=view.location,
            hint="Nothing was done.",
        )
    if view.stateful:
        raise PlanError(
            "the query has state, and a seed has none: Spark would not start with it.",
            location=view.location,
            hint="Nothing was done. To continue with the state, restore a backup (ckpt backup, ckpt restore), or move "
            "the source in place (ckpt reset-offsets). For a new query without state, give the positions with "
            "--offsets: ckpt export --as startingOffsets prints them.",
        )
    entry = view.offset_seq(wanted)
    offsets = tuple((source_id, offset) for source_id, offset in entry.offsets if offset is not None)
    if len(offsets) != len(entry.offsets):
        raise PlanError(
            f"a source had no offset yet when batch {wanted} was committed.",
            location=view.location,
            name=layout.offset_entry(wanted),
            hint="Nothing was done.",
        )
    conf = entry.metadata.conf if entry.metadata else None
    note = f"The positions are those of {view.location} after batch {wanted}."
    return Given(Positions(offsets, entry.version, conf), wanted, view.latest_planned, note)


def make_seed(
    target: Store, given: Given, types: Mapping[str, str], *, sinks: Sinks = (), after_batch: int = 0
) -> Plan:
    """Plan to write a new checkpoint to a new or empty location.

    Args:
        target: The location to write to.
        given: Where each source begins.
        types: Declared type by source id.
        sinks: Sinks of the query, whose newest batch decides with which batch it begins.
        after_batch: It begins after this batch, or a later one.

    Raises:
        ObjectExistsError: There is something at the location.
        PlanError: The positions make no sense, or no batch id does for all sinks, or ``after_batch`` is none, or a
            later one than a checkpoint may begin after.
    """
    require_free_place(target.location)
    with located(target.location):
        require_after(after_batch)
        require_positions(given.positions.offsets, types, given.positions.version)
    icebergs = frozenset(source_id for source_id, source_type in types.items() if source_type == "iceberg")
    markers = read_markers(sinks)
    with located(target.location):
        batch_id = committed_batch([marker for _, marker in markers], given.newest or 0, after_batch)
        require_ids_left(batch_id)
    planned = partial(
        plan_seed,
        target.location,
        replace(given.positions, with_initial=icebergs),
        batch_id=batch_id,
        effects=effects_of_seed(markers, batch_id, given),
        notes=(given.note,),
    )
    return find_or_make_new(
        lambda: planned(query_id=str(uuid.uuid4()), planned_at_ms=now_ms()), target, partial(_is_again, planned=planned)
    )


def _is_again(plan: Plan, planned: Callable[..., Plan]) -> bool:
    """True if a plan is the same but for what is new each time: the query's id, and the time."""
    again = planned(query_id=plan.query_id, planned_at_ms=plan.planned_at_ms)
    return (again.kind, again.batch_id, again.actions) == (plan.kind, plan.batch_id, plan.actions)


def read_markers(sinks: Sinks) -> list[tuple[str, SinkMarker]]:
    """Read each sink's memory, by its declaration. A table knows nothing of a query id that is new."""
    found = []
    for sink, store in sinks:
        store = store if sink.directory else None
        found.append((sink.at(store).name, read_marker(sink, store, "", 0)))
    return found


def effects_of_seed(markers: Sequence[tuple[str, SinkMarker]], batch_id: int, given: Given) -> list[SinkEffect]:
    """The effect on each sink; unknown when none was declared."""
    effects = [
        replace(seed_effect(marker, batch_id, given.read_to, given.newest), sink=name) for name, marker in markers
    ]
    return effects or [seed_effect(SinkMarker(""), batch_id, given.read_to, given.newest)]
