"""Files that ckpt does not know: backed up last, restored as they were, left by a rollback, and always named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup import manifest
from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.relocation import PathRule
from airflow_provider_ckpt.backup.take import UNKNOWN_ATTEMPTS, plan_of_backup, take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import PlanError, StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.backup_lab import Query, assert_whole, files
from tests.oracle.mutations import mutate

UNKNOWN = {
    "_schema_log_abc/0": b"v1\n{}",
    "_schemas/__tmp_path_dir/x": b"",
    "_schemas/0": b"v1 /data/in/x.json",
    "offsets/notes.txt": b"look here",
    "offsets/7.tmp": b"not Spark's",
    "sources/0/rocksdb/logs/000004.log": b"\0\1",
    "state/0/0/foo": b"foo",
    "a b/100% ü\\x..": b"odd",
    ".hidden": b"h",
    "_spark_metadata/0": b"v1\nfile:///data/in/a",
}


def put(checkpoint: Path, contents: dict[str, bytes] = UNKNOWN) -> None:
    for name, data in contents.items():
        (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / name).write_bytes(data)


@pytest.fixture
def query(goldens, tmp_path) -> Callable[[str], Query]:
    return lambda case="agg-hdfs", name="checkpoint": Query(goldens[f"4.3.0/{case}"] / "checkpoint", tmp_path / name)


@pytest.fixture
def root(tmp_path) -> Store:
    return Store.open(str(tmp_path / "backups"))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("jars/app.zip", 20 << 20),
        ("jars/metadata", 100 << 10),
        ("jars/.app.zip.crc", 2 << 20),
        ("_metadata/x", 5 << 20),
    ],
)
def test_unknown_files_have_any_size(query, root, tmp_path, name, size):
    """The limits are those of Spark's files, whatever an unknown one is called."""
    orders = query()
    put(orders.checkpoint, {name: b"\0" * size, "jars/app.zip": b"\0" * (20 << 20)})
    taken = orders.back_up(root)
    assert name in {item.name for item in taken.objects}
    assert not [finding for finding in verify_backup(root, taken) if finding.severity == "error"]
    target = Store.open(str(tmp_path / "restored"))
    restore(make_restore(root, taken, target, "fork"), root, target, accept_sink="unknown")
    assert (tmp_path / "restored" / name).stat().st_size == size


class Touching(Store):
    """A checkpoint in which somebody writes when an object was copied."""

    def copy(self, name, to, to_name, **options):
        copied = super().copy(name, to, to_name, **options)
        self.on_copy(name)
        return copied


def touching(location: Path, on_copy: Callable[[str], None]) -> Touching:
    store = Touching.open(str(location))
    store.on_copy = on_copy
    return store


@pytest.mark.parametrize("case", ["agg-hdfs", "file-to-parquet-5"])
def test_unknown_files_are_backed_up_verified_and_restored(query, root, tmp_path, case):
    orders = query(case)
    put(orders.checkpoint)
    taken = orders.back_up(root)
    assert set(taken.unknown) == UNKNOWN.keys() and taken.unknown_changed == ()
    assert [item.name for item in taken.objects][-len(UNKNOWN) :] == list(taken.unknown), "they are copied last"
    findings = verify_backup(root, taken)
    assert next(finding.message for finding in findings if finding.code == "CKPT160").startswith("10 files")
    target = Store.open(str(tmp_path / "restored"))
    plan = make_restore(root, taken, target, "fork", path_rules=[PathRule("/data/in", "/data/other")])
    assert any("10 files that ckpt does not know are restored unchanged" in warning for warning in plan.warnings)
    restore(plan, root, target, accept_sink="unknown")
    there = files(tmp_path / "restored")
    assert {name: there[name] for name in UNKNOWN} == UNKNOWN


def test_a_second_backup_refers_to_those_that_did_not_change(query, root):
    orders = query()
    put(orders.checkpoint)
    orders.back_up(root)
    (orders.checkpoint / "_schemas" / "0").write_bytes(b"changed")
    (orders.checkpoint / "_schemas" / "1").write_bytes(b"new")
    second = orders.back_up(root)
    own = {item.name for item in second.objects if item.stored_at.startswith(second.backup_id)} & {*second.unknown}
    assert own == {"_schemas/0", "_schemas/1"}
    assert_whole(root)


@pytest.mark.parametrize("times", [1, UNKNOWN_ATTEMPTS - 1])
def test_what_changes_while_it_is_copied_is_copied_anew(query, root, times):
    orders, seen = query(), []
    put(orders.checkpoint)

    def on_copy(name: str) -> None:
        if name == "_schemas/0" and len(seen) < times:
            seen.append(name)
            put(orders.checkpoint, {"_schemas/0": b"a later moment" * len(seen)})

    taken = take_backup(touching(orders.checkpoint, on_copy), root, threads=1)
    stored = next(item for item in taken.objects if item.name == "_schemas/0")
    assert taken.unknown_changed == () and root.read(stored.stored_at) == b"a later moment" * times
    assert_whole(root)


@pytest.mark.parametrize("change", ["write", "add", "remove"])
def test_what_keeps_changing_is_kept_and_said_to_be_of_another_moment(query, root, capsys, change):
    orders, count = query(), []
    put(orders.checkpoint)

    def on_copy(name: str) -> None:
        count.append(name)
        if change == "remove" and name == "_schema_log_abc/0":
            (orders.checkpoint / "_schemas/0").unlink(missing_ok=True)
        elif name.startswith("_schema_log_abc"):
            put(orders.checkpoint, {"_schemas/0": b"x" * len(count)})
        if change == "add" and name.startswith("offsets"):
            put(orders.checkpoint, {f"_schemas/{len(count)}": b"x"})
        (orders.checkpoint / "_schema_log_abc" / "0").write_bytes(b"x" * len(count))

    taken = take_backup(touching(orders.checkpoint, on_copy), root, threads=1)
    assert "_schema_log_abc/0" in taken.unknown_changed
    assert {item.name: item.identity for item in taken.objects}["_schema_log_abc/0"] == ""
    assert_whole(root)
    assert run(["verify", root.location, taken.backup_id]) == 0
    assert f"not known to be consistent with batch {taken.batch_id}" in " ".join(capsys.readouterr().out.split())
    assert orders.back_up(root).unknown_changed == ()


def test_a_backup_of_an_earlier_release_reads_as_before_and_is_built_on(query, root, tmp_path):
    orders = query()
    first = orders.back_up(root)
    fields = json.loads(first.encode())
    for key in ("message", "unknown", "unknown_changed"):
        del fields["facts"][key]
    old = manifest.decode(json.dumps(fields).encode(), "manifest.json")
    assert (old.unknown, old.unknown_changed, old.message) == ((), (), "")
    (tmp_path / "backups" / first.backup_id / "manifest.json").write_text(json.dumps(fields))
    put(orders.checkpoint)
    second = orders.back_up(root)
    assert second.reused_bytes > 0 and set(second.unknown) == UNKNOWN.keys()


def test_the_command_names_them_everywhere(query, root, capsys):
    orders = query()
    put(orders.checkpoint)
    location = str(orders.checkpoint)

    def said(*arguments: str) -> str:
        assert run(list(arguments)) == 0
        return " ".join(capsys.readouterr().out.replace("│", " ").split())

    dry = json.loads(said("backup", location, "--to", root.location, "--dry-run", "--json"))
    assert set(dry["unknown"]) == UNKNOWN.keys() <= {*dry["objects"]} and dry["left_out"]["older than needed"] > 0
    assert "unknown, kept" in said("backup", location, "--to", root.location, "--dry-run")
    out = said("backup", location, "--to", root.location, "--message", "before the release")
    assert "10 files that ckpt does not know are in it: .hidden, _schema_log_abc/0" in out
    listed = said("backups", root.location).split()  # wide cells go over several lines
    assert {"unknown", "before", "release"} <= {*listed}
    assert "10 files that ckpt does not know" in said("verify", root.location)
    assert "CKPT160" in said("check", location, "--deep")
    shown = json.loads(said("show", location, "--json"))["unknown"]
    assert {"offsets/notes.txt", ".hidden", "_schemas/"} <= {*shown}
    assert "_schemas/" in said("show", location)
    assert "are not changed" in said("rollback", location, "--to-batch", "5")


def test_a_backup_names_what_no_file_tells(query, root, capsys):
    """Whether the operator has one partition or has lost the others: the backup is taken, and says it for ever."""
    orders = query("count-all-hdfs")
    mutate(orders.checkpoint, ("drop state/0/_metadata", "drop state/0/0/_metadata"))
    problem = "state/0: only partition 0 has state, and no file says whether"

    def said(*arguments: object) -> str:
        assert run([str(argument) for argument in arguments]) == 0
        return " ".join(capsys.readouterr().out.replace("│", " ").split())

    take = ("backup", orders.checkpoint, "--to", root.location)
    assert json.loads(said(*take, "--dry-run", "--json"))["not_judged"][0].startswith(problem)
    assert "Not judged" in said(*take, "--dry-run")
    assert f"Not judged: {problem}" in said(*take)
    assert json.loads(said(*take, "--json"))["not_judged"][0].startswith(problem)
    assert [len(taken.not_judged) for taken in list_backups(root)] == [1, 1]
    assert f"Not judged: {problem}" in said("verify", root.location)


def test_a_rollback_and_its_undo_leave_them(query):
    orders = query()
    put(orders.checkpoint)
    before = files(orders.checkpoint)
    stores = Stores(orders.store)
    plan = make_rollback(stores, 5)
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    after = files(orders.checkpoint)
    assert {name: after.get(name) for name in UNKNOWN} == UNKNOWN and "offsets/7" not in after
    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert files(orders.checkpoint) == before


@pytest.mark.parametrize("name", ["_schemas/new\nline", "x\\..\\y", "_schemas/\udcff", "tab\tx"])
def test_a_name_that_no_backup_can_hold_is_left_out_and_said(query, root, name):
    orders = query()
    (orders.checkpoint / "_schemas").mkdir()
    (orders.checkpoint / name).write_bytes(b"")
    whole = len(orders.back_up(root).objects)
    taken = orders.back_up(root)
    assert (len(taken.objects), taken.unknown) == (whole, ())
    (said,) = taken.not_judged
    assert said == f"not in the backup is {name!r}: a name that no backup can hold, or not readable"


def test_what_is_no_regular_file_ends_neither_a_check_nor_a_backup(query, root):
    orders = query()
    for name in ("pipe", "offsets/pipe"):
        os.mkfifo(orders.checkpoint / name)
    (finding,) = [finding for finding in inspect(orders.store, deep=True) if finding.code == "CKPT163"]
    assert "'offsets/pipe', 'pipe'" in finding.message
    assert orders.back_up(root).not_judged[0].startswith("not in the backup is 'offsets/pipe', 'pipe'")


@pytest.mark.parametrize("name", ["sources/0/77", "state/0/0/77.delta", "sources/0/.77.crc"])
def test_what_is_no_regular_file_is_said_where_the_backup_has_no_need_of_it(query, root, name):
    orders = query()
    (orders.checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(orders.checkpoint / name)
    assert orders.back_up(root).not_judged[0].startswith(f"not in the backup is {name!r}")


def test_a_directory_beside_sparks_that_may_not_be_listed_ends_neither_a_check_nor_a_backup(query, root):
    orders = query()
    closed = orders.checkpoint / "closed"
    closed.mkdir()

    class Refusing(Store):
        def ls(self, directory="", **options):
            if directory == "closed":
                raise StoreError("permission denied", location=self.location, name=directory)
            return super().ls(directory, **options)

    store = Refusing.open(orders.store.location)
    (finding,) = [finding for finding in inspect(store, deep=True) if finding.code == "CKPT163"]
    assert finding.name == "closed/"
    assert take_backup(store, root).not_judged[0].startswith("not in the backup is 'closed/'")


def test_empty_directories_are_not_backed_up(query, root, tmp_path):
    orders = query()
    (orders.checkpoint / "_schemas" / "empty").mkdir(parents=True)
    taken = orders.back_up(root)
    assert taken.unknown == ()


# --- S3 -------------------------------------------------------------------------------------------------------------


@pytest.mark.s3
def test_on_s3_they_survive_and_what_nothing_can_copy_is_left_out_and_said(query, s3_store, tmp_path):
    orders = query("file-to-parquet-5")
    odd = {**UNKNOWN, "_schemas/q?x=1#[*] +~'\"": b"1", "_schemas/x_$folder$": b"2", "_schemas/…/...": b"3"}
    put(orders.checkpoint, odd)
    there, backups = s3_store("orders"), s3_store("backups")
    for name, data in files(orders.checkpoint).items():
        there.create(name, data)
    taken = take_backup(there, backups)
    assert set(taken.unknown) == odd.keys()
    verify_backup(backups, taken)
    again = take_backup(there, backups)
    assert {item.stored_at.partition("/")[0] for item in again.objects if item.name in odd} == {taken.backup_id}
    target = Store.open(str(tmp_path / "restored"))
    restore(make_restore(backups, again, target), backups, target, accept_sink="unknown")
    restored = files(tmp_path / "restored")
    assert {name: restored[name] for name in odd} == odd
    bucket, key = there.root.split("/", 1)
    there.fs.call_s3("put_object", Bucket=bucket, Key=f"{key}/_schemas//x", Body=b"1")
    unnamed = take_backup(there, backups)
    assert set(unnamed.unknown) == odd.keys()
    assert unnamed.not_judged[-1].startswith("not in the backup is '_schemas//x'")
    assert [item.name for item in inspect(there, deep=True) if item.code == "CKPT163"] == ["_schemas//x"]
    there.fs.call_s3("delete_object", Bucket=bucket, Key=f"{key}/_schemas//x")
    there.fs.call_s3("put_object", Bucket=bucket, Key=f"{key}/_schemas", Body=b"1")
    for name in ("offsets", "commits", "state", "sources"):  # as WASB marks directories
        there.fs.call_s3("put_object", Bucket=bucket, Key=f"{key}/{name}", Body=b"")
    marked = take_backup(there, backups)
    assert set(marked.unknown) == odd.keys()
    beside = "'_schemas', 'commits', 'offsets', 'sources', 'state'"
    assert marked.not_judged[-1] == f"not in the backup is {beside}: a file under the name of a directory"
    verify_backup(backups, marked)


# --- links ----------------------------------------------------------------------------------------------------------


def link_file(checkpoint: Path, outside: Path) -> None:
    (checkpoint / "_schemas").mkdir()
    (checkpoint / "_schemas" / "0").symlink_to(outside / "0" / "1.delta")


def link_log_entry(checkpoint: Path, outside: Path) -> None:
    (checkpoint / "commits" / "7").unlink()
    (checkpoint / "commits" / "7").symlink_to(outside / "0" / "1.delta")


def link_partition(checkpoint: Path, outside: Path) -> None:
    (checkpoint / "state" / "0" / "0").rename(outside / "moved")
    (checkpoint / "state" / "0" / "0").symlink_to(outside / "moved")


def link_state(checkpoint: Path, outside: Path) -> None:
    (checkpoint / "state").rename(outside / "moved")
    (checkpoint / "state").symlink_to(outside / "moved")


def link_sibling(checkpoint: Path, outside: Path) -> None:
    (checkpoint / "state" / "0" / "9").symlink_to("0")


def link_loop(checkpoint: Path, outside: Path) -> None:
    (checkpoint / "state" / "up").symlink_to("..")


def link_to_nowhere(checkpoint: Path, outside: Path) -> None:
    (checkpoint / "sources").mkdir(exist_ok=True)
    (checkpoint / "sources" / "9").symlink_to(outside / "nowhere")


LINKS = [link_log_entry, link_partition, link_state, link_sibling, link_loop, link_to_nowhere]


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_a_checkpoint_with_links_is_found_and_neither_backed_up_nor_changed(query, root, tmp_path, link):
    orders, outside = query(), tmp_path / "outside"
    (outside / "0").mkdir(parents=True)
    (outside / "0" / "1.delta").write_bytes(b"not of this checkpoint")
    stores = Stores(orders.store)
    planned = make_rollback(stores, 5)
    link(orders.checkpoint, outside)
    before = files(tmp_path)
    assert "CKPT161" in {finding.code for finding in inspect(orders.store, deep=True)}
    for act in (
        lambda: orders.back_up(root),
        lambda: plan_of_backup(orders.store, root),
        lambda: make_rollback(stores, 5),
        lambda: apply(planned, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown"),
    ):
        with pytest.raises(PlanError, match="contains a link"):
            act()
    assert {name: data for name, data in files(tmp_path).items() if not name.startswith("backups")} == before


def test_links_where_spark_has_nothing_are_left_out_of_a_backup_and_said(query, root, tmp_path):
    orders, outside = query(), tmp_path / "outside"
    (outside / "0").mkdir(parents=True)
    (outside / "0" / "1.delta").write_bytes(b"not of this checkpoint")
    link_file(orders.checkpoint, outside)
    (orders.checkpoint / "dead").symlink_to("nowhere")
    (orders.checkpoint / "ring").symlink_to("ring")
    (orders.checkpoint / "itself").symlink_to(".")
    taken = orders.back_up(root)
    assert taken.unknown == ()
    assert taken.not_judged == ("not in the backup is '_schemas/0', 'dead', 'itself', 'ring': a link",)
    with pytest.raises(PlanError, match="contains a link"):
        make_rollback(Stores(orders.store), 5)


@pytest.mark.parametrize("link", [link_state, link_log_entry], ids=lambda link: link.__name__)
def test_a_quick_check_sees_links_at_the_top(query, tmp_path, link):
    orders, outside = query(), tmp_path / "outside"
    (outside / "0").mkdir(parents=True)
    (outside / "0" / "1.delta").write_bytes((orders.checkpoint / "commits" / "7").read_bytes())
    link(orders.checkpoint, outside)
    assert "CKPT161" in {finding.code for finding in inspect(orders.store)}


def test_nothing_behind_a_link_is_deleted(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_bytes(b"x")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "link").symlink_to(tmp_path / "outside")
    store = Store.open(str(tmp_path / "store"))
    with pytest.raises(StoreError, match="behind a link"):
        store.delete("link/x")
    assert store.find() and (tmp_path / "outside" / "x").exists()


def test_a_link_and_the_real_name_have_one_lock_and_one_history(query, tmp_path):
    orders = query()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "alias").symlink_to(orders.checkpoint)
    alias = Stores(Store.open(str(tmp_path / "elsewhere" / "alias")))
    apply(make_rollback(alias, 6), alias, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert [record.plan.batch_id for record in history(orders.store)] == [6]
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["alias"]
    stores = Stores(orders.store)
    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert [record.state for record in history(alias.checkpoint)] == ["undone", "applied"]


def test_records_that_were_kept_under_the_name_of_a_link_are_read(query, tmp_path):
    """As the tree before did it: the history of an alias lay beside the alias."""
    orders = query()
    stores = Stores(orders.store)
    before = files(orders.checkpoint)
    apply(make_rollback(stores, 6), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    (tmp_path / "elsewhere" / "_ckpt_undo").mkdir(parents=True)
    (tmp_path / "elsewhere" / "alias").symlink_to(orders.checkpoint)
    (tmp_path / "_ckpt_undo" / "checkpoint").rename(tmp_path / "elsewhere" / "_ckpt_undo" / "alias")
    alias = Stores(Store.open(str(tmp_path / "elsewhere" / "alias")))
    apply(make_undo(alias), alias, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert files(orders.checkpoint) == before
    assert [record.state for record in history(alias.checkpoint)] == ["undone", "applied"]


@pytest.mark.s3
def test_a_whole_bucket_needs_a_place_for_its_records(query, s3_server):
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    for bucket in ("whole-bucket", "other-bucket"):
        Store.open(f"s3://{bucket}", **options).fs.mkdir(bucket)
    checkpoint = Store.open("s3://whole-bucket", **options)
    orders = query()
    for name, data in files(orders.checkpoint).items():
        checkpoint.create(name, data)
    with pytest.raises(PlanError, match="--undo-to"):
        make_rollback(Stores(checkpoint), 6)
    stores = Stores(checkpoint, undo=Store.open("s3://other-bucket/undo", **options))
    apply(make_rollback(stores, 6), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert observe(checkpoint).latest_committed == 6
    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert set(checkpoint.find()) == files(orders.checkpoint).keys()
