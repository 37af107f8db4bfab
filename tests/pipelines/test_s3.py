"""A pipeline of real Spark whose storage, tables and sink are in an S3 API."""

from __future__ import annotations

import pytest

from tests.changes.fence.driver import JARS, s3_confs
from tests.pipelines.remote import TO_SINK, Remote, confs
from tests.pipelines.server import connect_server
from tests.pipelines.shop import ckpt, severities

OF_FILE = """storage: {{options: {{endpoint_url: "{url}"}}}}
paths: {{"s3a://shop": "s3://shop"}}
"""
BELOW = "s3://shop/storage/_checkpoints/"


@pytest.fixture
def pipeline(s3_server, s3_driver, tmp_path, monkeypatch):
    """A project with its server."""
    s3_driver.mkdir("shop")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("CKPT_FILE", raising=False)
    given = {
        **{f"spark.hadoop.fs.s3a.{key}": value for key, value in s3_confs(s3_server).items()},
        "spark.sql.warehouse.dir": "s3a://shop/warehouse",
        "spark.sql.shuffle.partitions": "2",
        "spark.jars": ",".join(str(jar) for jar in sorted(JARS.glob("*.jar"))),
    }
    made = Remote(
        tmp_path,
        below="s3a://shop/storage",
        definitions=TO_SINK.format(format="json", path="s3a://shop/out"),
        of_file=OF_FILE.format(url=s3_server),
    )
    made.write()
    monkeypatch.chdir(tmp_path)
    with connect_server(tmp_path, *confs(given)) as made.port:
        yield made


def gated(capsys, *words):
    """The findings of the pipeline and of each flow, and the worst decision."""
    _, document = ckpt(capsys, "gate", "shop", *words)
    rows = {item["location"].removeprefix(BELOW): severities(item) for item in document["checkpoints"]}
    return rows, document["decision"]


def test_a_pipeline_over_an_s3_api(pipeline, capsys):
    pipeline.add("in", range(3))
    storage = "s3://shop/storage"
    above = "spark_catalog/default"
    flows = [f"{above}/bronze/bronze/0", f"{above}/silver/silver/0", "out/to_out/0"]
    assert gated(capsys) == ({storage: {"CKPT209": "warning"}, **{flow: {} for flow in flows}}, "warn")
    assert pipeline.run()[0] == 0
    assert gated(capsys) == ({storage: {}, **{flow: {} for flow in flows}}, "warn")
    code, fleet = ckpt(capsys, "fleet", "shop")
    assert (code, sorted(row["location"] for row in fleet["checkpoints"])) == (
        0,
        sorted(BELOW + flow for flow in flows),
    )
    assert ckpt(capsys, "show", "shop.to_out")[1]["latest_committed_batch"] == 0
    pipeline.add("in", range(3, 5))
    assert pipeline.run()[0] == 0
    rows, decision = gated(capsys, "--full-refresh", "all")
    assert (rows, decision) == ({storage: {"CKPT217": "warning"}}, "warn")
    assert pipeline.run("--full-refresh-all")[0] == 0
    rows, decision = gated(capsys)
    assert (rows["out/to_out/1"]["CKPT140"], decision) == ("error", "block"), "its sink has dropped what was read again"
    pipeline.definitions = pipeline.definitions.replace('"out", name="to_out"', '"out", name="renamed"')
    pipeline.write()
    rows, decision = gated(capsys)
    assert (rows[storage], rows["out/renamed/0"]["CKPT207"], decision) == ({"CKPT208": "note"}, "error", "block")
