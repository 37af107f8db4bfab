"""Data loss of a Kafka source, said before the restart: Spark's own checks, with both settings of ``failOnDataLoss``.

Each case was provoked on a real query (``KafkaMicroBatchStream``, ``KafkaDataConsumer``). Spark finds some while it
plans a batch, before the sink is called, and others only in a task. A start that fails while it plans has written the
entry of the batch all the same, so that the next start fails alike even when the topic has grown meanwhile.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.query.source_options import SourceOptions
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.untrusted.secrets import scrub

_CONDITION = "KAFKA_DATA_LOSS."
_UNKNOWN_TOPIC = "UnknownTopicOrPartitionException"
#: What the client of a task says when it cannot find a partition.
_NO_POSITION = "TimeoutException"
_RESET = "Move the position of the source, which drops the planned batch first."
_PERHAPS_EARLIEST = f"{_RESET} If the topic was created again, give --to-earliest in the place of --to-current."
_SINK = "--sink TYPE[:URI]"
#: Keeps the positions that the topics still hold, and corrects the others.
_TO_CURRENT = "--to-current"
_TO_EARLIEST = "--to-earliest"


@dataclass(frozen=True, slots=True)
class Losses:
    """Reasons of the sources of a query against its restart.

    Args:
        findings: Findings on what a restart loses or stops at, in Spark's order.
        unknown: Names of what was not judged, such as ``topic ids`` without a memory of the ids that the topics had
            before.
        topic_ids: The ids of the topics as they are now, by source id and name, such as ``0/orders``.
        expires_ms: A table or directory keeps what the query has not read at least this much longer, milliseconds;
            None when nothing of that expires, or nobody knows.
    """

    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """A Kafka source at a restart.

    Args:
        source_id: Its position in the query, or its name.
        batch_id: The newest committed batch; None before the first.
        entry: The file that has the position: the entry of that batch, or the initial offsets of the source.
        position: Where that batch ended, exclusive.
        planned: Where the batch in flight ends, exclusive; None without one.
        extent: The topics, as the broker has them.
        topics: The topics that the query subscribes to; empty for those that it has read.
        known_ids: The ids that its topics had before, by name.
        options: Options that the query sets for it.
        checkpoint: Location of the checkpoint, for the commands that findings advise; empty for findings without any.
        servers: Bootstrap servers of its broker, for the same.
        skipped: Whether the sink has the batch in flight already, so that Spark commits it and reads nothing of it.
    """

    source_id: str
    batch_id: int | None
    entry: str
    position: Mapping[Partition, int]
    planned: Mapping[Partition, int] | None
    extent: Extent
    topics: tuple[str, ...] = ()
    known_ids: Mapping[str, str] = field(default_factory=dict)
    options: SourceOptions = field(default_factory=SourceOptions)
    checkpoint: str = ""
    servers: str = ""
    skipped: bool = False

    @property
    def recreated(self) -> tuple[str, ...]:
        """The topics that have another id than before."""
        ids = self.extent.topic_ids
        return tuple(sorted(name for name, known in self.known_ids.items() if ids.get(name, known) != known))

    def reset(self, goal: str) -> tuple[str, ...]:
        """The command that moves it; none before the first commit, when there is no position to move."""
        if not self.checkpoint or self.batch_id is None:
            return ()
        declared = shlex.quote(f"{self.source_id}=kafka:{scrub(self.servers)}")
        return (f"ckpt reset-offsets {shlex.quote(self.checkpoint)} --source {declared} {goal} {_SINK}",)


def losses(source: KafkaSource) -> Iterator[Finding]:
    """Yield what a restart loses, or stops at, in the order in which Spark meets it."""
    yield from _topics_gone(source)
    yield from _new_partitions(source)
    yield from _partitions_gone(source)
    yield from _planned_otherwise(source)
    yield from _planned_and_gone(source)
    yield from _went_back(source)
    yield from _records_gone(source)
    yield from _created_again(source)


def _topics_gone(source: KafkaSource) -> Iterator[Finding]:
    """CKPT251: a topic that the broker does not have."""
    wanted = {*source.topics, *(topic for topic, _ in source.position)}
    planned = {topic for topic, _ in _planned_and_missing(source)}
    gone = sorted(wanted - source.extent.topic_ids.keys() - planned)
    if not gone:
        return
    topics = f"topic {_some(gone)} of source {source.source_id}" if len(gone) == 1 else f"the topics {_some(gone)}"
    if source.options.is_pattern and source.extent.topic_ids:
        goes_on = "goes on without it, and what was unread in it is never read"
        message = f"{topics} does not exist: {_both(source, goes_on)}"
        yield _finding(source, "CKPT251", message, "PARTITIONS_DELETED", "Create the topic again, or accept the loss.")
        return
    yield an_error(
        "CKPT251",
        f"{topics} does not exist: Spark stops after three attempts, whatever failOnDataLoss says",
        source.batch_id,
        source.entry,
        "Restore the topic, or deploy without it and with failOnDataLoss=false.",
        _UNKNOWN_TOPIC,
    )


def _partitions_gone(source: KafkaSource) -> Iterator[Finding]:
    """CKPT251: partitions that the topic has no more, or topics that the deploy does not subscribe to any more."""
    extent, dropped = source.extent, list[str]()
    there = [at for at in source.position if at[0] in extent.topic_ids]
    if source.topics and not source.options.is_pattern:
        dropped = sorted({topic for topic, _ in there} - set(source.topics))
    asked_for = _planned_and_missing(source)
    gone = sorted(at for at in there if at not in extent.latest and at not in asked_for)
    goes_on = "goes on without them, and what was unread in them is never read"
    if gone and source.options.assigned is not None:
        message = (
            f"{_partitions(gone)} of source {source.source_id} are not assigned any more: {_both(source, goes_on)}"
        )
        hint = "Keep them in the option assign, or deploy with failOnDataLoss=false once."
        yield _finding(source, "CKPT251", message, "PARTITIONS_DELETED", hint)
    elif gone:
        message = f"{_partitions(gone)} of source {source.source_id} do not exist any more: {_both(source, goes_on)}"
        yield _finding(source, "CKPT251", message, "PARTITIONS_DELETED", _RESET, _TO_CURRENT)
    if dropped:
        message = (
            f"the deploy does not subscribe to {_some(dropped)}, which source {source.source_id} has read: "
            f"{_both(source, goes_on)}; if it is added again later, it is read from its beginning"
        )
        hint = "Keep the topic in the subscription, or deploy with failOnDataLoss=false once."
        yield _finding(source, "CKPT251", message, "PARTITIONS_DELETED", hint)


def _planned_and_gone(source: KafkaSource) -> Iterator[Finding]:
    """CKPT251: partitions of the batch in flight that the topics no longer have: a task asks for them in vain."""
    if gone := sorted(_planned_and_missing(source)):
        yield an_error(
            "CKPT251",
            f"the batch in flight reads {_partitions(gone)} of source {source.source_id}, which do not exist any more: "
            "a task waits for 60 s (default.api.timeout.ms of the Kafka client), and Spark stops, whatever "
            "failOnDataLoss says",
            source.batch_id,
            source.entry,
            _RESET,
            _NO_POSITION,
            commands=source.reset(_TO_CURRENT),
        )


def _planned_and_missing(source: KafkaSource) -> list[Partition]:
    """Partitions that the batch in flight reads on, and that the broker does not have."""
    planned, extent = source.planned or {}, source.extent
    if source.options.assigned is not None:
        return []  # one that is not assigned any more is there all the same
    return [at for at in source.position if at in planned and at not in extent.latest]


def _planned_otherwise(source: KafkaSource) -> Iterator[Finding]:
    """CKPT251: a batch in flight that lacks partitions which the topics have again."""
    planned = source.planned
    lacking = sorted(at for at in source.position if planned and at not in planned and at in source.extent.latest)
    if lacking:
        goes_on = "runs the batch without them, and then reads them again from their beginning"
        message = (
            f"the batch in flight lacks {_partitions(lacking)} of source {source.source_id}, which the query has read: "
            "a start that did not find them has failed after it had planned the batch. "
            f"{_both(source, goes_on)}"
        )
        yield _finding(source, "CKPT251", message, "PARTITIONS_DELETED", _PERHAPS_EARLIEST, _TO_CURRENT)


def _went_back(source: KafkaSource) -> Iterator[Finding]:
    """CKPT252: a position past the end, now or as a start that has failed has left it in the log."""
    planned, latest = source.planned or {}, source.extent.latest
    poisoned = [at for at, end in planned.items() if end < source.position.get(at, end) and at in latest]
    beyond = [at for at, offset in source.position.items() if at in latest and offset > latest[at]]
    if poisoned:
        at = min(poisoned)
        message = (
            f"the batch in flight goes back in {_partitions(poisoned)} of source {source.source_id}, from "
            f"{source.position[at]} to {planned[at]}: a start on a topic that was created again has failed after "
            f"it had planned the batch. {_both(source, f'never reads the records before {planned[at]}')}"
        )
        if source.skipped:
            message = (
                f"the batch in flight goes back in {_partitions(poisoned)} of source {source.source_id}, from "
                f"{source.position[at]} to {planned[at]}, and the sink has this batch: Spark commits it and reads "
                f"nothing of it, whatever failOnDataLoss says, and goes on from {planned[at]}. The records from there "
                f"to {source.position[at]} are read again, unless the topic was created again: then those before "
                f"{planned[at]} are never read"
            )
        found = _finding(source, "CKPT252", message, "PARTITION_OFFSET_CHANGED", _RESET, _TO_CURRENT)
        yield replace(found, spark_error=None) if source.skipped else found
    if beyond and not poisoned and source.planned is None:
        at = min(beyond)
        goes_on = f"moves to the end, and never reads the records before it ({latest[at]} in {at[0]}-{at[1]})"
        message = (
            f"source {source.source_id} is past the end of {_partitions(beyond)}, at {source.position[at]} where the "
            f"end is {latest[at]}: the topic was created again, or has lost records. {_both(source, goes_on)}"
        )
        yield _finding(source, "CKPT252", message, "PARTITION_OFFSET_CHANGED", _RESET, _TO_CURRENT)
    unread = [at for at, end in planned.items() if at in latest and end > latest[at] and at not in poisoned]
    if unread:
        at = min(unread)
        goes_on = f"waits as long, commits the batch without records, and goes back to {latest[at]} in the next one"
        message = (
            f"the batch in flight ends at {planned[at]} in {at[0]}-{at[1]} of source {source.source_id}, which ends at "
            f"{latest[at]}: a task waits for kafkaConsumer.pollTimeoutMs (120 s, unless set). {_both(source, goes_on)}"
        )
        yield _finding(source, "CKPT252", message, "COULD_NOT_READ_OFFSET_RANGE", _PERHAPS_EARLIEST, _TO_CURRENT)


def _new_partitions(source: KafkaSource) -> Iterator[Finding]:
    """CKPT254: a partition that the query does not know, and that has lost its first records, or all of itself."""
    earliest = source.extent.earliest
    planned = [at for at in source.planned or () if at not in source.position and at[0] in source.extent.topic_ids]
    if gone := sorted(at for at in planned if at not in source.extent.latest):
        goes_on = "goes on without them"
        message = (
            f"the batch in flight begins with {_partitions(gone)} of source {source.source_id}, which do not exist any "
            f"more: {_both(source, goes_on)}"
        )
        yield _finding(source, "CKPT251", message, "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS", _RESET, _TO_CURRENT)
    new = [at for at in source.extent.partitions if at not in source.position and earliest[at] > 0]
    if new:
        goes_on = "reads them from there on"
        message = (
            f"{_partitions(new)}, new to source {source.source_id}, begin at {earliest[new[0]]} and not at 0: "
            f"{_both(source, goes_on)}"
        )
        hint = (
            "Deploy with failOnDataLoss=false until one batch is committed, or put these partitions into the entry; "
            "what is gone is lost in any case."
        )
        goal = f"{_TO_EARLIEST} {_named(new)}"
        yield _finding(source, "CKPT254", message, "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO", hint, goal)


def _records_gone(source: KafkaSource) -> Iterator[Finding]:
    """CKPT250: unread records that retention or somebody has deleted."""
    earliest = source.extent.earliest
    gone = {at: earliest[at] - offset for at, offset in source.position.items() if offset < earliest.get(at, offset)}
    if gone:
        at = min(gone)
        goes_on = "reads from the first offset that is still there"
        message = (
            f"at most {sum(gone.values())} records that source {source.source_id} has not read are gone: "
            f"{_partitions(gone)} begin at {earliest[at]} now, and the query is at {source.position[at]}. A task "
            f"stops, and the batch stays planned: {_both(source, goes_on)}"
        )
        hint = "The records are lost. Deploy with failOnDataLoss=false, or move the position to what is there."
        yield _finding(source, "CKPT250", message, "COULD_NOT_READ_OFFSET_RANGE", hint, _TO_CURRENT)


def _created_again(source: KafkaSource) -> Iterator[Finding]:
    """CKPT253: a topic of another id. Where it has grown past the position, Spark notices nothing."""
    latest = source.extent.latest
    for topic in source.recreated:
        passed = sum(
            offset for at, offset in source.position.items() if at[0] == topic and offset <= latest.get(at, -1)
        )
        if passed:
            yield an_error(
                "CKPT253",
                f"topic {topic} of source {source.source_id} was created again: it has the id "
                f"{source.extent.topic_ids[topic]}, and had {source.known_ids[topic]}. Spark reads on at the old "
                f"position without an error, and never reads at most {passed} records before it",
                source.batch_id,
                source.entry,
                f"{_RESET} Then accept the new topic: delete its old id from the file of the topic ids.",
                commands=source.reset(f"{_TO_EARLIEST} --topic {shlex.quote(topic)}"),
            )


# --- sentences ------------------------------------------------------------------------------------------------------


def _both(source: KafkaSource, goes_on: str) -> str:
    """Spark's behaviour with either setting, beginning with that of the deploy."""
    if source.options.fails_on_data_loss is False:
        return f"Spark {goes_on}, as failOnDataLoss is false; otherwise it would stop"
    return f"Spark stops; with failOnDataLoss=false it {goes_on}"


def _finding(source: KafkaSource, code: str, message: str, condition: str, hint: str, goal: str = "") -> Finding:
    stops = source.options.fails_on_data_loss is not False
    if condition == "PARTITIONS_DELETED" and source.options.has_group_id:
        condition += "_AND_GROUP_ID_CONFIG_PRESENT"
    return an_error(
        code,
        message,
        source.batch_id,
        source.entry,
        hint,
        f"{_CONDITION}{condition}" if stops else None,
        commands=source.reset(goal) if goal else (),
    )


def _partitions(partitions: Iterable[Partition]) -> str:
    names = [f"{topic}-{number}" for topic, number in sorted(partitions)]
    return f"the partition {names[0]}" if len(names) == 1 else f"the partitions {_some(names)}"


def _named(partitions: Iterable[Partition]) -> str:
    """The options that name partitions one by one."""
    numbers: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        numbers.setdefault(topic, []).append(str(number))
    return " ".join(f"--topic {shlex.quote(topic)}:{','.join(found)}" for topic, found in numbers.items())


def _some(names: Iterable[str]) -> str:
    return listed_shortly(names, 3)
