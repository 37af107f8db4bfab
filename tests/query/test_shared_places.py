"""What two queries of a file may share, and what not."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.query.shared_places import shared_places
from airflow_provider_ckpt.query.sink import parse_sink

#: Ways to write one place.
ONE_PLACE = (
    "/lake/c/orders",
    "/lake//c/orders/",
    "/lake/c/x/../orders",
    "file:/lake/c/orders",
    "file:///lake/c/./orders",
)


def problems(**queries: Query) -> list[tuple[str, ...]]:
    file = QueryFile(queries=queries)
    return [(*map(str, path), problem) for path, problem in shared_places(file.queries, {}, file.paths)]


@pytest.mark.parametrize(("one", "other"), permutations(ONE_PLACE, 2))
def test_one_checkpoint_has_one_name_however_it_is_written(one, other):
    assert problems(a=Query("a", one), b=Query("b", other)) == [
        ("queries", "b", "checkpoint", "the query a has the same checkpoint")
    ]
    text = f"format_version: 1\nqueries: {{a: {{checkpoint: '{one}'}}}}\n"
    assert (found := parse_query_file(text).find(other)) is not None and found.name == "a"


def test_one_root_of_backups_is_of_one_query():
    assert problems(a=Query("a", "/a", backups="/k"), b=Query("b", "/b", backups="file:/k/")) == [
        (
            *("queries", "b", "backups"),
            "a has the same, and ckpt prune of b would delete backups of the other as well; put {query} into it, which "
            "means the name",
        )
    ]


def test_one_root_of_records_may_be_of_several_queries():
    """Each checkpoint has a directory of its own there."""
    assert problems(a=Query("a", "/a", undo="/u", backups="/k/a"), b=Query("b", "/b", undo="/u", backups="/k/b")) == []


def writing(name: str, sink: str) -> Query:
    return Query(name, f"/ck/{name}", DeploySpec(sink=parse_sink(sink)))


@pytest.mark.parametrize(("one", "other"), permutations(ONE_PLACE, 2))
def test_one_output_directory_is_of_one_query(one, other):
    """A rollback of the one would take away the log of the other."""
    ((*path, problem),) = problems(a=writing("a", f"file:{one}"), b=writing("b", f"parquet:{other}"))
    assert path == ["queries", "b", "sink"]
    assert problem == (
        "a has the same sink, and a file sink is of one query: it goes by batch ids alone, and skips those that it has "
        "of another"
    )


@pytest.mark.parametrize("sink", ["kafka", "noop", "delta:/lake/orders"])
def test_what_knows_its_queries_or_forgets_them_may_be_of_several(sink):
    assert problems(a=writing("a", sink), b=writing("b", sink)) == []


def test_a_query_may_say_its_output_directory_twice():
    sink = parse_sink("file:/out")
    assert problems(a=Query("a", "/a", DeploySpec(sink=sink), sinks=(sink,))) == []


@pytest.mark.parametrize("key", ["backups", "undo"])
@pytest.mark.parametrize(
    ("root", "problem"),
    [
        ("/ck/b/k", "it is in the checkpoint of b; give a place outside of it"),
        ("file:/out/b", "it is in the sink of b; give a place outside of it"),
        ("/out/a/k", "it is in the sink of a; give a place outside of it"),
        ("/ck/bb", None),
        ("/out", None),
    ],
)
def test_no_root_is_in_the_checkpoint_or_the_output_of_a_query(key, root, problem):
    a = replace(writing("a", "file:/out/a"), **{key: root})
    found = problems(a=a, b=writing("b", "file:/out/b"))
    assert found == ([] if problem is None else [("queries", "a", key, problem)])
