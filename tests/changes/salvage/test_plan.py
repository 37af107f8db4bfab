"""The steps of a salvage: what they are, and that the checkpoint is closed around them."""

from __future__ import annotations

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.salvage.candidates import Candidate
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.plan import plan_salvage
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.bench import put_together
from tests.changes.salvage.damage import cut, drop, lose_rename

WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": ("duplicated", "skipped", "unknown")}


def steps(path, batch_id, last=None):
    plan = plan_salvage(put_together(path, Candidate(batch_id, last or batch_id)), 1)
    assert plan_from_dict(plan.to_dict()) == plan
    return [(action.do, action.name) for action in plan.actions]


def test_nothing_goes_where_nothing_is_wrong(golden):
    assert steps(golden("agg-hdfs"), 7) == []


def test_the_checkpoint_is_closed_behind_all_entries(golden):
    path = golden("agg-hdfs")
    (path / "offsets/11").mkdir()
    found = steps(path, 7)
    assert found == [("close", "offsets/12"), ("clear", "offsets/11"), ("open", "offsets/12")]


def test_the_batch_that_runs_again_keeps_its_entry(golden):
    path = golden("agg-hdfs")
    names = [name for _, name in steps(path, 6, 7)]
    assert {"commits/7", "state/0/0/8.delta", "state/0/1/8.delta"} <= set(names)
    assert not {"offsets/7", "offsets/.7.crc", "sources/0/5"} & set(names)
    assert "offsets/7" in [name for _, name in steps(path, 6)]


def test_what_is_broken_and_in_the_way_goes_once(golden):
    path = golden("agg-hdfs")
    cut(path / "state/0/0/8.delta")
    temporary = lose_rename(path / "state/0/1/8.delta")
    names = [name for _, name in steps(path, 6)]
    assert str(temporary.relative_to(path)) in names
    assert len(names) == len(set(names)) + 1, "the entry that closes it alone is there twice"


def test_entries_that_a_source_wrote_ahead_stay_but_none_behind_a_hole(golden):
    path = golden("file-to-parquet-5")
    log = path / "sources/0"
    (log / "5").write_text((log / "4").read_text().replace('"batchId":4', '"batchId":5'))
    assert steps(path, 4) == []
    (log / "5").rename(log / "7")
    assert [name for _, name in steps(path, 4)][1:-1] == ["sources/0/7"]


def test_pieces_come_after_what_goes(golden):
    path = golden("agg-hdfs")
    drop(path / "commits/7")
    found = put_together(path, Candidate(6, 6))
    found.tree.pieces["commits/6"] = Piece("commits/6", "known", 2, "", data="v1")
    plan = plan_salvage(found, 1)
    assert [(action.do, action.name) for action in plan.actions][-3:] == [
        ("delete", "commits/6"),
        ("create", "commits/6"),
        ("open", "offsets/8"),
    ]
    assert plan.last_kept == 6
    assert plan_salvage(put_together(path, Candidate(6, 7, keeps_state=True)), 1).last_kept == 7


def test_a_batch_near_the_first_is_taken_from_a_backup_while_the_checkpoint_is_closed(golden, tmp_path):
    path, root = golden("two-sources"), Store.open(str(tmp_path / "root"))
    stores = Stores(Store.open(str(path)), backups=root)
    apply(make_rollback(stores, 1), stores, **WORD)
    take_backup(stores.checkpoint, root, threads=1)
    apply(make_undo(stores), stores, **WORD)
    cut(path / "offsets/1")
    (path / "offsets/.1.crc").unlink()
    drop(path / "offsets/3")
    (path / "offsets/3").mkdir()
    plan = make_salvage(stores)
    assert plan.batch_id == 1
    assert [plan.actions[0].do, plan.actions[-1].do] == ["close", "open"]
    assert ("clear", "offsets/3") in [(action.do, action.name) for action in plan.actions]
    apply(plan, stores, **WORD)
    assert make_salvage(stores).actions == ()
