"""What a file source loses: unread files that a lifecycle rule of their bucket deletes (a real S3 API, over HTTP), and
files that the sink that wrote them has dropped, because it was rolled back: ``check`` and ``gate`` name the way back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec.source_log import FileEntry, SinkFileStatus
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.file import judge as judge_file
from airflow_provider_ckpt.sources.file.judge import Unlogged, unlogged
from airflow_provider_ckpt.sources.judge_tables import judge_tables
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableLosses
from airflow_provider_ckpt.storage.lifecycle import LifecycleRule
from airflow_provider_ckpt.storage.store import Store
from tests.forgotten_reader import drop, make_lake
from tests.kafka_checkpoint import commit_batch, plan_batch

DAY_MS = 86_400_000
#: So long after the newest file.
LATER_MS = 1_000


@pytest.fixture
def judge(tmp_path, s3_store, monkeypatch):
    """A query that has read one of three files; what is found with these rules of the bucket."""
    files = s3_store("in")
    for name in ("a", "b", "c"):
        files.create(name, b"12345")
    commit_batch(tmp_path, 0, '{"logOffset":0}')
    log = tmp_path / "sources/0"
    log.mkdir(parents=True)
    log.joinpath("0").write_text(f'v1\n{{"path":"{files.location}/a","timestamp":1,"batchId":0}}')
    newest_ms = max(file.modified_ms or 0 for file in files.find().values())

    def ask(*rules: LifecycleRule | Exception, now_ms: int = newest_ms + LATER_MS) -> TableLosses:
        def told(store: Store) -> Any:
            if rules and isinstance(rules[0], Exception):
                raise rules[0]
            return rules

        monkeypatch.setattr(judge_file, "lifecycle_rules", told)
        store = Store.open(str(tmp_path))
        access = Access(lambda location: files, store)
        return judge_tables(observe(store), parse_by_id({"0": f"file:{files.location}"}), {}, access, now_ms)

    return ask


@pytest.mark.s3
def test_unread_files_that_a_rule_deletes_are_counted(judge):
    found = judge(LifecycleRule("old", "in/", 3), LifecycleRule("older", "in/", 9))
    (finding,) = found.findings
    assert (finding.code, finding.severity, found.unknown) == ("CKPT265", "note", ())
    assert finding.message.startswith("2 files that source 0 has not read are deleted by the lifecycle rule 'old'")
    assert "the first is in/b, in " in finding.message
    assert 3 * DAY_MS - LATER_MS <= found.expires_ms < 4 * DAY_MS


@pytest.mark.s3
def test_when_its_time_is_up_it_is_a_warning(judge):
    found = judge(LifecycleRule("", "in/", at_ms=5))
    (finding,) = found.findings
    assert (finding.severity, found.expires_ms) == ("warning", 0)
    assert "a lifecycle rule of their bucket" in finding.message
    assert "at any time from now on" in finding.message


@pytest.mark.s3
@pytest.mark.parametrize(
    "rules",
    [(), (LifecycleRule("", "out/", 1),), (LifecycleRule("", "in/a", 1),)],
    ids=["none", "elsewhere", "of read files"],
)
def test_other_rules_say_nothing(judge, rules):
    assert judge(*rules) == TableLosses()


@pytest.mark.s3
def test_a_rule_for_tags_is_not_judged(judge):
    assert judge(LifecycleRule("", "in/", 1, is_tagged=True)) == TableLosses(unknown=("lifecycle rules",))


@pytest.mark.s3
def test_who_may_not_ask_has_not_judged(judge):
    assert judge(StoreError("permission denied")) == TableLosses(unknown=("lifecycle rules",))


def test_other_stores_are_not_judged(tmp_path):
    commit_batch(tmp_path, 0, '{"logOffset":-1}')
    store = Store.open(str(tmp_path))
    access = Access(lambda location: Store.open("memory://lake/in"), store)
    assert judge_tables(observe(store), parse_by_id({"0": "file:memory://lake/in"}), {}, access, 0).unknown == (
        "lifecycle rules",
    )
    disk = Access(Store.open, store)
    assert judge_tables(observe(store), parse_by_id({"0": f"file:{tmp_path}"}), {}, disk, 0) == TableLosses()


def test_another_source_is_not_judged(tmp_path):
    commit_batch(tmp_path, 0, {"orders": {"0": 1}})
    store = Store.open(str(tmp_path))
    lost = judge_tables(observe(store), parse_by_id({"0": f"file:{tmp_path}"}), {}, Access(Store.open, store), 0)
    assert lost == TableLosses(unknown=("data loss of source 0",))


@pytest.fixture
def lake(tmp_path):
    return make_lake(tmp_path)


def judged(lake: Path, place: str = "orders") -> TableLosses:
    store = Store.open(str(lake / "totals"))
    return judge_tables(observe(store), parse_by_id({"0": f"file:{lake}/{place}"}), {}, Access(Store.open, store), 0)


@pytest.mark.parametrize("command", ["check", "gate"])
def test_a_forgotten_reader_is_told_its_batch_its_files_and_its_way_back(lake, capsys, command):
    drop(lake, 3, 4, 5)
    run([command, f"{lake}/totals", "--source", f"0=file:{lake}/orders", "--json"])
    found = [item for item in json.loads(capsys.readouterr().out)["findings"] if item["code"] == "CKPT148"]
    assert [(item["severity"], item["batch_id"], item["name"]) for item in found] == [("warning", 3, "offsets/3")]
    assert "from batch 3 on, source 0 has read 2 files" in found[0]["message"] and "3.parquet" in found[0]["message"]
    assert found[0]["commands"] == [f"ckpt rollback {lake}/totals --to-batch 2 --sink TYPE[:URI]"]


def test_a_batch_in_flight_has_read_its_files_as_well(lake):
    (lake / "totals/commits/4").unlink()
    drop(lake, 4, 5)
    (finding,) = judged(lake).findings
    assert finding.batch_id == 4 and "--to-batch 3" in finding.commands[0]


def test_without_a_batch_from_before_nothing_is_advised_that_cannot_be_done(lake):
    drop(lake, 1, 2, 3, 4, 5)
    for log in ("offsets", "commits"):
        (lake / "totals" / log / "0").unlink()
    (finding,) = judged(lake).findings
    assert finding.commands == () and finding.hint.startswith("No batch from before was found")


@pytest.mark.parametrize(("dropped", "place"), [
    ((), "orders"), ((5,), "orders"), ((0, 1, 2, 3, 4, 5), "orders"), ((3, 4, 5), "orders/*.parquet"),
], ids=["nothing", "a file that was not read", "no log", "a pattern, for which Spark reads no log"])  # fmt: skip
def test_nothing_is_said_where_nothing_was_taken_out(lake, dropped, place):
    drop(lake, *dropped)
    assert judged(lake, place) == TableLosses()


@pytest.mark.parametrize("damage", ["hole", "cut", "unreadable", "elsewhere"])
def test_a_log_that_is_not_whole_proves_nothing(lake, damage):
    drop(lake, *{"hole": (3,), "cut": (0, 1)}.get(damage, ()))
    if damage == "unreadable":
        (lake / "orders/_spark_metadata/2").write_text("v1\n{")
    if damage == "elsewhere":
        for entry in (lake / "totals/sources/0").iterdir():
            entry.write_text(entry.read_text().replace("/orders/", "/others/"))
    elsewhere = ("data loss of source 0",) if damage == "elsewhere" else ()
    assert judged(lake) == TableLosses(unknown=(*elsewhere, "files that were read"))


def test_what_retention_may_have_taken_out_is_a_note(lake):
    log = lake / "orders/_spark_metadata"
    lines = [(log / str(batch_id)).read_text().partition("\n")[2] for batch_id in (2, 3, 4)]
    drop(lake, *range(5))
    (log / "4.compact").write_text("\n".join(["v1", *lines]))
    (finding,) = judged(lake).findings
    assert (finding.severity, finding.commands) == ("note", ()) and finding.message.startswith(
        "source 0 has read 2 files that"
    )


def test_a_query_that_has_read_nothing_is_not_judged_by_it(lake):
    checkpoint = lake / "empty"
    plan_batch(checkpoint, 0, json.dumps({"logOffset": -1}))
    commit_batch(checkpoint, 0, json.dumps({"logOffset": -1}))
    (lake / "totals").rename(lake / "old")
    checkpoint.rename(lake / "totals")
    assert judged(lake) == TableLosses()


def taken(*times_ms: int, directory: str = "file:///out") -> list[FileEntry]:
    return [FileEntry(f"{directory}/{at_ms}.parquet", at_ms, entry) for entry, at_ms in enumerate(times_ms)]


def logged(*times_ms: int, action: str = "add") -> list[SinkFileStatus]:
    return [SinkFileStatus(f"file:/out/{at_ms}.parquet", 1, False, at_ms, 1, 1, action) for at_ms in times_ms]


@pytest.mark.parametrize(("read", "log", "found"), [
    (taken(10, 11, 12, 13), logged(10, 11), Unlogged((("12.parquet", 2), ("13.parquet", 3)))),
    (taken(10, 11), logged(10, 11, 12), Unlogged()),
    (taken(10, 11, 12, 13), logged(10, 11, 14, 15), Unlogged((("12.parquet", 2), ("13.parquet", 3)))),
    (taken(10, 11, 12, 13), logged(12, 13), Unlogged(expired=2)),
    (taken(10, 11, 12, 13), logged(11, 13), Unlogged((("12.parquet", 2),), 1)),
    (taken(10, 10), logged(), Unlogged(expired=1)),
    (taken(10, 11), [*logged(10, 11), *logged(11, action="delete")], Unlogged()),
    (taken(10, directory="file:///outside"), logged(10), None),
    ([], logged(10), None),
], ids=[
    "a change", "all named", "a change, and written again", "retention", "both", "an empty log", "deleted by the sink",
    "elsewhere", "nothing read",
])  # fmt: skip
def test_only_a_file_newer_than_one_that_is_named_was_taken_out_by_a_change(read, log, found):
    assert unlogged(read, log, "out") == found


@pytest.mark.parametrize(("read", "unknown"), [
    (["sa/a"], ()),
    (["sb/a"], ("data loss of source 0",)),
    (["sb/a", "sa/b"], ()),
    ([], ()),
], ids=["its own", "of the other source", "moved to it", "nothing read"])  # fmt: skip
def test_a_directory_of_which_it_has_read_nothing_is_not_judged(tmp_path, read, unknown):
    """As when two sources are in the other order: real Spark then stops with ``Wrong basePath``."""
    directory = tmp_path / "sa"
    directory.mkdir()
    directory.joinpath("new").write_text("1")
    commit_batch(tmp_path / "c", 0, f'{{"logOffset":{0 if read else -1}}}')
    if read:
        log = tmp_path / "c/sources/0"
        log.mkdir(parents=True)
        paths = (f"file://{tmp_path}/{name}" for name in read)
        entries = (json.dumps({"path": path, "timestamp": 1, "batchId": 0}) for path in paths)
        log.joinpath("0").write_text("\n".join(["v1", *entries]))
    store = Store.open(str(tmp_path / "c"))
    access = Access(Store.open, store)
    found = judge_tables(observe(store), parse_by_id({"0": f"file:{directory}"}), {}, access, 0)
    assert found == TableLosses(unknown=unknown)
