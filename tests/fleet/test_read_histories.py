"""The changes of every checkpoint below a root, and which of them are asked for."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.fleet.read_histories import Asked, is_checkpoint, read_histories
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

DONE = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "duplicated"]


@pytest.fixture
def lake(tmp_path, capsys):
    """Three checkpoints, of which two were rolled back."""
    for name in ("a", "b", "c"):
        query = FakeQuery(Store.open(str(tmp_path / "lake" / name)))
        for batch_id in range(4):
            query.commit(batch_id)
    for name, batch_id in (("a", "2"), ("b", "1")):
        where = str(tmp_path / "lake" / name)
        assert run(["rollback", where, "--to-batch", batch_id, "--sink", "kafka", *DONE]) == 0
    capsys.readouterr()
    return tmp_path / "lake"


def test_a_root_has_the_changes_of_all_below_it(lake):
    found = list(read_histories([Store.open(str(lake))]))
    assert [(item.location.rpartition("/")[2], len(item.records)) for item in found] == [("a", 1), ("b", 1), ("c", 0)]
    assert is_checkpoint(Store.open(str(lake / "a"))) and not is_checkpoint(Store.open(str(lake)))


def test_the_command_tells_them_apart_by_their_location(lake, capsys):
    assert run(["history", str(lake), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["checkpoints"] == 3
    assert [change["location"].rpartition("/")[2] for change in document["changes"]] == ["a", "b"], "by time"
    assert run(["history", str(lake)]) == 0
    out = capsys.readouterr().out
    assert f"Changes of {lake}/a" in out and f"Changes of {lake}/b" in out
    assert f"2 changes, of 2 of the 3 checkpoints below {lake}." in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--since", "now-1h"], 2),
        (["--since", "now+1h"], 0),
        (["--until", "now-1h"], 0),
        (["--until", "now+1h", "--by", "NOBODY-OF-THIS-NAME"], 0),
        (["--by", "@"], 2),
    ],
)
def test_changes_are_chosen_by_time_and_by_name(lake, options, count, capsys):
    assert run(["history", str(lake), "--json", *options]) == 0
    assert len(json.loads(capsys.readouterr().out)["changes"]) == count
    run(["history", str(lake), *options])
    assert ("other changes to" in capsys.readouterr().out) == (count < 2)


def test_where_nothing_was_done_says_of_how_many_checkpoints(tmp_path, capsys):
    for name in ("a", "b"):
        FakeQuery(Store.open(str(tmp_path / "lake" / name))).commit(0)
    assert run(["history", str(tmp_path / "lake")]) == 0
    assert "There is no record of a change to the 2 checkpoints below" in capsys.readouterr().out
    assert run(["history", str(tmp_path / "lake/a")]) == 0
    assert "There is no record of a change to" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["empty", "nowhere"])
def test_where_no_checkpoint_is_nobody_says_that_nothing_was_done(name, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert run(["history", str(tmp_path / name)]) == 3
    assert "There is no record of a change to" not in capsys.readouterr().out


def test_a_checkpoint_that_is_gone_keeps_its_history(lake, capsys):
    (lake / "a").rename(lake.parent / "gone")
    assert run(["history", str(lake / "a"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["changes"]) == 1


def test_a_change_is_wanted_by_when_it_began_and_by_whose_it_is():
    plan = Plan("rollback", "/c", "q", 3, 1_000, (), ())
    record = Record(plan, "applied", "/r", by="Ann@host", begun_at_ms=2_000, approved_by="ben")
    assert Asked(2_000, 2_001, "ann").wants(record) and Asked(by="BEN").wants(record)
    assert (
        not Asked(2_001).wants(record) and not Asked(until_ms=2_000).wants(record) and not Asked(by="eve").wants(record)
    )
    assert Asked(1_000, 1_001).wants(Record(plan, "planned", "/r")), "by its plan where nobody said when it began"
