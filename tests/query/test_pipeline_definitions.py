"""Flows are read from the text of Python, which is not run; what may be otherwise makes them not whole."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.pipeline_definitions import Definitions

HEAD = "from pyspark import pipelines as dp\n"
WHOLE = """
TABLE = "bronze"
dp.create_streaming_table(TABLE, format="Delta")
dp.create_sink("out", "json", {"path": "/out", "n": 1})

@dp.append_flow(target=TABLE, name="early", spark_conf={"spark.sql.shuffle.partitions": "8"})
def early_files():
    return spark.readStream.format("json").load("/in")

@dp.append_flow(target=f"lake.db.`my.{TABLE}`")
def late():
    return spark.readStream.option("a", 1).table(TABLE).join(spark.read.table("dim"), "id")

@dp.table
def silver():
    return spark.readStream.table("db.bronze")

@dp.table(name="gold", comment=make())
def of_gold(): ...

@dp.materialized_view
def totals():
    return spark.read.table("gold")

dp.create_auto_cdc_flow(target="current", source="silver", keys=["id"], sequence_by="ts")
"""


def definitions(text: str, head: str = HEAD) -> Definitions:
    found = Definitions()
    found.add_python(head + text, "flows.py")
    return found


def test_what_a_file_defines():
    found = definitions(WHOLE)
    assert found.not_read == []
    assert [(flow.name, flow.target, flow.reads) for flow in found.flows] == [
        ("early", ("bronze",), ()),
        ("late", ("lake", "db", "my.bronze"), (("bronze",),)),
        ("silver", ("silver",), (("db", "bronze"),)),
        ("gold", ("gold",), ()),
        ("current", ("current",), (("silver",),)),
    ]
    assert found.flows[0].confs == {"spark.sql.shuffle.partitions": "8"}
    assert [(each.parts, each.format, each.is_sink, dict(each.options)) for each in found.targets] == [
        (("bronze",), "delta", False, {}),
        (("out",), "json", True, {"path": "/out", "n": "1"}),
        (("silver",), None, False, {}),
        (("gold",), None, False, {}),
    ]


def test_a_loop_over_texts_that_are_written_out_is_read():
    text = """
REGIONS = ["eu", "us"]
for region in REGIONS:
    dp.create_streaming_table(f"orders_{region}")
    for kind in ("a", "b"):
        @dp.append_flow(target=f"orders_{region}", name=f"{kind}_{region}")
        def flow(region=region):
            return spark.readStream.table(region)
"""
    found = definitions(text)
    assert [(flow.name, flow.target, flow.reads) for flow in found.flows] == [
        ("a_eu", ("orders_eu",), (("eu",),)),
        ("b_eu", ("orders_eu",), (("eu",),)),
        ("a_us", ("orders_us",), (("us",),)),
        ("b_us", ("orders_us",), (("us",),)),
    ]
    assert (len(found.targets), found.not_read) == (2, [])


@pytest.mark.parametrize(
    "head",
    [
        "import pyspark.pipelines as dp\n",
        "from pyspark import pipelines as dp\n",
        "import pyspark.pipelines\ndp = 1\n",
        "from pyspark.pipelines import table\n",
        "from pyspark.pipelines import *\n",
        "import pyspark\n",
        "try:\n    from pyspark import pipelines as dp\nexcept ImportError:\n    dp = None\n",
    ],
)
def test_the_module_by_each_of_its_names(head):
    called = {"from pyspark.pipelines": "@table", "import pyspark.pipelines\n": "@pyspark.pipelines.table"}
    called["import pyspark\n"] = "@pyspark.pipelines.table"
    decorator = next((said for begin, said in called.items() if head.startswith(begin)), "@dp.table")
    assert [flow.name for flow in definitions(f"{decorator}\ndef t(): ...\n", head).flows] == ["t"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("for t in ts:\n    @dp.table(name=t)\n    def f(): ...", "flows.py line 3: table is in a block"),
        (
            "for t in ['a', b]:\n    dp.create_streaming_table(t)",
            "flows.py line 3: create_streaming_table is in a block",
        ),
        (
            "for t in ['a']:\n    dp.create_streaming_table(t)\n    break",
            "flows.py line 3: create_streaming_table is in",
        ),
        ("t = 'a'\nt = t.lower()\ndp.create_streaming_table(t)", "flows.py line 4: create_streaming_table has a value"),
        (
            "t = 'a'\nif prod:\n    t = 'b'\ndp.create_streaming_table(t)",
            "flows.py line 5: create_streaming_table has a",
        ),
        ("if prod:\n    dp.create_streaming_table('a')", "flows.py line 3: create_streaming_table is in a block"),
        (
            "def make(t):\n    @dp.append_flow(target=t)\n    def f(): ...\n",
            "flows.py line 3: append_flow is in a block",
        ),
        ("@dp.append_flow(target=t)\ndef f(): ...", "flows.py line 2: append_flow of f has a value that is computed"),
        ("@dp.append_flow(**all)\ndef f(): ...", "flows.py line 2: append_flow of f has a value that is computed"),
        ("@dp.append_flow\ndef f(): ...", "flows.py line 2: append_flow of f has no name that can be read"),
        ("dp.create_sink(name(), 'json')", "flows.py line 2: create_sink has a value that is computed"),
        ("def (", "flows.py is no Python that can be read"),
        ("dp.create_streaming_table(f'{1}')", "flows.py line 2: create_streaming_table has a value"),
        ("t = 'a'\ndp.create_streaming_table(f'{t!r}')", "flows.py line 3: create_streaming_table has a value"),
        ("t = 'a'\ndp.create_streaming_table(f'{t:>5}')", "flows.py line 3: create_streaming_table has a value"),
        ("dp.create_streaming_table(name=paths.BRONZE)", "flows.py line 2: create_streaming_table has a value"),
        ("dp.create_streaming_table(c['catalog'] + '.t')", "flows.py line 2: create_streaming_table has a value"),
        ("@dp.foreach_batch_sink(name='s')\ndef f(b, i): ...", "flows.py line 2: foreach_batch_sink is no function of"),
        ("@dp.view\ndef f(): ...", "flows.py line 2: view is no function of pyspark.pipelines that is known here"),
        ("dp.apply_changes(target='t', source='s')", "flows.py line 2: apply_changes is no function of"),
        ("@dp.table\n@dp.expect('a', 'b')\ndef f(): ...", "flows.py line 3: expect is no function of"),
        ("@dp.table\ndef f():\n    return dp.read_stream('t')", "flows.py line 4: read_stream is no function of"),
        ("from lib import flows\nflows.make('a')", "flows.py line 3: flows.make is of a module that is not read"),
        ("import lib.flows\nfor t in ts:\n    lib.flows.make(t)", "flows.py line 4: lib.flows.make is of a module"),
        ("from . import lib\n@lib.bronze(name='a')\ndef f(): ...", "flows.py line 3: lib.bronze is of a module that"),
        ("import dlt", "flows.py line 2: dlt is of Databricks"),
        ("x = [dp.create_streaming_table(t) for t in ts]", "flows.py line 2: create_streaming_table is in a block"),
        ("print(dp.create_streaming_table('a'))", "flows.py line 2: create_streaming_table is in a block"),
    ],
)
def test_what_may_be_otherwise_is_said(text, says):
    assert [said[: len(says)] for said in definitions(text).not_read] == [says]


def test_what_other_modules_do_to_rows_defines_no_flow():
    text = """
import logging, requests
import pandas as pd
from pyspark.sql import functions as F
from lib import clean
logging.basicConfig()
LIMIT = clean.limit()

@dp.table
def t():
    return clean.rows(spark.readStream.table("s"))

dp.create_auto_cdc_flow("c", "t", ["id"], F.col("ts"), name="upserts", spark_conf={"a": 1})
"""
    found = definitions(text)
    assert (found.not_read, [flow.name for flow in found.flows]) == ([], ["t", "upserts"])
    assert (found.flows[1].target, found.flows[1].reads, found.flows[1].confs) == (("c",), (("t",),), {"a": "1"})


def test_a_file_of_sql_is_read_as_well():
    found = Definitions()
    found.add_sql(
        "CREATE STREAMING TABLE a.t;\nCREATE FLOW f AS INSERT INTO a.t SELECT * FROM STREAM s;\nDROP TABLE x", "a.sql"
    )
    assert [(flow.name, flow.target, flow.line) for flow in found.flows] == [("f", ("a", "t"), 2)]
    assert found.not_read == ["a.sql line 3: DROP TABLE x is no definition that is known here"]
