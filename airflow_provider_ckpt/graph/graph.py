"""Who reads and who writes which place: what files prove, and a sentence for what they do not.

Nothing here is a guess. A Delta table is a source's by its id, an Iceberg table by a snapshot, an output directory by
the files that the source's log names. A table's writer is known by the query id in its commits. A file sink does not
record who writes it, and Kafka keeps nothing of a query: these are said by people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_provider_ckpt.checkpoint.file_sink_log import while_it_ran
from airflow_provider_ckpt.codec.offsets.delta import of_value as delta_offset
from airflow_provider_ckpt.codec.offsets.iceberg import of_value as iceberg_offset
from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.documents.graphs import EdgeFields, InitQueryFields, KnownFields
from airflow_provider_ckpt.errors import MalformedEntryError
from airflow_provider_ckpt.graph.place import Place, Written
from airflow_provider_ckpt.graph.proven_types import Proof
from airflow_provider_ckpt.graph.stream import Stream, StreamSource
from airflow_provider_ckpt.query.spark_version import SPARK_MAX, SPARK_MIN, version_text
from airflow_provider_ckpt.sources.kafka.extent import Extent

_WILD = frozenset("*?[{")
_PATTERN = "a pattern, if it reads by one"
#: So many batches have to fit the log of a file sink, before a person is asked whether it is the query's.
_LEAST_FITTING = 2


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a source, a sink or a version of Spark.

    Args:
        text: As it is declared, such as ``delta:s3://lake/orders``, or ``file``; empty when nothing is proven.
        proofs: What proves it.
        say: What a person has to say, in a sentence; empty when nothing is left.
        perhaps: A declaration that fits what was seen, for a person to confirm; empty without one.
        perhaps_sinks: Of a ``foreachBatch`` the place that it has written to.
        place: The place, where that is proven.
    """

    text: str = ""
    proofs: tuple[Proof, ...] = ()
    say: str = ""
    perhaps: str = ""
    perhaps_sinks: str = ""
    place: Place | None = None

    def to_dict(self) -> KnownFields:
        """As the keys of a JSON document."""
        return {
            "text": self.text or None,
            "proven": [proof.text for proof in self.proofs],
            "say": self.say or None,
            "perhaps": self.perhaps or None,
        }


@dataclass(frozen=True, slots=True)
class Node:
    """A query with what is known of it.

    Args:
        stream: The query.
        sources: Its sources by id; None when it is not known how many it has.
        sink: Its sink.
        spark: The Spark that ran its newest batch.
    """

    stream: Stream
    sources: Mapping[str, Known] | None
    sink: Known
    spark: Known

    def to_dict(self, name: str | None) -> InitQueryFields:
        """As the keys of a JSON document; ``name`` is None for a checkpoint that could not be read."""
        error, sources = self.stream.error or None, self.sources
        return {
            "name": name,
            "location": self.stream.location,
            "query_id": self.stream.query_id,
            "sources": None if sources is None else {at: known.to_dict() for at, known in sources.items()},
            "sink": None if error else self.sink.to_dict(),
            "spark_version": None if error else self.spark.to_dict(),
            "error": error,
        }


@dataclass(frozen=True, slots=True)
class Edge:
    """A place that one query writes and another one reads.

    Args:
        writer: Checkpoint location of the query that writes it.
        reader: Checkpoint location of the query that reads it.
        source_id: The source by which it is read.
        place: The place.
        proofs: What proves the write and the read.
    """

    writer: str
    reader: str
    source_id: str
    place: Place
    proofs: tuple[Proof, ...]

    def to_dict(self, names: Mapping[str, str]) -> EdgeFields:
        """As the keys of a JSON document, with the queries by their names."""
        return {
            "writer": names[self.writer],
            "reader": names[self.reader],
            "source_id": self.source_id,
            "place": self.place.text,
            "proven": [proof.text for proof in self.proofs],
        }


@dataclass(frozen=True, slots=True)
class Graph:
    """Queries, and the places between them.

    Args:
        nodes: The queries.
        edges: Which feeds which.
        problems: Places that could not be read, each in a sentence.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    problems: tuple[str, ...] = ()


def graph_of(
    streams: Iterable[Stream],
    places: Sequence[Place],
    problems: Sequence[str] = (),
    brokers: Mapping[str, Extent] | None = None,
) -> Graph:
    """The graph of queries and places.

    Args:
        streams: The queries.
        places: The tables and output directories.
        problems: What could not be read.
        brokers: What the Kafka clusters have that somebody says the queries read from, by their servers.
    """
    found = tuple(streams)
    finder = _Finder(found, places, brokers or {})
    nodes = tuple(finder.node(stream) for stream in found)
    return Graph(nodes, tuple(_edges(nodes)), tuple(problems))


def _edges(nodes: Collection[Node]) -> Iterable[Edge]:
    writers: dict[str, list[Node]] = {}
    for node in nodes:
        if node.sink.place is not None:
            writers.setdefault(node.sink.place.key, []).append(node)
    for node in nodes:
        for source_id, source in (node.sources or {}).items():
            for writer in writers.get(source.place.key, ()) if source.place is not None else ():
                assert source.place is not None
                proofs = (*writer.sink.proofs, *source.proofs)
                yield Edge(writer.stream.location, node.stream.location, source_id, source.place, proofs)


class _Finder:
    """Finds places by what tells them apart."""

    def __init__(self, streams: Sequence[Stream], places: Sequence[Place], brokers: Mapping[str, Extent]) -> None:
        self._places, self._brokers = places, brokers
        self._by_id: dict[str, list[Place]] = {}
        self._by_snapshot: dict[int, list[Place]] = {}
        self._outputs = {place.key: place for place in places if place.type == "file"}
        self._ids: dict[str, int] = {}
        for place in places:
            if place.type == "delta":
                self._by_id.setdefault(place.table_id, []).append(place)
            for snapshot in place.snapshots:
                self._by_snapshot.setdefault(snapshot, []).append(place)
        for stream in streams:
            if stream.query_id is not None:
                self._ids[stream.query_id] = self._ids.get(stream.query_id, 0) + 1
        self._fitting = {stream.location: self._fitting_outputs(stream) for stream in streams}

    def node(self, stream: Stream) -> Node:
        sources = None if stream.sources is None else {source.id: self._source(source) for source in stream.sources}
        sink, written = self._sink(stream)
        return Node(stream, sources, sink, _spark(stream, written))

    # --- sources ---------------------------------------------------------------------------------------------------

    def _source(self, source: StreamSource) -> Known:
        if source.proven is not None:
            known = Known(source.proven.type, (source.proven.proof,))
            return self._files(source, known) if source.proven.type == "file" else _without_place(known)
        if source.offset is not None:
            tables, holds = self._tables(source.offset)
            if tables:
                return self._read_table(source, holds, tables)
        return self._topics(source) or _looks_like(source)

    def _tables(self, offset: SourceOffset) -> tuple[list[Place], str]:
        """The tables that an offset is one of, and what of it says so."""
        try:
            at = delta_offset(offset.view("delta").value)
        except (MalformedEntryError, ValueError):
            pass
        else:
            return self._by_id.get(at.table_id, []), f"has the id of the table, {at.table_id}"
        try:
            snapshot = iceberg_offset(offset.view("iceberg").value).snapshot_id
        except (MalformedEntryError, ValueError):
            return [], ""
        return self._by_snapshot.get(snapshot, []), f"has a snapshot of the table, {snapshot}"

    def _topics(self, source: StreamSource) -> Known | None:
        """The topics of the one cluster that has the partitions and the positions of a source."""
        positions = positions_of(source)
        fitting = [
            servers
            for servers, extent in self._brokers.items()
            if positions and all(extent.latest.get(at, -1) >= offset for at, offset in positions.items())
        ]
        if len(fitting) != 1:
            return None
        topics = sorted({topic for topic, _ in positions})
        holds = f"have the {len(positions):,} partitions and the positions of {source.file}"
        proof = Proof(f"the brokers {fitting[0]}, which were given", holds)
        return Known(f"kafka:{fitting[0]}/{','.join(topics)}", (proof,))

    def _read_table(self, source: StreamSource, holds: str, tables: Sequence[Place]) -> Known:
        kind, proof = tables[0].type, Proof(source.file, holds)
        originals = [table for table in tables if not (table.is_copy or _is_behind(table, source))]
        if not originals:
            say = f"which table it reads; {_listed(tables)} has the id or the snapshot, and is a copy of it"
            return Known(kind, (proof,), say)
        tables = originals
        if len(tables) > 1:
            say = f"which table it reads: {_listed(tables)} have the same id or snapshot"
            return Known(kind, (proof,), say)
        proofs = (proof, tables[0].proof) if tables[0].proof else (proof,)
        return Known(tables[0].text, proofs, place=tables[0])

    def _files(self, source: StreamSource, known: Known) -> Known:
        taken = source.taken
        if taken is None:
            return replace(known, say="the directory that it reads; its log is too large, or cannot be read")
        proof = Proof(known.proofs[0].file, f"and the log before it name {taken.count:,} files")
        output = self._output_of(taken.directories)
        if output is not None and (taken.directory == output.key or len(taken.directories) > 1):
            holds = f"{proof.holds} of the output directory of a file sink"
            proofs = (replace(proof, holds=holds),)
            return replace(known, text=output.text, proofs=proofs, place=output, say=_PATTERN)
        directory = taken.directory
        if directory is None:
            return replace(known, say=f"what it reads; its files are in {_some(sorted(taken.directories))}")
        declared = f"file:{directory}"
        if _WILD & {*directory}:
            return replace(known, say=f"how it reads {directory}, whose name could be a pattern")
        if source.passed_over is None:
            say = "whether it reads this directory; the directory could not be compared with the log"
            return replace(known, say=say, perhaps=declared)
        if source.passed_over:
            say = (
                f"by which pattern it reads {directory}, if it is not behind; its log does not name "
                f"{source.passed_over:,} older file{'' if source.passed_over == 1 else 's'} there"
            )
            return replace(known, say=say)
        proofs = (replace(proof, holds=f"{proof.holds}, all that were there, with their times"),)
        place = Place("file", directory)
        return replace(known, text=declared, proofs=proofs, place=place, say=_PATTERN)

    def _output_of(self, directories: Collection[str]) -> Place | None:
        """The output directory of a file sink that all these directories are, or are partitions of."""
        fitting = [
            place
            for key, place in self._outputs.items()
            if all(directory == key or directory.startswith(f"{key}/") for directory in directories)
        ]
        return max(fitting, key=lambda place: len(place.key), default=None)

    # --- sinks -----------------------------------------------------------------------------------------------------

    def _sink(self, stream: Stream) -> tuple[Known, Written | None]:
        if stream.query_id is None:
            return Known(say="which sink it is: the query id cannot be read"), None
        if self._ids[stream.query_id] > 1:
            say = f"the sink; {self._ids[stream.query_id]} checkpoints have the query id {stream.query_id}"
            return Known(say=say), None
        tables = [place for place in self._places if stream.query_id in place.written]
        if tables and all(place.is_copy for place in tables):
            return Known(say=f"the sink; the query id is in {_listed(tables)}, which is a copy of it"), None
        found = [(place, place.written[stream.query_id]) for place in tables if not place.is_copy]
        if len(found) > 1:
            return Known(say=f"the sink; the query id is in {_listed([place for place, _ in found])}"), None
        if not found:
            return self._unknown_sink(stream), None
        ((place, written),) = found
        if not written.is_sink:
            say = f"the sink; {written.proof.text}, as a foreachBatch writes it"
            sinks = f"{place.text}#txnAppId={stream.query_id}" if place.type == "delta" else place.text
            return Known(say=say, perhaps="foreachBatch", perhaps_sinks=sinks), None
        if stream.latest_committed is not None and written.batch_id < stream.latest_committed:
            say = (
                f"the sink; {place.text} has batch {written.batch_id} of the query as the newest, and "
                f"{stream.latest_committed} is committed"
            )
            return Known(say=say), None
        return Known(place.text, (written.proof,), place=place), written

    def _unknown_sink(self, stream: Stream) -> Known:
        fitting = [place for place in self._fitting[stream.location] if self._fits_one(place)]
        say = "the sink, such as file:URI, kafka, or foreachBatch; no table that was found has the query id"
        if len(fitting) != 1:
            return Known(say=say)
        return Known(say=f"{say}. Its batches and this sink's log have the same times", perhaps=fitting[0].text)

    def _fits_one(self, place: Place) -> bool:
        return sum(place in fitting for fitting in self._fitting.values()) == 1

    def _fitting_outputs(self, stream: Stream) -> list[Place]:
        """Output directories whose entries were written while the same batches of the query ran."""
        return [place for place in self._outputs.values() if _fits(stream, place.entries_ms)]


def _is_behind(table: Place, source: StreamSource) -> bool:
    """True if the source has read more than the table has: it is a copy from before, or was overwritten."""
    if table.version is None or source.offset is None:
        return False
    at = delta_offset(source.offset.view("delta").value)
    return at.version > table.version + (not at.has_begun_version)


def _fits(stream: Stream, entries_ms: Mapping[int, int | None]) -> bool:
    if max(entries_ms, default=-1) < (stream.latest_committed or 0):
        return False
    asked = [batch for batch in stream.planned_ms if batch in stream.committed_ms]
    if len(asked) < _LEAST_FITTING:
        return False
    for batch in asked:
        at_ms = entries_ms.get(batch)
        if at_ms is None or not while_it_ran(at_ms, stream.planned_ms[batch], stream.committed_ms[batch]):
            return False
    return True


def positions_of(source: StreamSource) -> dict[Partition, int]:
    """The newest offsets of a source that fits Kafka; empty for any other."""
    if source.proven is not None:
        return {}
    try:
        return offsets_of(source.offset)
    except MalformedEntryError:
        return {}


def _without_place(known: Known) -> Known:
    if known.text not in KINDS.answering("end"):
        return known
    place = "HOST:PORT/TOPIC" if known.text == "kafka" else "URI"
    return replace(known, say=f"its place, such as {known.text}:{place}")


def _looks_like(source: StreamSource) -> Known:
    offset = source.offset
    if offset is None:
        return Known(say="the type; it has no offset yet")
    kinds = [kind for kind in sorted(KINDS.built_in - {"checkpoint"}) if offset.fits(kind)]
    if not kinds:
        return Known(say="the type; its offsets are of no type that ckpt knows")
    which = f"its offset fits {', '.join(kinds)}"
    if {"delta", "iceberg"} & {*kinds}:
        return Known(say=f"the type and the place; {which}, and no table that was found has this one (--tables ROOT)")
    topics = sorted({topic for topic, _ in positions_of(source)})
    perhaps = f"kafka:HOST:PORT/{','.join(topics)}" if topics else ""
    return Known(say=f"the type and the place; {which}, and no file proves one", perhaps=perhaps)


# --- Spark -----------------------------------------------------------------------------------------------------------


def _spark(stream: Stream, written: Written | None) -> Known:
    """The Spark of the newest batch: as the commit of the table says, or by the confs that it persists."""
    versions, proof = stream.confs_of, stream.confs_proof
    if written is not None and written.spark is not None:
        if versions and written.spark not in versions:
            return Known(say="the version of Spark; the commit of the sink and the confs of the newest batch differ")
        if SPARK_MIN <= written.spark <= SPARK_MAX:
            return Known(version_text(written.spark), (written.proof,))
        return Known(say=f"the version of Spark; {version_text(written.spark)} wrote the newest batch")
    if not versions or proof is None:
        return Known(say="the version of Spark")
    if versions[-1] == SPARK_MAX:
        perhaps = version_text(versions[0]) if len(versions) == 1 else ""
        return Known(say=f"the version of Spark; {proof.text}, and may be of a later one", perhaps=perhaps)
    if versions[0] == SPARK_MIN:
        return Known(say=f"the version of Spark; {proof.text}, and may be of an earlier one")
    if len(versions) > 1:
        return Known(say=f"the version of Spark; {proof.text}")
    return Known(version_text(versions[0]), (proof,))


def _listed(places: Sequence[Place]) -> str:
    return _some([place.text for place in places])


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - 3
    return " and ".join(filter(None, (", ".join(texts[:3]), f"{more:,} more" if more > 0 else "")))
