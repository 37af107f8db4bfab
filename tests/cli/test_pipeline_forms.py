"""Pipelines in the forms in which people write them: what is read is right, and what is not read is said."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.query_parser import parse_query_file
from tests.pipelines.shop import ckpt

HEAD = "from pyspark import pipelines as dp\n"
DEFS = "libraries: [{glob: {include: defs/**}}]"
SPARK = "spark_catalog/default"
#: Keys of the specification, files, the flows by where their checkpoints will be, and what is not read.
FORMS = {
    "sinks in a loop, comments with semicolons": (
        "# made by a script\nlibraries:\n  - glob:\n      include: pipelines/**",
        {
            "pipelines/1.sql": "-- raw; nothing else\nCREATE STREAMING TABLE raw COMMENT 'as; it' -- comes; so\n"
            "AS SELECT * FROM STREAM input;\n/* CREATE STREAMING TABLE no AS SELECT 1; */\n"
            "CREATE MATERIALIZED VIEW years AS SELECT count(*) FROM raw;\n",
            "pipelines/2.py": f"{HEAD}TABLES = ['raw', 'years']\nfor t in TABLES:\n"
            "    dp.create_sink(f'{t}_out', 'parquet', {'path': f'/out/{t}'})\n"
            "    @dp.append_flow(target=f'{t}_out', name=f'publish_{t}')\n"
            "    def publish(t=t):\n        return spark.readStream.table(t)\n",
        },
        [f"{SPARK}/raw/raw", "raw_out/publish_raw", "years_out/publish_years"],
        [],
    ),
    "one file, tables of a catalog of the session": (
        "database: default\nlibraries: [{glob: {include: src/pipeline.py}}]\nconfiguration:\n"
        "  spark.sql.catalog.local: org.apache.iceberg.spark.SparkCatalog",
        {
            "src/pipeline.py": f"{HEAD}@dp.table(name='local.db.orders', format='iceberg')\ndef orders(): ...\n"
            "@dp.table(name='local.db.totals')\ndef totals():\n    return spark.readStream.table('local.db.orders')\n",
            "src/other.py": f"{HEAD}@dp.table\ndef not_of_it(): ...\n",
        },
        ["local/db/orders/orders", "local/db/totals/totals"],
        [],
    ),
    "names from a module of the project": (
        DEFS,
        {
            "defs/lib/paths.py": "CLOCK = 'main.gold.clock'\n",
            "defs/clock.py": f"{HEAD}from defs.lib import paths\n@dp.table(name=paths.CLOCK)\ndef clock(): ...\n",
        },
        [],
        ["defs/clock.py line 3: table of clock has a value that is computed"],
    ),
    "two flows into a table of another database, in f-strings": (
        f"catalog: main\nschema: rides\n{DEFS}",
        {
            "defs/rides.py": f"{HEAD}catalog = 'main'\nspace = f'{{catalog}}.silver'\n"
            "dp.create_streaming_table(name=f'{space}.rides', table_properties={'quality': 'silver'})\n"
            "@dp.append_flow(target=f'{space}.rides', name='bulk')\ndef rides_bulk(): ...\n"
            "@dp.append_flow(target=f'{space}.rides')\ndef rides_stream(): ...\n",
        },
        ["main/silver/rides/bulk", "main/silver/rides/rides_stream"],
        [],
    ),
    "a loop that computes the names of its flows": (
        DEFS,
        {
            "defs/a.py": "import pyspark.pipelines as sdp\nsdp.create_streaming_table('claims')\nfor r in ['EU', 'US']:\n"
            "    @sdp.append_flow(target='claims', name=f'of_{r.lower()}')\n    def flow(r=r): ...\n",
        },
        [],
        ["defs/a.py line 4: append_flow of flow has a value that is computed"] * 2,
    ),
    "functions that only Databricks has": (
        DEFS,
        {
            "defs/gps.py": f"{HEAD}@dp.table(name='seen')\n@dp.expect_or_drop('a', 'b')\ndef seen(): ...\n"
            "@dp.foreach_batch_sink(name='kept')\ndef kept(batch, batch_id): ...\n"
            "@dp.append_flow(target='kept', name='to_kept')\ndef to_kept(): ...\n",
        },
        [f"{SPARK}/seen/seen"],
        [
            "defs/gps.py line 3: expect_or_drop is no function of pyspark.pipelines that is known here",
            "defs/gps.py line 5: foreach_batch_sink is no function of pyspark.pipelines that is known here",
            "defs/gps.py line 8: to_kept writes to kept, which no file that was read defines, so where its checkpoint is,",
        ],
    ),
    "AUTO CDC in both languages": (
        f"{DEFS}\nconfiguration: {{spark.sql.sources.default: iceberg}}",
        {
            "defs/a.py": f"{HEAD}from pyspark.sql import functions as F\n@dp.temporary_view()\ndef changes(): ...\n"
            "dp.create_streaming_table(name='customer')\ndp.create_auto_cdc_flow(target='customer', source='changes',\n"
            "    keys=['id'], sequence_by='v', apply_as_deletes=F.expr(\"op = 'd'\"), stored_as_scd_type=1)\n",
            "defs/b.sql": "CREATE STREAMING TABLE people;\nCREATE FLOW people_cdc AS AUTO CDC INTO\n  people\n"
            "FROM STREAM(raw)\nKEYS (id)\nAPPLY AS DELETE WHEN op = 'D'\nSEQUENCE BY ts\nSTORED AS SCD TYPE 1;\n",
        },
        [f"{SPARK}/customer/customer", f"{SPARK}/people/people_cdc"],
        [],
    ),
    "another catalog in the middle of a file": (
        DEFS,
        {
            "defs/a.sql": "SET spark.a = 4;\nCREATE STREAMING TABLE a AS SELECT * FROM STREAM r;\nUSE CATALOG lake;\nUSE b;"
        },
        [f"{SPARK}/a/a"],
        ["defs/a.sql line 3: behind USE CATALOG lake names are of another catalog or database"],
    ),
    "a stub for tests, a guard, several libraries": (
        "libraries:\n  - glob:\n      include: defs/**\n  - glob: {include: one/more.sql}",
        {
            "defs/a.py": "try:\n    from pyspark import pipelines as dp\nexcept ImportError:\n    class _Stub:\n"
            "        def table(self): return lambda f: f\n    dp = _Stub()\n@dp.table()\ndef events():\n"
            "    return clean(spark.readStream.table('raw'))\nif __name__ == '__main__':\n    print('no pipeline')\n",
            "one/more.sql": "CREATE OR REFRESH STREAMING TABLE `late events` AS SELECT * FROM STREAM(events);",
        },
        [f"{SPARK}/events/events", f"{SPARK}/late%20events/late%20events"],
        [],
    ),
    "a function of another module that makes flows": (
        DEFS,
        {
            "defs/a.py": f"{HEAD}from company import flows\n@dp.table\ndef a(): ...\nfor t in ('b', 'c'):\n    flows.add(t)\n"
        },
        [f"{SPARK}/a/a"],
        ["defs/a.py line 6: flows.add is of a module that is not read, and may define flows"] * 2,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_a_pipeline(form, tmp_path, monkeypatch, capsys):
    keys, files, flows, not_read = FORMS[form]
    storage = tmp_path / "storage"
    (tmp_path / "spark-pipeline.yml").write_text(f"name: shop\nstorage: file://{storage}\n{keys}\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPT_FILE", raising=False)
    assert run(["init", "spark-pipeline.yml"]) == 0
    text = (tmp_path / "ckpt.yaml").read_text()
    assert parse_query_file(text).pipelines["shop"].flows == {}
    assert text.count("# never ran: flow") == len(flows)
    said = [line.partition("# not read whole: ")[2] for line in text.splitlines() if "# not read whole: " in line]
    assert [whole.startswith(begin) for whole, begin in zip(said, not_read, strict=True)] == [True] * len(said), said
    capsys.readouterr()
    assert run(["gate", "shop"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.removeprefix("Not read whole: ").rstrip(".") for line in told] == said
    code, gated = ckpt(capsys, "gate", "shop")
    pipeline, *others = gated["checkpoints"]
    assert (code, gated["decision"]) == (0, "warn")
    assert [row["location"] for row in others] == [f"{storage}/_checkpoints/{flow}/0" for flow in sorted(flows)]
    assert pipeline["unknown"] == (["definitions of flows"] if not_read else [])
    assert {finding["code"] for finding in pipeline["findings"]} <= {"CKPT157", "CKPT209"}
