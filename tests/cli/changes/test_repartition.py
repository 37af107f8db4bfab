"""``ckpt repartition``, from end to end in this process; a forged Spark writes what a real one has written."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from tests.changes.repartition.forged_spark import (
    BATCH,
    GOLDEN,
    KEPT,
    PARTITIONS,
    Case,
    Forged,
    before_and_batch,
    put_in_place,
)

DO_IT = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]


@pytest.fixture
def case(golden_home) -> Case:
    return Case(*before_and_batch(golden_home(GOLDEN)))


def ckpt(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_plan_is_written_approved_and_carried_out(case, capsys, tmp_path, monkeypatch):
    spark = put_in_place(monkeypatch, Forged(case.checkpoint, case.batch))
    before, sink = case.files(), f"file:{case.output}"
    command = ["repartition", case.checkpoint, "--partitions", PARTITIONS, "--sink", sink]
    code, planned = ckpt(capsys, *command, "--plan-out", tmp_path / "plan.json")
    assert (code, planned["plan"]["kind"], planned["receipt"], case.files()) == (0, "repartition", None, before)
    assert spark.requests == [], "a plan needs no Spark"
    by_plan = ["repartition", case.checkpoint, "--plan", tmp_path / "plan.json", "--conf", "spark.driver.memory=1g"]
    code, applied = ckpt(capsys, *by_plan, "--approved-by", "ben", *DO_IT)
    assert (code, applied["receipt"]["status"], applied["receipt"]["batch_id"]) == (0, "applied", BATCH)
    assert spark.requests[0]["confs"]["spark.driver.memory"] == "1g"
    (change,) = ckpt(capsys, "history", case.checkpoint)[1]["changes"]
    assert (change["kind"], change["from_batch"], change["to_batch"]) == ("repartition", KEPT, BATCH)
    assert ckpt(capsys, "undo", case.checkpoint, *DO_IT)[0] == 0
    assert case.files().items() >= before.items()


def test_half_done_every_command_names_what_finishes_it(case, capsys, monkeypatch):
    put_in_place(monkeypatch, Forged(case.checkpoint, case.batch, 3))
    command = ["repartition", case.checkpoint, "--partitions", PARTITIONS, "--sink", "kafka"]
    code, failed = ckpt(capsys, *command, *DO_IT)
    assert (code, failed["error"]["code"]) == (5, "SPARK_FAILED")
    finish = f"ckpt repartition {case.checkpoint} --partitions {PARTITIONS}"
    assert finish in failed["error"]["hint"]
    assert ckpt(capsys, "show", case.checkpoint)[1]["unfinished_repartition"] == PARTITIONS
    run(["show", str(case.checkpoint)])
    assert finish in capsys.readouterr().out.replace("\n", " ")
    found = [item for item in ckpt(capsys, "check", case.checkpoint)[1]["findings"] if item["code"] == "CKPT119"]
    assert any(finish in command for command in found[0]["commands"])
    assert ckpt(capsys, "gate", case.checkpoint)[1]["spark_error"] == "STREAMING_UNFINISHED_REPARTITION_DETECTED"
    code, refused = ckpt(capsys, "repartition", case.checkpoint, "--partitions", 8)
    assert code == 4 and finish in refused["error"]["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--partitions", "0"],
        ["--partitions", "1_000"],
        ["--partitions", "5", "--plan", "p"],
        ["--partitions", "5", "--conf", "x"],
    ],
)
def test_what_makes_no_sense_is_a_usage_error(case, capsys, arguments):
    assert run(["repartition", str(case.checkpoint), *arguments]) == 2


def test_out_of_range_is_refused(case, capsys):
    assert ckpt(capsys, "repartition", case.checkpoint, "--partitions", 10_001)[0] == 4
