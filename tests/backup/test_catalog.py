"""Looking up backups: one that cannot be read hides no other, and nothing at all is never a success."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup import patience
from airflow_provider_ckpt.backup.catalog import find_backup, survey_backups
from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    BackupNotFoundError,
    BatchNotRestorableError,
    CheckpointError,
    PlanError,
)
from airflow_provider_ckpt.storage.store import Store
from tests.backup_lab import Query, files


@pytest.fixture
def query(goldens, tmp_path) -> Query:
    return Query(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "checkpoint")


@pytest.fixture
def root(tmp_path) -> Store:
    return Store.open(str(tmp_path / "backups"))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def foreign(path: Path) -> None:
    path.write_text('{"name": "a web application"}')


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def later(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 99}))


DAMAGE = [empty, cut, foreign, directory, later]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.sweep
def test_a_manifest_that_cannot_be_read_hides_no_other_backup(query, root, tmp_path, capsys, damage):
    backups = [query.back_up(root, batch) for batch in (3, 4, 5)]
    ids = [taken.backup_id for taken in backups]
    damage(tmp_path / "backups" / ids[1] / "manifest.json")
    assert run(["backups", root.location, "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [item["backup_id"] for item in document["backups"]] == [ids[0], ids[2]]
    assert [item["backup_id"] for item in document["unreadable"]] == [ids[1]] and ids[1] in captured.err
    assert find_backup(root).backup_id == ids[2] == find_backup(root, ids[2]).backup_id
    assert run(["verify", root.location, ids[1]]) == 3
    before = files(tmp_path / "backups")
    for execute in ([], ["--execute"]):
        assert run(["prune", root.location, "--keep-last", "1", *execute]) == 3
    assert files(tmp_path / "backups") == before, "what it names is not known, so nothing is swept"
    assert query.back_up(root).reused_bytes > 0


def test_nobody_gets_an_older_backup_for_the_latest_without_a_word(query, root, tmp_path):
    first, second = query.back_up(root, 3), query.back_up(root, 4)
    empty(tmp_path / "backups" / second.backup_id / "manifest.json")
    with pytest.raises(BackupCorruptError) as caught:
        find_backup(root)
    assert second.backup_id in str(caught.value) and f"latest readable one, {first.backup_id}" in str(caught.value)


def test_what_another_program_keeps_there_does_not_stand_in_the_way_of_the_latest(query, root, tmp_path):
    taken = query.back_up(root)
    (tmp_path / "backups" / "web").mkdir()
    (tmp_path / "backups" / "web" / "manifest.json").write_text("{}")
    assert find_backup(root) == taken
    assert list(survey_backups(root).unreadable) == ["web"]


@pytest.mark.s3
def test_an_empty_manifest_on_s3_is_a_corrupt_backup_and_hides_no_other(query, s3_store):
    root = s3_store("backups")
    first = query.back_up(root)
    root.write("20990101T000000.000Z-0/manifest.json", b"")
    listing = survey_backups(root)
    assert listing.backups == (first,)
    assert [type(error) for error in listing.unreadable.values()] == [BackupCorruptError]
    assert find_backup(root, first.backup_id) == first
    with pytest.raises(BackupCorruptError):
        make_prune(root, RetentionPolicy(keep_last=1))


def test_an_id_may_be_shortened_as_long_as_it_is_one(query, root):
    first, second = query.back_up(root, 3), query.back_up(root, 4)
    unique = next(i for i, (a, b) in enumerate(zip(first.backup_id, second.backup_id, strict=True), 1) if a != b)
    assert find_backup(root, second.backup_id[:unique]) == second
    with pytest.raises(BackupNotFoundError, match="2 backups have an id that begins with '20'") as caught:
        find_backup(root, "20")
    assert first.backup_id in caught.value.hint and second.backup_id in caught.value.hint
    for wrong in ("", "9", "../x"):
        with pytest.raises(BackupNotFoundError):
            find_backup(root, wrong)


def test_verify_and_restore_take_the_latest_by_default(query, root, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    query.back_up(root, 3)
    latest = query.back_up(root, 4, message="before the release")
    assert run(["verify", root.location]) == 0 and latest.backup_id in capsys.readouterr().out
    assert run(["restore", root.location, "--to", str(tmp_path / "new"), "--execute", "--accept-sink", "unknown"]) == 0
    assert observe(Store.open(str(tmp_path / "new"))).latest_committed == 4
    capsys.readouterr()
    assert run(["backups", root.location]) == 0
    out = capsys.readouterr().out
    assert "before the release" in out and "kB" in out and out.count("Z ") >= 2


# --- nothing there --------------------------------------------------------------------------------------------------

COMMANDS = {
    "backups": ["backups", "{}"],
    "verify": ["verify", "{}"],
    "restore": ["restore", "{}", "--to", "{}-new"],
    "prune": ["prune", "{}", "--keep-last", "1"],
    "fleet": ["fleet", "{}"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_at_all_is_no_success(query, tmp_path, capsys, command):
    (tmp_path / "empty").mkdir()
    places = {"typo": "does not exist", "empty": "empty"}
    if command != "fleet":
        places["checkpoint"] = "this is a checkpoint, not a backup root"
    for place, said in places.items():
        arguments = [text.format(tmp_path / place) for text in COMMANDS[command]]
        assert run(arguments) == 3, place
        assert (
            said if command != "fleet" or place == "typo" else "there is no checkpoint here"
        ) in capsys.readouterr().err
    if command in ("backups", "prune", "fleet"):
        assert run([*[text.format(tmp_path / "empty") for text in COMMANDS[command]], "--allow-empty"]) == 0


# --- places inside one another ----------------------------------------------------------------------------------------


def test_no_backup_is_written_into_its_checkpoint_or_around_it(query, tmp_path):
    (tmp_path / "alias").symlink_to(query.checkpoint)
    before = files(tmp_path)
    for place in ("checkpoint", "checkpoint/backups", "alias/backups", "."):
        with pytest.raises(PlanError, match="must not overlap"):
            query.back_up(Store.open(str(tmp_path / place)))
    assert files(tmp_path) == before
    query.back_up(Store.open(str(tmp_path / "checkpoint-backups")))


def test_no_restore_goes_into_a_backup_root_around_it_or_into_the_original(query, root, tmp_path):
    taken = query.back_up(root)
    (tmp_path / "alias").symlink_to(tmp_path / "backups")
    for place in ("backups/new", "alias/new", ".", "checkpoint/new"):
        with pytest.raises(CheckpointError, match="must not overlap|is inside|not empty"):
            make_restore(root, taken, Store.open(str(tmp_path / place)))
    shutil.rmtree(query.checkpoint)
    for place in ("checkpoint", "checkpoint/new"):
        make_restore(root, taken, Store.open(str(tmp_path / place)))


def test_a_restore_to_a_link_that_leads_nowhere_is_refused_before_anything_is_written(query, root, tmp_path):
    taken, link = query.back_up(root), tmp_path / "link"
    link.symlink_to(tmp_path / "lost")
    with pytest.raises(PlanError, match="is a symbolic link to .*lost, which does not exist") as refused:
        make_restore(root, taken, Store.open(str(link)))
    assert refused.value.location == str(link) and not (tmp_path / "lost").exists()
    (tmp_path / "lost").mkdir()
    assert make_restore(root, taken, Store.open(str(link))).actions


@pytest.mark.s3
def test_no_backup_on_s3_is_written_into_its_checkpoint(query, s3_store):
    there = s3_store("orders")
    for name, data in files(query.checkpoint).items():
        there.create(name, data)
    with pytest.raises(PlanError, match="must not overlap"):
        take_backup(there, s3_store("orders/backups"))
    take_backup(there, s3_store("orders-backups"))


def test_a_backup_root_inside_a_checkpoint_is_found(query, root, tmp_path):
    query.back_up(root)
    (tmp_path / "backups").rename(query.checkpoint / "backups")
    found = {item.code: item for item in inspect(query.store, deep=True)}
    assert found["CKPT162"].name == "backups"


# --- minBatchesToRetain=1 -------------------------------------------------------------------------------------------


@pytest.fixture
def running(query) -> Query:
    """Batch 6 is planned, 5 is committed, and Spark has purged offsets/4."""
    query.commit_up_to(6)
    for name in ("commits/6", "offsets/4"):
        (query.checkpoint / name).unlink()
    return query


class Committing(Store):
    """A checkpoint whose running batch is committed at the third look."""

    looks = 0

    def ls(self, directory="", **options):
        if directory == "commits":
            self.looks += 1
            if self.looks == 3:
                self.commit()
        return super().ls(directory, **options)


def test_a_backup_waits_for_the_commit_of_a_batch_that_runs(running, root, goldens):
    store = Committing.open(str(running.checkpoint))
    commit = goldens["4.3.0/agg-hdfs"] / "checkpoint" / "commits" / "6"
    store.commit = lambda: shutil.copy(commit, running.checkpoint / "commits" / "6")
    taken = take_backup(store, root)
    assert taken.batch_id == 6
    verify_backup(root, taken)


def test_when_it_is_not_committed_in_time_it_is_said_what_to_do(running, root):
    with pytest.raises(BatchNotRestorableError, match=r"Batch 6 was not committed within 0\.2 s") as caught:
        take_backup(running.store, root, commit_wait_s=0.2)
    assert "minBatchesToRetain" in caught.value.hint


class Clock:
    """Time that passes when somebody sleeps or copies."""

    def __init__(self) -> None:
        self.now, self.sleeps = 0.0, []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def test_the_wait_begins_when_there_is_something_to_wait_for(running, monkeypatch):
    """Not before a first copy that takes five minutes; and it asks once a second, as each answer is requests."""
    clock, copied = Clock(), []
    monkeypatch.setattr(patience, "time", clock)

    def copy() -> None:
        copied.append(clock.now)
        clock.now += 300
        raise patience._PurgedError("purged")

    with pytest.raises(BatchNotRestorableError):
        patience.Patience(running.store, 60.5).until_committed(copy)
    assert copied == [0] and clock.sleeps == [1.0] * 60 + [0.5]


@pytest.mark.parametrize("name", ["offsets/5", "metadata", "state/0/0/6.delta"])
def test_damage_is_not_waited_for(running, root, name):
    (running.checkpoint / name).unlink()
    with pytest.raises(BatchNotRestorableError, match=name) as caught:
        take_backup(running.store, root, commit_wait_s=0.2)
    assert "was not committed within" not in caught.value.hint


@pytest.fixture
def shared(query, root, tmp_path):
    """A root with backups of two queries; the newest is that of the other query."""
    own = query.back_up(root)
    other = tmp_path / "other"
    shutil.copytree(str(query.checkpoint), other)
    text = json.dumps({"id": "11111111-2222-3333-4444-555555555555"})
    (other / "metadata").write_text(text)
    (other / ".metadata.crc").unlink(missing_ok=True)
    return own, take_backup(Store.open(str(other)), root)


def test_the_latest_of_several_queries_is_refused_until_one_is_chosen(shared, root, tmp_path, capsys):
    own, other = shared
    for command in (["verify", root.location], ["restore", root.location, "latest", "--to", str(tmp_path / "new")]):
        assert run(command) == 4
        said = capsys.readouterr().err
        assert own.query_id in said and other.query_id in said and "--query-id" in said
        assert run([*command, "--query-id", own.query_id, "--json"]) == 0
        assert own.backup_id in capsys.readouterr().out
        assert run([*command, "--query-id", "none of them"]) == 3
        capsys.readouterr()
    assert find_backup(root, query_id=other.query_id) == other


def test_a_backup_that_is_named_beside_a_query_must_be_of_that_query(shared, root, tmp_path, capsys):
    own, other = shared
    for command in (["verify", root.location], ["restore", root.location, "--to", str(tmp_path / "new")]):
        assert run([*command, own.backup_id, "--query-id", other.query_id]) == 3
        said = capsys.readouterr().err
        assert f"{own.backup_id} is of query {own.query_id}, and not of {other.query_id}" in " ".join(said.split())
        assert run([*command, own.backup_id, "--query-id", own.query_id]) == 0
        capsys.readouterr()
    assert find_backup(root, own.backup_id, own.query_id) == own


def test_a_rollback_to_the_latest_means_that_of_its_own_query(shared, root, query, capsys):
    own, other = shared
    location = str(query.checkpoint)
    assert run(["rollback", location, "--to-backup", f"{root.location}/latest", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["batch_id"] == own.batch_id
    assert run(["rollback", location, "--to-backup", f"{root.location}/{other.backup_id}"]) == 4
    said = capsys.readouterr().err
    assert "Give a backup of this query" in said and "start the query there" not in said


@pytest.mark.parametrize("given", ["", None, 5], ids=repr)
def test_an_empty_id_is_not_the_latest(query, tmp_path, given):
    root = Store.open(str(tmp_path / "backups"))
    take_backup(query.store, root)
    with pytest.raises(BackupNotFoundError, match="is a text that is not empty"):
        find_backup(root, given)
    for command in (["verify", root.location, ""], ["restore", root.location, "", "--to", str(tmp_path / "new")]):
        assert run(command) == 3
