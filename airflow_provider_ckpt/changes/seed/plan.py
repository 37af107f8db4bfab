"""The plan of a seed: a new checkpoint from which a stateless query starts at given positions.

It holds what a query that had just committed batch K would have: two entries of the offset log with the same positions,
the commit, and a query id of its own. Spark goes on with batch K+1. A query that starts with an empty checkpoint begins
with batch 0 instead, which a sink that is in use may know already: it drops the rows then, without an error.

The newest offset entry is written first and the one before it last: in between Spark refuses to start
(``batch K-1 doesn't exist``). With K = 0 there is only one; before its commit Spark runs batch 0, which the sink has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_ckpt.change.plan.actions import Action, Create
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import EmptyLocation
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.offsets.iceberg import START
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.untrusted.spans import batches_text

#: Sources of which an offset alone is a position. Iceberg keeps an initial offset beside it, of which one fits all.
SEEDABLE = ("kafka", "delta", "iceberg")


@dataclass(frozen=True, slots=True)
class Positions:
    """Where each source of the new query begins.

    Args:
        offsets: Offset by source id, in the order of the query.
        version: Version of the offset log: 1, where the ids are 0, 1, …, or 2, where sources have names.
        conf: Once-only confs; None for those of a query that starts with an empty checkpoint.
        with_initial: Ids of the sources that get an initial offset (Iceberg): the one that means the oldest snapshot of
            the table at each start.
    """

    offsets: tuple[tuple[str, SourceOffset], ...]
    version: int = 1
    conf: Mapping[str, str | None] | None = None
    with_initial: frozenset[str] = frozenset()

    def entry(self, timestamp_ms: int) -> OffsetSeq:
        """The entry of the offset log that says so."""
        conf = self.conf if self.conf is not None else new_confs()
        return OffsetSeq(self.version, OffsetSeqMetadata(0, timestamp_ms, conf), self.offsets)


def new_confs() -> dict[str, str]:
    """The confs that a restart would otherwise take for those of a query from before they existed.

    All others stay those of the session, as in a query that starts with an empty checkpoint.
    """
    return {conf.key: conf.default for conf in CATALOGUE if conf.when_absent not in (None, conf.default)}


def require_positions(offsets: Sequence[tuple[str, SourceOffset]], types: Mapping[str, str], version: int) -> None:
    """Require that an offset is a position for each source.

    Raises:
        PlanError: A source is not declared, its type keeps more than an offset, or the ids make no sense.
        MalformedEntryError: An offset is not of the declared type.
    """
    ids = [source_id for source_id, _ in offsets]
    if not ids or set(ids) != set(types):
        named, declared = (", ".join(sorted(names)) or "none" for names in (ids, types))
        raise PlanError(
            f"positions were given for these sources: {named}; types were declared for these: {declared}.",
            hint="Nothing was done. Give type and position of each source by its id, for example --source 0=kafka and "
            """--offsets '{"0": {"orders": {"0": 500}}}'.""",
        )
    if version == 1 and ids != [str(number) for number in range(len(ids))]:
        raise PlanError("the ids of sources have to be 0, 1, … in the order of the query.", hint="Nothing was done.")
    for source_id, offset in offsets:
        _require_position(source_id, offset, types[source_id])


def _require_position(source_id: str, offset: SourceOffset, source_type: str) -> None:
    if source_type not in SEEDABLE:
        raise PlanError(
            f"a source of the type {source_type} cannot be seeded: in a checkpoint it has more than an offset, or ckpt "
            "does not know what it has.",
            hint=f"Nothing was done. Types that can be seeded: {', '.join(SEEDABLE)}.",
        )
    at = offset.view(source_type)
    if source_type == "delta" and at.value["reservoirVersion"] < 0:
        raise PlanError(
            f"the position of source {source_id} cannot be a start: its version is negative.",
            hint="Nothing was done. Give the first version to read, such as 0.",
        )
    if source_type != "kafka":
        return
    positions = offsets_of(offset)
    negative = [partition for partition, position in positions.items() if position < 0]
    if negative or not positions:
        problem = (
            f"the offset of partition {'-'.join(map(str, negative[0]))} is negative" if negative else "it is empty"
        )
        raise PlanError(
            f"the position of source {source_id} cannot be a start: {problem}.",
            hint="Nothing was done. Give an offset for every partition; one that is left out begins at its earliest.",
        )


#: A new checkpoint begins after no later batch, so that Spark has batch ids left.
MOST_BATCHES = 10**15


def require_after(after_batch: object) -> None:
    """Raise PlanError unless it is a number that an id of a batch can be."""
    if type(after_batch) is not int or after_batch < 0:
        raise PlanError(
            f"after_batch is the id of a batch, a number from 0 on, not {after_batch!r:.60}.", hint="Nothing was done."
        )


def require_ids_left(batch_id: int) -> None:
    """Raise PlanError for a batch after which a new checkpoint cannot begin."""
    if batch_id > MOST_BATCHES:
        raise PlanError(
            f"the checkpoint would have to begin after batch {batch_id}, and a new one begins after batch "
            f"{MOST_BATCHES} at the latest, so that Spark has batch ids left.",
            hint="Nothing was done. Give an earlier batch as --after-batch (in a DAG: after_batch), or give the query "
            "a sink that has not seen that batch.",
        )


def committed_batch(markers: Iterable[SinkMarker], used: int = 0, after: int = 0) -> int:
    """The batch that the new checkpoint has committed: no sink has seen a later one.

    Args:
        markers: Memory of the sinks.
        used: The newest batch id of the checkpoint that the positions come from; a file sink knows better what it has.
        after: The query has to begin after this batch, or after a later one.

    Raises:
        PlanError: The log of one of the file sinks does not end there: it needs an entry of every batch.
    """
    found = tuple(markers)
    seen = max([after, *(marker.last_batch or 0 for marker in found)])
    files = [marker for marker in found if marker.kind == "file"]
    for marker in files:
        if marker.last_batch is None:
            raise PlanError(
                f"{marker.name} has no log yet, and its log has to begin with batch 0, or Spark stops at its first "
                "compaction.",
                hint="Nothing was done. Start the query with an empty checkpoint and the option that ckpt export "
                "--as startingOffsets prints: this sink has seen no batch.",
            )
        if marker.last_batch < seen:
            raise PlanError(
                f"the log of {marker.name} ends with batch {marker.last_batch}, but the checkpoint would have to begin "
                f"after batch {seen}: the log would lack the batches in between, and Spark would stop at its next "
                "compaction.",
                hint="Nothing was done. Give the query an output directory of its own.",
            )
    return seen if files else max(used, seen, 1)


def plan_seed(
    location: str,
    positions: Positions,
    *,
    query_id: str,
    batch_id: int,
    planned_at_ms: int,
    effects: Iterable[SinkEffect],
    notes: Iterable[str] = (),
) -> Plan:
    """Write a new checkpoint to an empty location.

    Args:
        location: The location to write to.
        positions: Where each source begins.
        query_id: Id of the new query.
        batch_id: The batch that it has committed.
        planned_at_ms: Now, epoch milliseconds.
        effects: One for each sink.
        notes: Where the positions come from; sentences for people.
    """
    entry = positions.entry(planned_at_ms).encode().decode()
    actions: list[Action] = [
        *(Create(layout.initial_offset_file(known), data=START.json) for known in sorted(positions.with_initial)),
        Create(layout.offset_entry(batch_id), data=entry),
        Create(layout.METADATA, data=QueryMetadata(query_id).encode().decode()),
        Create(layout.commit_entry(batch_id), data=CommitMetadata(1).encode().decode()),
    ]
    if batch_id:
        actions.append(Create(layout.offset_entry(batch_id - 1), data=entry))
    return Plan(
        kind="seed",
        location=location,
        query_id=query_id,
        batch_id=batch_id,
        planned_at_ms=planned_at_ms,
        requirements=(EmptyLocation(),),
        actions=tuple(actions),
        warnings=(f"A stateful query does not start from it: Spark would need the state of batch {batch_id}.",),
        effects=tuple(effects),
        notes=(*notes, f"The first batch of the query will be {batch_id + 1}; it ignores options for where to start."),
    )


def seed_effect(marker: SinkMarker, batch_id: int, read_to: int | None, newest: int | None) -> SinkEffect:
    """Effect on a sink of a query that begins after a batch at given positions.

    Args:
        marker: The sink's memory.
        batch_id: The newest batch that the new checkpoint has committed; no sink has seen a later one.
        read_to: The batch of another checkpoint at whose end the query begins; None for positions that were given.
        newest: The newest batch that is planned there.
    """
    if not marker.kind:
        why = f"a sink that has seen a batch after {batch_id} drops the rows of the query up to it"
        return SinkEffect(marker.name, "unknown", why, "Declare the sink, for example --sink file:URI or --sink kafka.")
    if read_to is None:
        why = "its next batch is one that it has not seen, but nobody knows which rows before the positions it has"
        return SinkEffect(marker.name, "unknown", why, "Compare the newest rows of the sink with the positions.")
    last = newest if marker.last_batch is None else marker.last_batch
    if last is not None and last > read_to:
        again = batches_text(read_to + 1, last)
        why = f"it may have the rows of {again}, which are read again as batches that it has not seen"
        return SinkEffect(marker.name, "duplicated", why, "Seed with the newest committed batch, or drop these rows.")
    return SinkEffect(marker.name, "exact", "the query goes on where the other one ended, with a batch it has not seen")
