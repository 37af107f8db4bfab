"""Every kind of change, said again word by word: it answers that it was done, and changes nothing."""

from __future__ import annotations

import json
import shutil

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.sources.kafka import resolve_goal
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repair.fake_table import FakeTable
from tests.changes.repartition.forged_spark import GOLDEN, PARTITIONS, Case, Forged, before_and_batch, put_in_place
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.changes.salvage.damage import drop
from tests.kafka_query import KafkaQuery as OfTopics

WORD = ["--i-know-it-is-stopped", "--quiet-period", "0"]
ANY = [word for effect in ("unknown", "duplicated", "skipped") for word in ("--accept-sink", effect)]


@pytest.fixture
def ckpt(capsys):
    def call(*arguments):
        code = run([*map(str, arguments), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def rollback(home, golden, **_):
    return ["rollback", golden("two-sources"), "--to-batch", 1, *ANY, *WORD]


def undo(home, golden, ckpt, **_):
    words = rollback(home, golden)
    planned = ckpt(*words, "--execute")[1]["plan"]
    return ["undo", words[1], "--undoes", planned["plan_id"], *ANY, *WORD]


def sources(home, golden, **_):
    return ["sources", golden("two-sources"), "--as", "0=1", "--as", "1=0", *ANY, *WORD]


def fence(home, golden, **_):
    return ["fence", golden("two-sources")]


def salvage(home, golden, **_):
    place = golden("agg-hdfs")
    drop(place / "commits/6")
    drop(place / "commits/7")
    return ["salvage", place, "--sink", "kafka", *ANY, *WORD]


def repair(home, **_):
    table = FakeTable(home).run(12)
    table.forget("10")
    return ["repair", table.checkpoint, "--sink", f"file:{table.output}", *ANY, *WORD]


def reset(home, monkeypatch, **_):
    query = KafkaQuery(Store.open(str(home / "orders")))
    for batch_id in range(4):
        query.commit(batch_id)
    broker = broker_of(query)
    broker.spans["orders"] = {0: (5, 100), 1: (5, 100)}
    monkeypatch.setattr(resolve_goal, "KafkaBroker", lambda servers, config: broker)
    source = ["--source", "0=kafka:forged:9092", "--sink", "kafka"]
    return ["reset-offsets", query.store.location, *source, "--shift-by", -3, *ANY, *WORD]


def seed(home, **_):
    query = OfTopics(home / "old")
    for end in (10, 20, 30):
        query.commit({"t": {"0": end}})
    return ["seed", home / "new", "--from", query.checkpoint, "--source", "0=kafka", "--sink", "kafka", *ANY]


def repartition(home, golden_home, monkeypatch, **_):
    case = Case(*before_and_batch(golden_home(GOLDEN)))
    put_in_place(monkeypatch, Forged(case.checkpoint, case.batch))
    return ["repartition", case.checkpoint, "--partitions", PARTITIONS, "--sink", f"file:{case.output}", *ANY, *WORD]


def restore(home, golden, ckpt, **_):
    place = golden("two-sources")
    ckpt("backup", place, "--to", home / "backups")
    return ["restore", home / "backups", "latest", "--to", home / "new", "--sink", "noop", *ANY]


def restore_as_new_query(home, **more):
    return [*restore(home, **more), "--new-query-id"]


KINDS = [rollback, undo, sources, fence, salvage, repair, reset, seed, repartition, restore, restore_as_new_query]


def tree(home):
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_is_said_again_was_made(golden, golden_home, ckpt, tmp_path, monkeypatch, kind):
    home = tmp_path / "home"
    home.mkdir()
    words = kind(home, golden=golden, golden_home=golden_home, ckpt=ckpt, monkeypatch=monkeypatch)
    code, first = ckpt(*words, "--execute")
    assert (code, first["receipt"]["status"]) == (0, "applied"), first
    there = tree(tmp_path)
    code, again = ckpt(*words, "--execute")
    assert (code, again["receipt"]["status"], again["receipt"]["actions"]) == (0, "already_applied", 0), again
    assert tree(tmp_path) == there


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not fence])  # which has no plan file
def test_a_plan_file_that_is_carried_out_again_was_carried_out(golden, golden_home, ckpt, tmp_path, monkeypatch, kind):
    home, plan = tmp_path / "home", tmp_path / "plan.json"
    home.mkdir()
    words = kind(home, golden=golden, golden_home=golden_home, ckpt=ckpt, monkeypatch=monkeypatch)
    asked = [word for word in words if word not in ANY and word not in WORD]
    code, planned = ckpt(*asked, "--plan-out", plan)
    assert code == 0, planned
    place = words[1:2] if kind not in (restore, restore_as_new_query) else [words[1], "--to", words[4]]
    by_plan = [words[0], *place, "--plan", plan, *ANY, *(WORD if WORD[0] in words else []), "--execute"]
    code, first = ckpt(*by_plan)
    assert (code, first["receipt"]["status"]) == (0, "applied"), first
    there = tree(tmp_path)
    code, again = ckpt(*by_plan)
    assert (code, again["receipt"]["status"]) == (0, "already_applied"), again
    assert tree(tmp_path) == there


@pytest.mark.parametrize("kind", [seed, restore, restore_as_new_query])
def test_what_has_written_a_checkpoint_is_done_until_somebody_clears_that_away(
    golden, golden_home, ckpt, tmp_path, monkeypatch, kind
):
    home = tmp_path / "home"
    home.mkdir()
    words = kind(home, golden=golden, golden_home=golden_home, ckpt=ckpt, monkeypatch=monkeypatch)
    assert ckpt(*words, "--execute")[1]["receipt"]["status"] == "applied"
    newest = max((home / "new/commits").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.with_name(str(int(newest.name) + 1)).write_bytes(newest.read_bytes())
    there = tree(tmp_path)
    assert ckpt(*words, "--execute")[1]["receipt"]["status"] == "already_applied", "and its query has run since"
    assert tree(tmp_path) == there
    shutil.rmtree(home / "new")
    assert ckpt(*words, "--execute")[1]["receipt"]["status"] == "applied"
    assert (home / "new/metadata").exists()
