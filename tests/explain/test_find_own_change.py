"""A change by ckpt that is recorded beside the checkpoint explains what it has caused, and nothing else."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.explanation import Explanation
from airflow_provider_ckpt.storage.store import Store

CONCURRENT = "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for {}."


def found(text: str, store: Store) -> tuple[Explanation, ...]:
    return explain([text], store).explanations


@pytest.fixture
def fenced(golden) -> Store:
    """Fenced behind batch 7; a query has started behind the fence since, and committed its batch."""
    checkpoint = golden("agg-hdfs")
    store = Store.open(str(checkpoint))
    put_fence(Stores(store), settle_s=0)
    shutil.copy(checkpoint / "commits/7", checkpoint / "commits/8")
    return store


def test_a_query_that_our_own_fence_stopped_has_no_second_query(fenced):
    (item,) = found(CONCURRENT.format(8), fenced)
    assert item.cause is not None and item.cause.rules == ("CKPT151",)
    assert item.certainty == "proven" and item.evidence is not None
    assert "ckpt wrote offsets/8 to stop the query: the fence" in item.evidence.sentence
    assert [sign.kind for sign in item.signs] == ["condition", "record"]
    assert not any("ckpt fence" in command for command in item.commands)


def test_a_fence_at_another_batch_explains_nothing(fenced):
    assert all(sign.kind != "record" for item in found(CONCURRENT.format(5), fenced) for sign in item.signs)


@pytest.mark.parametrize("file", ["offsets/6", "state/0/0/7.delta"])
def test_a_file_that_a_rollback_removed_is_not_lost(golden, file):
    store = Store.open(str(golden("agg-hdfs")))
    stores = Stores(store)
    text = f"java.io.FileNotFoundException: File {store.location}/{file} does not exist"
    assert all(sign.kind != "record" for item in found(text, store) for sign in item.signs)
    plan = make_rollback(stores, 4)
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink=("unknown", "skipped", "duplicated"))
    assert history(store)
    (item,) = found(text, store)
    assert item.cause is not None and f"ckpt removed {file} on purpose" in item.cause.text
    assert [command.split()[1] for command in item.commands] == ["history", "check"]
    other = text.replace(file, "offsets/4")
    assert all(sign.kind != "record" for item in found(other, store) for sign in item.signs)
