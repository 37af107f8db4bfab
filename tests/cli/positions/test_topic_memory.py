"""The file of the topic ids: what is added to it, and where it may not be."""

from __future__ import annotations

import json

import click
import pytest

from airflow_provider_ckpt.cli.positions.topic_memory import TopicMemory
from airflow_provider_ckpt.storage.store import Store


def test_topics_are_added_and_never_changed(golden, tmp_path):
    store, path = Store.open(str(golden("agg-hdfs"))), tmp_path / "ids.json"
    TopicMemory(path).see(store, {"t": "1"})
    memory = TopicMemory(path)
    assert memory.of(store.location) == {"t": "1"}
    before = path.stat().st_ino, path.stat().st_mtime_ns
    memory.see(store, {"t": "2"})
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before, "nothing is written that says nothing new"
    memory.see(store, {"s": "3"})
    assert json.loads(path.read_text())["topics"] == {store.location: {"s": "3", "t": "1"}}


def test_without_a_file_nothing_is_remembered(golden):
    memory = TopicMemory(None)
    memory.see(Store.open(str(golden("agg-hdfs"))), {"t": "1"})
    assert memory.of("/anywhere") == {}


def test_it_is_not_written_into_the_checkpoint(golden):
    checkpoint = golden("agg-hdfs")
    with pytest.raises(click.BadParameter, match="writes no files"):
        TopicMemory(checkpoint / "ids.json").see(Store.open(str(checkpoint)), {"t": "1"})
    assert not (checkpoint / "ids.json").exists()


def test_another_file_is_refused(tmp_path):
    (tmp_path / "ids.json").write_text("[]")
    with pytest.raises(click.BadParameter, match="has the version None"):
        TopicMemory(tmp_path / "ids.json")
    with pytest.raises(click.BadParameter, match="ids"):
        (tmp_path / "ids").mkdir()
        TopicMemory(tmp_path / "ids")
