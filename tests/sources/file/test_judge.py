"""Unread files of a file source that a lifecycle rule of their bucket deletes: a real S3 API, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.file import judge as judge_file
from airflow_provider_ckpt.sources.judge_tables import judge_tables
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableLosses
from airflow_provider_ckpt.storage.lifecycle import LifecycleRule
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch

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
