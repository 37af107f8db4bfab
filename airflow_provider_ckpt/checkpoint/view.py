"""A checkpoint as it was at one moment: what was listed, what was read, and what could not be read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.flows import Surroundings
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.spark_confs import state_partitions
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.codec.source_log import InitialOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.access import Access
from airflow_provider_ckpt.storage.packed import PackedObjects
from airflow_provider_ckpt.storage.stored_object import StoredObject


@dataclass(frozen=True, slots=True)
class CheckpointView:
    """All that was read of a checkpoint at one moment.

    Args:
        location: Its URI.
        observed_at_ms: Time at which the observation began, epoch milliseconds.
        objects: Listed objects, by name.
        entries: Entries that were read and decoded, by name.
        damaged: Errors of the entries that could not be decoded, by name.
        complete: True if everything was listed; False if only the two logs were.
        stateful: True if there is state of at least one operator.
        missing: Files that the restart set of ``batch_before`` lacks; None when that was not read.
        repaired: Broken files of snapshots that an older snapshot makes up for.
        unjudged: State that cannot be judged from the files.
        unread_tables: True if the restart after the newest commit reads tables of RocksDB that have no checksum file;
            only their length is known.
        altered: State files that a restart loads although they do not fit Hadoop's checksum file, each with the reason.
        unfinished: State files that the batch in flight left broken.
        single_partition: Ids of the operators that have one partition whatever the shuffle partitions are.
        folders: Directories in the place of log entries, the query metadata or state files, and those at the top
            that Spark does not make, by name.
        directories: Owner, group and mode of directories, by name, the location itself by an empty one; only on a
            disk of this machine.
        sink: The log of the file sink, when it was read.
        first_sink: The sink that was declared first and where that is remembered, when the one read is another.
        marker: The memory that a table as sink has of the query, when it was read.
        surroundings: Table and flows beside the checkpoint of a declarative pipeline's flow, when they were read.
        gone_inputs: URIs of input files of the batch in flight that are missing from their directory.
        restorable: The newest batch that a rollback can go to, at or before each batch for which that was found out;
            None where there is none.
        inside: Directories that are checkpoints of other queries; none of their objects are in ``objects``.
        long_source_logs: The newest entry that a log of a file source names, of whole ones too large to hold, by name.
    """

    location: str
    observed_at_ms: int
    objects: Mapping[str, StoredObject]
    entries: Mapping[str, Encodable] = field(default_factory=dict)
    damaged: Mapping[str, CheckpointFormatError] = field(default_factory=dict)
    complete: bool = False
    stateful: bool = False
    missing: tuple[str, ...] | None = None
    repaired: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    unread_tables: bool = False
    altered: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    single_partition: tuple[int, ...] = ()
    folders: tuple[str, ...] = ()
    directories: Mapping[str, Access] = field(default_factory=dict)
    sink: SinkLog | None = None
    first_sink: tuple[str, str] | None = None
    marker: SinkMarker | None = None
    surroundings: Surroundings | None = None
    gone_inputs: tuple[str, ...] = ()
    restorable: Mapping[int, int | None] = field(default_factory=dict)
    long_source_logs: Mapping[str, int | None] = field(default_factory=dict)
    inside: tuple[str, ...] = ()
    #: Batch ids by log, and those that are whole, once they were asked for: the rules ask again and again.
    _batches: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)
    #: The names of ``objects`` in order, once something below a directory was asked for.
    _names: list[str] = field(init=False, repr=False, compare=False, default_factory=list)

    def batches(self, log: str) -> tuple[int, ...]:
        """Batch ids of one log in ascending order; there may be gaps (async progress tracking)."""
        if log not in self._batches:
            self._batches[log] = batch_ids(self.objects, log)
        return self._batches[log]

    @property
    def planned(self) -> tuple[int, ...]:
        """Batches that have an entry in the offset log, ascending."""
        return self.batches(layout.OFFSETS)

    @property
    def committed(self) -> tuple[int, ...]:
        """Batches that have an entry in the commit log, ascending."""
        return self.batches(layout.COMMITS)

    @property
    def whole(self) -> tuple[int, ...]:
        """Committed batches whose entries are there and not damaged, and the one that a restart reads beside them."""
        if "whole" not in self._batches:
            self._batches["whole"] = tuple(filter(self._is_whole, self.committed))
        return self._batches["whole"]

    def _is_whole(self, batch_id: int) -> bool:
        planned = (batch_id, self.predecessor(batch_id))
        names = {layout.commit_entry(batch_id), *(layout.offset_entry(batch) for batch in planned if batch is not None)}
        return names <= self.objects.keys() and not names & self.damaged.keys()

    @property
    def latest_planned(self) -> int | None:
        """The newest batch in the offset log."""
        return max(self.planned, default=None)

    @property
    def latest_committed(self) -> int | None:
        """The newest batch in the commit log."""
        return max(self.committed, default=None)

    @property
    def in_flight(self) -> int | None:
        """The newest batch when it is planned and not committed: running, or left by a crash."""
        planned, committed = self.latest_planned, self.latest_committed
        return planned if planned is not None and (committed is None or planned > committed) else None

    @property
    def batch_before(self) -> int | None:
        """The batch on whose state a restart goes on: the newest committed, or the one before that in flight.

        Spark treats every batch before the newest planned one as done, whether it was committed or not.
        """
        if self.in_flight is not None and self.in_flight - 1 in self.planned:
            return self.in_flight - 1
        return self.latest_committed

    @property
    def unfinished_repartition(self) -> int | None:
        """The number of state partitions that the batch in flight leads to, when it is a repartition; else None."""
        if self.in_flight is None or (before := self.predecessor(self.in_flight)) is None:
            return None
        old, new = self.partitions_of(before), self.partitions_of(self.in_flight)
        return None if old is None or old == new else new

    def partitions_of(self, batch_id: int) -> int | None:
        """The number of state partitions in the offset entry of a batch, as far as that was read; else None."""
        entry = self.entries.get(layout.offset_entry(batch_id))
        metadata = entry.metadata if isinstance(entry, OffsetSeq) else None
        return None if metadata is None else state_partitions(metadata.conf)

    @property
    def next_batch(self) -> int:
        """The batch that a restart runs first: the one in flight, or the one after the newest planned."""
        if self.latest_planned is None:
            return 0
        return self.latest_planned if self.in_flight is not None else self.latest_planned + 1

    @property
    def operators(self) -> dict[int, OperatorStateMetadata]:
        """Metadata of the stateful operators, by id: the newest that was read of each."""
        newest: dict[int, tuple[int, OperatorStateMetadata]] = {}
        for name, entry in self.entries.items():
            place = layout.parse(name)
            if isinstance(entry, OperatorStateMetadata) and isinstance(place, layout.OperatorMetadataFile):
                written = -1 if place.batch_id is None else place.batch_id
                if written >= newest.get(place.operator_id, (-1, None))[0]:
                    newest[place.operator_id] = (written, entry)
        return {operator_id: entry for operator_id, (_, entry) in sorted(newest.items())}

    def has_unread_operators(self) -> bool:
        """True if there is state of an operator without metadata; Spark then compares none of the operators."""
        if not self.complete:
            return False
        ids = {layout.operator_of(name) for name in self.names_below(layout.STATE)} - {None}
        return not ids <= self.operators.keys()

    @property
    def operator_names(self) -> tuple[str, ...]:
        """Spark's names of the stateful operators, in the order of their ids."""
        return tuple(entry.operator_name for entry in self.operators.values())

    def partitions_written(self, opened: int | None) -> dict[int, int]:
        """In how many partitions each operator wrote state in the newest committed batch, as far as it was listed.

        One that has lost what it wrote counts: state of a later partition shows it, or older state, which tells that
        from a repartition among the partitions that are ``opened``.
        """
        written: dict[int, int] = {}
        older: dict[int, int] = {}
        for name in self.names_below(layout.STATE) if self.latest_committed is not None else ():
            place = layout.parse(name)
            if not isinstance(place, layout.StateFile):
                continue
            operator_id, number = place.store_id.operator_id, place.store_id.partition + 1
            if place.version - 1 == self.latest_committed:
                written[operator_id] = max(number, written.get(operator_id, 0))
            elif number <= (opened or 0):
                older[operator_id] = max(number, older.get(operator_id, 0))
        counted = {
            operator_id: max(number, older.get(operator_id, 0)) for operator_id, number in sorted(written.items())
        }
        commit = self.entries.get(layout.commit_entry(self.latest_committed or 0))
        ids = commit.state_unique_ids if isinstance(commit, CommitMetadata) else None
        return {**counted, **{operator_id: len(partitions) for operator_id, partitions in (ids or {}).items()}}

    def predecessor(self, batch_id: int) -> int | None:
        """The batch whose offset entry a restart reads beside that of ``batch_id``; None for the first batch.

        That is the batch before it. Async progress tracking skips batches in both logs alike; then it is the newest
        one before the gap.
        """
        before, planned = batch_id - 1, newest_before(self.planned, batch_id)
        if planned == before or newest_before(self.committed, batch_id) == before:
            return before
        return before if planned is None and before >= 0 else planned

    @property
    def query_id(self) -> str | None:
        """Id of the query; None when ``metadata`` is missing or damaged."""
        metadata = self.entries.get(layout.METADATA)
        return metadata.query_id if isinstance(metadata, QueryMetadata) else None

    def offset_seq(self, batch_id: int) -> OffsetSeq:
        """The offset log entry of a batch that was read.

        Raises:
            CheckpointFormatError: It is damaged.
            CheckpointNotFoundError: It is not there.
        """
        entry = self._entry(layout.offset_entry(batch_id), batch_id)
        assert isinstance(entry, OffsetSeq)
        return entry

    def readable_offset_seq(self, batch_id: int | None) -> OffsetSeq | None:
        """The same for who goes on without it: None without a batch, or when its entry is damaged or not there.

        Damage is a finding of its own.
        """
        try:
            return None if batch_id is None else self.offset_seq(batch_id)
        except (CheckpointFormatError, CheckpointNotFoundError):
            return None

    def initial_offset(self, source_id: str) -> tuple[str, SourceOffset] | None:
        """Where a source has written down that it begins, and the file; read only while no batch is committed."""
        for name in layout.initial_offset_files(source_id):
            entry = self.entries.get(name)
            if isinstance(entry, InitialOffset):
                return name, entry.offset
        return None

    def committed_offset(self, source_id: str) -> SourceOffset | None:
        """Where a source goes on after the newest commit; before the first one, where it began.

        None when the source has no position yet. Raises as :meth:`offset_seq`.
        """
        if self.latest_committed is not None:
            return self.offset_seq(self.latest_committed).offset(source_id)
        began = self.initial_offset(source_id)
        return None if began is None else began[1]

    def commit(self, batch_id: int) -> CommitMetadata:
        """The commit log entry of a batch that was read. Raises as :meth:`offset_seq`."""
        entry = self._entry(layout.commit_entry(batch_id), batch_id)
        assert isinstance(entry, CommitMetadata)
        return entry

    @property
    def latest_offset_seq(self) -> OffsetSeq | None:
        """The newest offset log entry, or None when there is none. Raises CheckpointFormatError when it is damaged."""
        return None if self.latest_planned is None else self.offset_seq(self.latest_planned)

    @property
    def source_offsets(self) -> tuple[tuple[str, str | None, str | None], ...]:
        """Each source of the newest offset log entry: its id, its committed and its planned offset as JSON text.

        An offset is None when the source has none yet, or when the entry was not read. An empty line of an entry is no
        source. Raises CheckpointFormatError for a damaged entry.
        """
        newest, committed = self.latest_offset_seq, self.latest_committed
        newest = newest.without_empty_lines() if newest else None
        is_there = committed is not None and committed in self.planned
        done = self.offset_seq(committed).without_empty_lines() if committed is not None and is_there else None

        def text(entry: OffsetSeq | None, source_id: str) -> str | None:
            offset = entry.offset(source_id) if entry else None
            return offset.json if offset else None

        ids = [source_id for source_id, _ in newest.offsets] if newest else []
        return tuple((source_id, text(done, source_id), text(newest, source_id)) for source_id in ids)

    @property
    def watermark_ms(self) -> int | None:
        """Watermark that the newest committed batch ran with, epoch milliseconds; None before the first commit.

        The batch has finished all event times before this watermark, so a wait compares with it; the commit log's
        ``nextBatchWatermarkMs`` is the watermark of the batch that runs next.
        """
        if self.latest_committed is None or self.latest_committed not in self.planned:
            return None
        metadata = self.offset_seq(self.latest_committed).without_empty_lines().metadata
        return metadata.batch_watermark_ms if metadata else None

    @property
    def planned_at_ms(self) -> int | None:
        """When the newest committed batch began (``batchTimestampMs``), epoch milliseconds; None as the watermark."""
        if self.latest_committed is None or self.latest_committed not in self.planned:
            return None
        metadata = self.offset_seq(self.latest_committed).metadata
        return metadata.batch_timestamp_ms if metadata else None

    @property
    def committed_at_ms(self) -> int | None:
        """When the newest committed batch was committed, epoch milliseconds; None where the storage does not tell."""
        if self.latest_committed is None:
            return None
        entry = self.objects.get(layout.commit_entry(self.latest_committed))
        return entry.modified_ms if entry else None

    @property
    def planned_ms(self) -> dict[int, int]:
        """When the batches began whose offset entries were read, epoch milliseconds by the clock of the driver."""
        return {
            batch: entry.metadata.batch_timestamp_ms
            for batch in self.planned
            if isinstance(entry := self.entries.get(layout.offset_entry(batch)), OffsetSeq) and entry.metadata
        }

    @property
    def committed_ms(self) -> dict[int, int]:
        """When batches were committed, epoch milliseconds by the clock of the storage, as far as it tells."""
        times = {batch: self.objects[layout.commit_entry(batch)].modified_ms for batch in self.committed}
        return {batch: at_ms for batch, at_ms in times.items() if at_ms is not None}

    @property
    def links(self) -> tuple[str, ...]:
        """Names of symbolic links, as far as they were listed; Spark makes none."""
        return tuple(sorted(name for name, stored in self._odd.items() if stored.is_link))

    @property
    def unreachable(self) -> tuple[str, ...]:
        """Listed names that can be neither read, copied nor removed, because of the name or because a listing is
        refused.
        """
        return tuple(sorted(name for name, stored in self._odd.items() if stored.is_unreachable))

    @property
    def _odd(self) -> Mapping[str, StoredObject]:
        return self.objects.odd if isinstance(self.objects, PackedObjects) else self.objects

    def below(self, directory: str) -> Iterator[StoredObject]:
        """Everything listed under a directory, by name ascending."""
        return map(self.objects.__getitem__, self.names_below(directory))

    def names_below(self, directory: str) -> Iterator[str]:
        """The names of everything listed under a directory, ascending."""
        if isinstance(self.objects, PackedObjects):
            return self.objects.names_below(directory)
        if not self._names:
            self._names.extend(sorted(self.objects))
        first, end = (bisect_left(self._names, f"{directory}{mark}") for mark in "/0")  # "0" comes right after "/"
        return iter(self._names[first:end])

    def _entry(self, name: str, batch_id: int) -> Encodable:
        if name in self.damaged:
            raise self.damaged[name].at(self.location)
        if name not in self.entries:
            raise CheckpointNotFoundError(
                "the checkpoint does not have this log entry", location=self.location, name=name, batch_id=batch_id
            )
        return self.entries[name]


def has_state(names: Iterable[str]) -> bool:
    """True if a listing has state of an operator."""
    return any(layout.operator_of(name) is not None for name in names)


def newest_before(batches: Sequence[int], batch_id: int) -> int | None:
    """The newest of ascending batches that is older than ``batch_id``."""
    at = bisect_left(batches, batch_id)
    return batches[at - 1] if at else None


def batch_ids(names: Iterable[str], log: str) -> tuple[int, ...]:
    """Batch ids that a listing shows for ``offsets`` or ``commits``, ascending, as Spark counts them."""
    places = (layout.parse(name) for name in names if name.startswith(log))
    return tuple(
        sorted({place.batch_id for place in places if isinstance(place, layout.LogEntry) and place.log == log})
    )
