"""The text of a query file: it is read again, says nothing that is not proven, and holds no secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.graph.draft import draft, names_in
from airflow_provider_ckpt.graph.graph import Edge, Graph, Known, Node
from airflow_provider_ckpt.graph.place import Place
from airflow_provider_ckpt.graph.proven_types import Proof
from airflow_provider_ckpt.graph.stream import Stream
from airflow_provider_ckpt.query.query_file import Query
from airflow_provider_ckpt.query.query_parser import parse_query_file

PROOF = (Proof("offsets/5", "has it"),)


def node(location: str = "/cp/q", sources: dict[str, Known] | None = None, **known: Known) -> Node:
    return Node(Stream(location, "q"), sources, known.get("sink", Known()), known.get("spark", Known()))


def parsed(one: Node) -> Query:
    (query,) = parse_query_file(draft(Graph((one,)))).queries.values()
    return query


def test_what_is_proven_is_declared():
    sources = {"0": Known("file:/in", PROOF), "1": Known("delta:s3://lake/a", PROOF)}
    query = parsed(node(sources=sources, sink=Known("delta:s3://lake/b", PROOF), spark=Known("3.5", PROOF)))
    assert [source.text for source in query.deploy.sources or ()] == ["file:/in", "delta:s3://lake/a"]
    assert query.deploy.sink is not None and query.deploy.sink.text == "delta:s3://lake/b"
    assert query.deploy.declared_version == (3, 5)


def test_what_is_not_proven_is_a_comment():
    unknown = Known(say="the type", perhaps="kafka:HOST:PORT/orders")
    one = node(sources={"0": unknown}, sink=Known(say="the sink", perhaps="foreachBatch", perhaps_sinks="delta:/a"))
    query, text = parsed(one), draft(Graph((one,)))
    assert [(source.id, source.type) for source in query.deploy.sources or ()] == [("0", None)]
    assert (query.deploy.sink, query.sinks) == (None, ())
    assert "# say: the type" in text and '# - "kafka:HOST:PORT/orders"' in text and '# sinks: ["delta:/a"]' in text


def test_an_offer_is_read_when_the_sign_is_taken_away():
    one = node(sink=Known(say="the sink", perhaps="foreachBatch", perhaps_sinks="delta:s3://lake/a"))
    text = draft(Graph((one,))).replace("    # sink", "    sink")
    (query,) = parse_query_file(text).queries.values()
    assert query.deploy.sink is not None and query.deploy.sink.kind == "foreachBatch"
    assert [sink.text for sink in query.sinks] == ["delta:s3://lake/a"]


def test_named_sources_keep_their_names():
    query = parsed(node(sources={"orders": Known("file:/in", PROOF), "1.5": Known()}))
    assert [(source.id, source.text) for source in query.deploy.sources or ()] == [("orders", "file:/in"), ("1.5", "")]


def test_a_source_names_who_writes_it():
    place = Place("delta", "s3://lake/a")
    reader = node("/cp/reader", {"0": Known(place.text, PROOF, place=place)})
    edge = Edge("/cp/writer", "/cp/reader", "0", place, PROOF)
    assert "# written by writer" in draft(Graph((node("/cp/writer"), reader), (edge,)))


def test_a_checkpoint_that_cannot_be_read_is_a_comment():
    odd = Node(Stream("/cp/odd", error="offsets/3 is\ntorn"), None, Known(), Known())
    text = draft(Graph((odd, node()), problems=("/t is no table",)))
    assert list(parse_query_file(text).queries) == ["q"]
    assert "# not read: offsets/3 is\\ntorn" in text and "# not read: /t is no table" in text
    assert parse_query_file(draft(Graph((odd,)))).queries == {}


@pytest.mark.parametrize(
    "secret",
    [
        "s3://user:hunter2hunter2@bucket/q",
        "abfss://c@a.dfs.core.windows.net/q?sig=hunter2hunter2",
        "s3://AKIAABCDEFGHIJKLMNOP/q",
    ],
)
def test_no_secret_is_written(secret):
    known = Known(f"delta:{secret}", (Proof(secret, "has it"),), say=f"read {secret}")
    for one in (node(secret), node(sources={"0": known}, sink=known), node(sink=Known(say=secret, perhaps=secret))):
        text = draft(Graph((one,), problems=(secret,)))
        assert "hunter2" not in text
        assert not [line for line in text.splitlines() if "AKIA" in line and not line.strip().startswith("#")]
        parse_query_file(text)


@given(st.text(min_size=1, max_size=40), st.text(max_size=40))
def test_any_name_is_one_value_of_one_line(location, said):
    known = Known("", (), said, f"file:{said}")
    one = node(f"/cp/{location}", {said or "0": known}, sink=known)
    text = draft(Graph((one,)))
    for line in text.splitlines():
        assert not line.strip() or line.lstrip().startswith(("#", "-", '"')) or ":" in line
    queries = parse_query_file(text).queries
    assert list(queries) in (list(names_in(Graph((one,))).values()), [])
