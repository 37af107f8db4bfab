"""Pipelines whose tables are of Delta and of Iceberg, in the newest Spark that both formats have jars for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.remote import TO_SINK, TWO_FLOWS, Remote, confs
from tests.pipelines.server import connect_server
from tests.pipelines.shop import ckpt, severities

ROOT = Path(__file__).parents[2]
PYTHON = str(ROOT / ".venv-lakes/bin/python")
PACKAGES = [line for line in (ROOT / "tests/sinks/lakes.txt").read_text().splitlines() if line.count(":") == 2]
DELTA = "configuration: {spark.sql.sources.default: delta}\n"
ICEBERG = "catalog: lake\ndatabase: db\nconfiguration: {spark.sql.sources.default: iceberg}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The directory and the port of a server."""
    root = tmp_path_factory.mktemp("lakes")
    given = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"{root}/lake",
        "spark.sql.shuffle.partitions": "2",
    }
    with connect_server(root, *confs(given), "--packages", ",".join(PACKAGES), python=PYTHON) as port:
        yield root, port


@pytest.fixture
def pipeline(server, tmp_path, monkeypatch):
    """Makes a project of the server, and goes there."""

    def make(**given):
        made = Remote(tmp_path / "shop", port=server[1], python=PYTHON, version="4.1", **given)
        made.add("in", range(3))
        made.add("late", range(10, 13))
        made.write()
        monkeypatch.chdir(made.root)
        monkeypatch.delenv("CKPT_FILE", raising=False)
        return made

    return make


def gated(capsys, *words):
    """The findings of the pipeline and of each flow, by what is behind _checkpoints, and the worst decision."""
    code, document = ckpt(capsys, "gate", "shop", *words)
    rows = {item["location"].partition("_checkpoints/")[2]: severities(item) for item in document["checkpoints"]}
    return rows, document["decision"], code


def flows_below(capsys, made):
    """The flows that ``ckpt fleet`` finds, with what has replaced each."""
    rows = ckpt(capsys, "fleet", made.storage)[1]["checkpoints"]
    below = f"{made.storage}/_checkpoints/"
    return {row["location"].removeprefix(below): (row["replaced_by"] or "").removeprefix(below) or None for row in rows}


def test_tables_of_delta(pipeline, server, capsys):
    sink = TO_SINK.partition("dp.create_sink")[2].format(format="delta", path=f"{server[0]}/out")
    made = pipeline(spec=DELTA, definitions=f"{TWO_FLOWS}\ndp.create_sink{sink}")
    above = "spark_catalog/default"
    rows, decision, _ = gated(capsys)
    assert (rows[""], decision) == ({"CKPT209": "warning"}, "warn"), "two flows into a table of Delta are no mistake"
    code, out = made.run()
    assert code == 0, out[-3_000:]
    rows, decision, _ = gated(capsys)
    flows = [f"{above}/bronze/early/0", f"{above}/bronze/late/0", f"{above}/silver/silver/0", "out/to_out/0"]
    assert (rows, decision) == ({"": {}, **{flow: {} for flow in flows}}, "warn"), "sources are not declared"
    assert flows_below(capsys, made) == dict.fromkeys(flows)
    names = [item["name"] for item in ckpt(capsys, "queries")[1]["queries"]]
    assert sorted(names) == ["shop.early", "shop.late", "shop.silver", "shop.to_out"]
    made.add("in", range(3, 5))
    assert made.run()[0] == 0
    assert made.sql("SELECT count(DISTINCT id), count(*) FROM bronze") == [[8, 8]]
    rows, _, _ = gated(capsys, "--full-refresh", "bronze")
    assert rows[""] == {"CKPT217": "warning"} and f"{above}/bronze/early/0" not in rows
    assert made.run("--full-refresh", "bronze")[0] == 0
    later = {f"{above}/bronze/{flow}/0": f"{above}/bronze/{flow}/1" for flow in ("early", "late")}
    assert flows_below(capsys, made) == {**dict.fromkeys(flows), **later, **dict.fromkeys(later.values())}
    assert ckpt(capsys, "show", "shop.early")[1]["location"].endswith("/bronze/early/1")
    made.definitions = made.definitions.replace("@dp.table\n", "@dp.table(format='delta')\n")
    made.spec = ""
    made.write()
    assert gated(capsys)[0][""]["CKPT216"] == "warning"
    code, out = made.run()
    assert code != 0 and "DELTA_CANNOT_CHANGE_PROVIDER" in out, out[-3_000:]


def test_tables_of_iceberg(pipeline, server, capsys):
    made = pipeline(spec=ICEBERG)
    made.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    rows, decision, _ = gated(capsys)
    assert (rows[""], decision) == ({"CKPT209": "warning"}, "warn"), "two flows into a table of Iceberg are no mistake"
    code, out = made.run()
    assert code == 0, out[-3_000:]
    flows = ["lake/db/bronze/early/0", "lake/db/bronze/late/0", "lake/db/silver/silver/0"]
    assert flows_below(capsys, made) == dict.fromkeys(flows)
    rows, decision, _ = gated(capsys)
    assert (rows, decision) == ({"": {}, **{flow: {} for flow in flows}}, "warn"), "sources are not declared"
    place = f"{{sink: 'iceberg:{server[0]}/lake/db/bronze'}}"
    made.flows_of = f", flows: {{early: {place}, late: {place}}}"
    made.write()
    assert gated(capsys)[0] == {"": {}, **{flow: {} for flow in flows}}, "a table that tells its writers apart"
    made.add("in", range(3, 5))
    assert made.run()[0] == 0
    assert made.sql("SELECT count(DISTINCT id), count(*) FROM lake.db.bronze") == [[8, 8]]
    assert gated(capsys, "--full-refresh", "all")[0] == {"": {"CKPT217": "warning"}}
    code, out = made.run("--full-refresh-all")
    assert code != 0 and "Cannot process delete snapshot" in out, out[-3_000:]
    later = {flow: f"{flow[:-1]}1" for flow in flows[:2]}
    found = flows_below(capsys, made)
    assert later.items() <= found.items() and found.keys() >= {*later.values()}
