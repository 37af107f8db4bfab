"""Statements of SQL that define tables and flows; names in backticks, comments and texts among them."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.pipeline_sql import Statement, identifier, read_sql

SELECT = "SELECT * FROM STREAM src"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("bronze", ("bronze",)),
        ("lake.sales.`my.table`", ("lake", "sales", "my.table")),
        ("`a``b` . c", ("a`b", "c")),
        ("a b", ()),
        ("", ()),
    ],
)
def test_the_parts_of_a_name(text, parts):
    assert identifier(text) == parts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CREATE STREAMING TABLE t", Statement(1, ("t",))),
        (
            f"create or refresh streaming table d.t AS {SELECT}",
            Statement(1, ("d", "t"), None, ("d", "t"), ("d", "t"), (("src",),)),
        ),
        ("CREATE STREAMING TABLE IF NOT EXISTS t USING DELTA", Statement(1, ("t",), "delta")),
        (
            f"CREATE STREAMING TABLE `my.t` (id INT COMMENT 'AS SELECT') USING `delta` AS {SELECT}",
            Statement(1, ("my.t",), "delta", ("my.t",), ("my.t",), (("src",),)),
        ),
        (
            "CREATE FLOW f COMMENT 'x' AS INSERT INTO c.d.t BY NAME SELECT * FROM STREAM(a.`b c`) JOIN STREAM b",
            Statement(1, flow=("f",), target=("c", "d", "t"), reads=(("a", "b c"), ("b",))),
        ),
        ("-- CREATE FLOW x\n\n/* y; */ CREATE STREAMING TABLE t;", Statement(3, ("t",))),
    ],
)
def test_a_definition(text, found):
    assert list(read_sql(text)) == [found]


def test_views_are_no_flows_and_what_is_not_known_is_said():
    text = (
        "SET a = 'b;c';\nCREATE MATERIALIZED VIEW v AS SELECT 1;\nCREATE TEMPORARY VIEW w AS SELECT 1;\nDROP TABLE x;"
    )
    assert [(found.line, found.unread) for found in read_sql(text)] == [
        (1, "SET a = is no definition that is known here"),
        (4, "DROP TABLE x is no definition that is known here"),
    ]


def test_a_conf_is_of_the_flows_behind_it():
    text = f"CREATE STREAMING TABLE a AS {SELECT};\nSET spark.b=8;\nSET spark.c = x y ;\nCREATE STREAMING TABLE d AS {SELECT}"
    assert [found.confs for found in read_sql(text)] == [{}, {"spark.b": "8", "spark.c": "x y"}]


@pytest.mark.parametrize("moves", ["USE lake", "use catalog lake", "USE lake.db", "SET CATALOG lake"])
def test_names_behind_another_catalog_are_not_known(moves):
    text = f"CREATE STREAMING TABLE a;\n{moves};\nCREATE STREAMING TABLE b AS {SELECT}"
    known, moved = read_sql(text)
    assert (known.table, moved.line) == (("a",), 2)
    assert moved.unread == f"behind {' '.join(moves.split()[:3])} names are of another catalog or database"
