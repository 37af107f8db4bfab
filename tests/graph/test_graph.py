"""What is known of sources and sinks: only what a file proves; what is not unique or not new is asked for."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.graph.graph import Graph, Known, Node, graph_of
from airflow_provider_ckpt.graph.place import Place, Written
from airflow_provider_ckpt.graph.proven_types import Proof, ProvenType
from airflow_provider_ckpt.graph.stream import Stream, StreamSource, Taken
from airflow_provider_ckpt.sources.kafka.extent import Extent

DELTA = SourceOffset(
    '{"sourceVersion":1,"reservoirId":"id-1","reservoirVersion":4,"index":-1,"isStartingVersion":false}'
)
ICEBERG = SourceOffset('{"version":1,"snapshot_id":77,"position":1,"scan_all_files":false}')
KAFKA = SourceOffset('{"orders":{"0":12,"1":3}}')
BRONZE = Place("delta", "s3://lake/bronze", "id-1", proof=Proof("s3://lake/bronze/_delta_log", "has it"))


def stream(*sources: StreamSource, at: str = "s3://lake/cp/q", query_id: str | None = "q", **more: object) -> Stream:
    return Stream(at, query_id, 5, tuple(sources), **more)  # type: ignore[arg-type]


def reads(offset: SourceOffset | None) -> StreamSource:
    return StreamSource("0", offset, "offsets/5")


def files(taken: Taken | None, passed_over: int | None = 0) -> StreamSource:
    proven = ProvenType("file", Proof("sources/0/3", "is the log of a file source"))
    return StreamSource("0", SourceOffset('{"logOffset":3}'), "offsets/5", proven, taken, passed_over)


def source(one: StreamSource, *places: Place, **more: object) -> Known:
    (node,) = graph_of([stream(one)], places, **more).nodes  # type: ignore[arg-type]
    assert node.sources is not None
    return node.sources["0"]


def sink(*places: Place, one: Stream | None = None) -> Known:
    (node,) = graph_of([one or stream()], places).nodes
    return node.sink


def writes(batch: int = 5, *, is_sink: bool = True, spark: tuple[int, int] | None = None) -> dict[str, Written]:
    return {"q": Written(batch, Proof("…/3.json", "is the commit"), is_sink, spark)}


# --- sources ---------------------------------------------------------------------------------------------------------


def test_a_table_is_read_whose_id_the_offset_has():
    known = source(reads(DELTA), BRONZE)
    assert (known.text, known.say, known.place) == ("delta:s3://lake/bronze", "", BRONZE)
    assert [proof.file for proof in known.proofs] == ["offsets/5", "s3://lake/bronze/_delta_log"]


def test_a_table_is_read_that_has_the_snapshot():
    events = Place("iceberg", "s3://lake/events", snapshots=frozenset({77}))
    assert source(reads(ICEBERG), events).text == "iceberg:s3://lake/events"


def test_of_two_tables_with_one_id_none_is_chosen():
    known = source(reads(DELTA), BRONZE, Place("delta", "s3://lake/copy", "id-1"))
    assert (known.text, known.place) == ("delta", None)
    assert "s3://lake/copy" in known.say and "s3://lake/bronze" in known.say


@pytest.mark.parametrize(
    ("offset", "copy"),
    [
        (DELTA, Place("delta", "s3://lake/old", "id-1", version=2)),  # it ends before the offset
        (ICEBERG, Place("iceberg", "s3://lake/i", snapshots=frozenset({77}), says_location="s3://lake/events")),
    ],
)
def test_a_copy_of_a_table_is_not_what_is_read(offset, copy):
    known = source(reads(offset), copy)
    assert (known.text, known.place) == (copy.type, None) and "a copy" in known.say


def test_the_offset_is_right_before_the_next_version():
    assert source(reads(DELTA), Place("delta", "s3://lake/t", "id-1", version=3)).text == "delta:s3://lake/t"


def test_a_copy_of_a_table_is_no_sink():
    copy = Place("iceberg", "s3://lake/i", written=writes(), says_location="s3://lake/events")
    assert sink(copy).text == "" and "a copy" in sink(copy).say


@pytest.mark.parametrize("offset", [DELTA, ICEBERG, KAFKA, SourceOffset("5"), SourceOffset('{"a":1}'), None])
def test_what_no_table_proves_has_no_type(offset):
    known = source(reads(offset), Place("delta", "s3://lake/other", "id-2"), Place("iceberg", "s3://lake/i"))
    assert (known.text, known.proofs, known.place) == ("", (), None)
    assert known.say


def test_a_directory_is_read_when_the_log_names_all_that_was_there():
    known = source(files(Taken(frozenset({"/in"}), {"/in/a": 1})))
    assert known.text == "file:/in" and known.place is not None


@pytest.mark.parametrize(
    ("taken", "passed_over"),
    [
        (Taken(frozenset({"/in"}), {"/in/a": 1}), 1),  # a pattern, or it is behind
        (Taken(frozenset({"/in"}), {"/in/a": 1}), None),  # nobody could read the directory
        (Taken(frozenset({"/in/a", "/in/b"}), {"/in/a/1": 1, "/in/b/1": 1}), 0),
        (Taken(frozenset({"/in/day=1"}), {"/in/day=1/a": 1}), 0),
        (Taken(frozenset({"/in/[a]"}), {"/in/[a]/1": 1}), 0),  # its name would be read as a pattern
        (None, None),
    ],
)
def test_otherwise_the_type_alone_is_known(taken, passed_over):
    known = source(files(taken, passed_over))
    assert (known.text, known.place) == ("file", None)
    assert known.say


def test_the_output_of_a_file_sink_is_a_place():
    output = Place("file", "/lake/out", entries_ms={0: 1})
    for directories in (["/lake/out"], ["/lake/out/day=1", "/lake/out/day=2"]):
        taken = Taken(frozenset(directories), {f"{each}/a": 1 for each in directories})
        assert source(files(taken, None), output).place == output
    inside = Taken(frozenset({"/lake/out/day=1"}), {"/lake/out/day=1/a": 1})
    assert source(files(inside, None), output).place is None


# --- brokers ---------------------------------------------------------------------------------------------------------


def test_topics_are_those_of_the_one_cluster_that_has_them():
    ends = {("orders", 0): 20, ("orders", 1): 3}
    has, short = Extent({}, {}, ends), Extent({}, {}, {("orders", 0): 2, ("orders", 1): 3})
    brokers = {"a:9092": has, "b:9092": short, "c:9092": Extent({}, {}, {("orders", 0): 20})}
    known = source(reads(KAFKA), brokers=brokers)
    assert known.text == "kafka:a:9092/orders" and "a:9092" in known.proofs[0].text
    assert source(reads(KAFKA), brokers={**brokers, "d:9092": has}).text == ""  # two have them
    assert source(reads(KAFKA)).perhaps == "kafka:HOST:PORT/orders"


# --- sinks -----------------------------------------------------------------------------------------------------------


def test_a_sink_is_the_table_that_has_the_newest_batch_of_the_query_id():
    known = sink(Place("delta", "s3://lake/t", "i", written=writes(5)))
    assert known.text == "delta:s3://lake/t" and known.proofs


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ([Place("delta", "s3://a", "i", written=writes(4))], "has batch 4"),  # it writes elsewhere by now
        ([Place("delta", f"s3://{at}", "i", written=writes()) for at in "ab"], "s3://a, delta:s3://b"),
        ([Place("delta", "s3://a", "i", written=writes(is_sink=False))], "foreachBatch"),
        ([], "no table"),
    ],
)
def test_otherwise_it_is_asked_for(places, says):
    known = sink(*places)
    assert (known.text, known.place) == ("", None)
    assert says in known.say


def test_what_a_function_writes_is_offered():
    known = sink(Place("delta", "s3://a", "i", written=writes(is_sink=False)))
    assert (known.perhaps, known.perhaps_sinks) == ("foreachBatch", "delta:s3://a#txnAppId=q")


def test_two_checkpoints_with_one_query_id_have_no_sink():
    table = Place("delta", "s3://lake/t", "i", written=writes())
    graph = graph_of([stream(), stream(at="s3://lake/cp/copy")], [table])
    assert [node.sink.text for node in graph.nodes] == ["", ""]
    assert all("2 checkpoints" in node.sink.say for node in graph.nodes)


def times(*ms: int) -> dict[int, int]:
    return dict(zip((4, 5), ms, strict=True))


def test_an_output_with_the_times_of_one_query_is_offered_and_never_declared():
    ran = {"planned_ms": times(100_000, 200_000), "committed_ms": times(110_000, 210_000)}
    output = Place("file", "/out", entries_ms={**times(105_000, 205_000), 3: 1})
    assert (sink(output, one=stream(**ran)).text, sink(output, one=stream(**ran)).perhaps) == ("", "file:/out")
    late = Place("file", "/out", entries_ms=times(105_000, 290_000))
    assert sink(late, one=stream(**ran)).perhaps == ""
    other = stream(at="s3://lake/cp/r", query_id="r", **ran)
    assert {node.sink.perhaps for node in graph_of([stream(**ran), other], [output]).nodes} == {""}


# --- Spark -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confs_of", "spark", "text"),
    [
        (((3, 5),), None, "3.5"),
        (((3, 5),), (3, 5), "3.5"),
        (((4, 0), (4, 1)), (4, 1), "4.1"),
        (((4, 0), (4, 1)), None, ""),
        (((3, 5),), (4, 1), ""),  # they do not agree
        (((4, 3),), None, ""),  # a later one may have the same confs
        (((3, 4),), None, ""),  # an earlier one
        ((), (4, 1), "4.1"),
        ((), (5, 0), ""),
        ((), None, ""),
    ],
)
def test_the_version_is_that_of_the_newest_batch(confs_of, spark, text):
    one = stream(confs_of=confs_of, confs_proof=Proof("offsets/5", "has them"))
    (node,) = graph_of([one], [Place("delta", "s3://a", "i", written=writes(spark=spark))]).nodes
    assert node.spark.text == text
    assert bool(node.spark.proofs) == bool(text) and bool(node.spark.say) != bool(text)


# --- edges -----------------------------------------------------------------------------------------------------------


def test_an_edge_is_the_sink_of_one_and_the_source_of_another():
    table = Place("delta", "s3://lake/bronze", "id-1", written=writes())
    graph = graph_of([stream(), stream(reads(DELTA), at="s3://lake/cp/r", query_id="r")], [table])
    (edge,) = graph.edges
    assert (edge.writer, edge.reader, edge.source_id) == ("s3://lake/cp/q", "s3://lake/cp/r", "0")
    assert {proof.file for proof in edge.proofs} == {"…/3.json", "offsets/5"}


def test_without_queries_there_is_nothing():
    assert graph_of([], []) == Graph()
    assert Node(stream(), None, Known(), Known()).sources is None
