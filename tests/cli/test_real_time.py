"""Checkpoints of real-time mode through every command: sound as they are, and no effect on a sink is exact."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import read_all

#: The goldens, and what the gate says of the deploy that wrote them.
GOLDENS = ("real-time", "agg-real-time", "drop-duplicates-real-time")
NEWEST = 3
STOPPED = ["--i-know-it-is-stopped", "--quiet-period", "0"]
ACCEPTED = ["--accept-sink", "duplicated", "--accept-sink", "unknown"]


def ckpt(capsys, *arguments: object) -> tuple[int, dict]:
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("case", GOLDENS)
def test_a_golden_goes_through_every_command(golden_home, capsys, tmp_path, case):
    """The batch that was stopped is in no log: of the state it leaves temporary files alone, which are no damage."""
    checkpoint, root, moved = golden_home(case) / "checkpoint", tmp_path / "backups", tmp_path / "moved"
    store = Store.open(str(checkpoint))
    before = read_all(store)

    code, shown = ckpt(capsys, "show", checkpoint)
    assert (code, shown["latest_committed_batch"], shown["in_flight"]) == (0, NEWEST, None)
    code, checked = ckpt(capsys, "check", "--deep", checkpoint)
    assert [finding for finding in checked["findings"] if finding["severity"] != "note"] == []
    code, gated = ckpt(capsys, "gate", checkpoint, "--trigger", "realTime")
    assert {item["code"] for item in gated["findings"] if item["severity"] != "note"} == {"CKPT232"}
    assert gated["resumes_at_batch"] == NEWEST + 1

    assert ckpt(capsys, "backup", checkpoint, "--to", root)[0] == 0
    assert ckpt(capsys, "verify", root, "latest")[0] == 0
    restored = ["restore", root, "--to", moved, "--sink", "kafka", "--trigger", "realTime", "--execute", *ACCEPTED]
    assert ckpt(capsys, *restored)[0] == 0
    assert ckpt(capsys, "check", "--deep", moved)[0] == 0

    back = ["rollback", checkpoint, "--to-batch", 1, "--sink", "kafka", "--trigger", "realTime"]
    assert ckpt(capsys, *back, "--execute", *STOPPED, *ACCEPTED)[0] == 0
    assert ckpt(capsys, "check", "--deep", checkpoint)[0] == 0
    assert ckpt(capsys, "show", checkpoint)[1]["latest_committed_batch"] == 1
    assert ckpt(capsys, "undo", checkpoint, "--execute", *STOPPED, *ACCEPTED)[0] == 0
    assert read_all(store) == before


#: The effect of a rollback to the newest batch, and of the undo of a rollback, by the sink: as the logs say, and in
#: real-time mode.
EFFECTS = {
    "kafka": ("exact", "duplicated"),
    "foreach": ("exact", "unknown"),
    "foreachBatch": ("exact", "unknown"),
    "unknown": ("exact", "unknown"),
    None: ("exact", "unknown"),
    "console": ("exact", "exact"),
    "noop": ("exact", "exact"),
}


@pytest.mark.parametrize("sink", EFFECTS, ids=str)
@pytest.mark.parametrize("trigger", [None, "processingTime", "realTime"])
def test_the_effect_on_each_sink(golden_home, capsys, sink, trigger):
    checkpoint = golden_home("real-time") / "checkpoint"
    expected = EFFECTS[sink][trigger == "realTime"]
    about = [*(["--sink", sink] if sink else []), *(["--trigger", trigger] if trigger else [])]
    _, planned = ckpt(capsys, "rollback", checkpoint, "--to-batch", NEWEST, *about)
    (item,) = planned["plan"]["sink_effects"]
    assert (item["effect"], planned["plan"]["trigger"]) == (expected, trigger or "")
    assert expected == "exact" or item["remedy"]

    assert ckpt(capsys, "rollback", checkpoint, "--to-batch", 1, *about, "--execute", *STOPPED, *ACCEPTED)[0] == 0
    _, undo = ckpt(capsys, "undo", checkpoint)
    assert undo["sink_effect"] == expected, "the undo knows the trigger that was said for the rollback"


def test_a_word_for_the_undo_alone_is_enough(golden_home, capsys):
    checkpoint = golden_home("real-time") / "checkpoint"
    back = ["rollback", checkpoint, "--to-batch", 1, "--sink", "kafka", "--execute", *STOPPED, *ACCEPTED]
    assert ckpt(capsys, *back)[0] == 0
    assert ckpt(capsys, "undo", checkpoint)[1]["sink_effect"] == "exact"
    assert ckpt(capsys, "undo", checkpoint, "--trigger", "realTime")[1]["sink_effect"] == "duplicated"


#: What is said of the trigger, for an aggregation whose operator tells real-time mode; what a plan takes it to be.
SAID = {
    None: ("realTime", "duplicated"),
    "realTime": ("realTime", "duplicated"),
    "availableNow": ("availableNow", "exact"),
}


@pytest.mark.parametrize("said", SAID, ids=str)
def test_an_aggregation_tells_the_mode_unless_somebody_says_another(golden_home, capsys, tmp_path, said):
    checkpoint, root = golden_home("agg-real-time") / "checkpoint", tmp_path / "backups"
    about = ["--sink", "kafka", *(["--trigger", said] if said else [])]
    plan = ckpt(capsys, "rollback", checkpoint, "--to-batch", NEWEST, *about)[1]
    assert (plan["plan"]["trigger"], plan["sink_effect"]) == SAID[said]
    assert ckpt(capsys, "backup", checkpoint, "--to", root)[0] == 0
    plan = ckpt(capsys, "restore", root, "--to", tmp_path / "moved", *about)[1]["plan"]
    assert plan["trigger"] == SAID[said][0]


def test_other_operators_and_no_state_tell_nothing(golden_home, capsys):
    for case in ("real-time", "drop-duplicates-real-time"):
        plan = ckpt(capsys, "rollback", golden_home(case) / "checkpoint", "--to-batch", NEWEST, "--sink", "kafka")[1]
        assert (plan["plan"]["trigger"], plan["sink_effect"]) == ("", "exact")


def test_a_plan_that_waits_to_be_approved_keeps_its_trigger(golden_home, capsys, tmp_path):
    checkpoint, file = golden_home("real-time") / "checkpoint", tmp_path / "plan.json"
    about = ["--to-batch", 1, "--sink", "kafka", "--trigger", "realTime"]
    assert ckpt(capsys, "rollback", checkpoint, *about, "--plan-out", file)[0] == 0
    assert json.loads(file.read_text())["plan"]["trigger"] == "realTime"
    assert run(["rollback", str(checkpoint), "--plan", str(file), "--trigger", "realTime"]) == 2
    carried_out = ["rollback", checkpoint, "--plan", file, "--execute", *STOPPED, "--accept-sink", "duplicated"]
    assert ckpt(capsys, *carried_out)[0] == 0


def test_a_word_that_is_no_trigger_is_refused(golden_home):
    """A word in other letters must not mean that the query is in no real-time mode."""
    checkpoint = golden_home("real-time") / "checkpoint"
    with pytest.raises(PlanError, match="'realtime' is not a trigger; give one of .*realTime"):
        make_rollback(Stores(Store.open(str(checkpoint))), 1, trigger="realtime")
    assert run(["rollback", str(checkpoint), "--to-batch", "1", "--trigger", "realtime"]) == 2


def test_spark_takes_the_aggregation_of_one_mode_for_that_of_the_other(golden_home, capsys):
    """Real Spark has started both ways; the operators are the same to it, so the gate does not close for them."""
    for case, operator in (("agg-real-time", "stateStoreSave"), ("agg-rocksdb-v2", "StatefulStreamlineAggregate")):
        found = ckpt(capsys, "gate", golden_home(case) / "checkpoint", "--operator", operator)[1]["findings"]
        assert "CKPT230" not in {finding["code"] for finding in found}
