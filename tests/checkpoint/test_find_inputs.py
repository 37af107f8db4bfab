"""Whether input files are there, on a disk and on a storage of requests."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint import find_inputs as module
from airflow_provider_ckpt.checkpoint.find_inputs import find_inputs
from airflow_provider_ckpt.checkpoint.input_files import Inputs
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def folder(tmp_path):
    directory = tmp_path / "in put"  # Spark writes paths URL-encoded
    directory.mkdir()
    (directory / "a%b.json").write_text("{}")
    return f"file://{tmp_path}/in%20put"


def test_a_file_is_gone_when_its_directory_is_there_without_it(tmp_path, folder):
    paths = [f"{folder}/a%25b.json", f"{folder}/gone.json", f"{folder}/gone.json"]
    store = Store.open(str(tmp_path / "checkpoint"))
    assert find_inputs(store, paths) == Inputs(2, (f"{folder}/gone.json",))
    assert find_inputs(store, []) == Inputs()


def test_without_the_directory_nobody_can_tell(tmp_path, folder):
    store = Store.open(str(tmp_path / "checkpoint"))
    assert find_inputs(store, [f"file://{tmp_path}/elsewhere/x.json", f"{folder}/a%25b.json"]) == Inputs(2, unseen=1)


def test_files_of_another_file_system_are_not_asked_for(tmp_path):
    store = Store.open(str(tmp_path))
    assert find_inputs(store, ["s3://lake/x.json", "hdfs://name/x.json"]) == Inputs(2, unseen=2)


def test_a_storage_of_requests():
    store = Store.open("memory://bucket/checkpoint")
    store.at("memory://bucket/in").write("a.json", b"{}")
    paths = ["memory://bucket/in/a.json", "memory://bucket/in/b.json"]
    assert find_inputs(store, paths) == Inputs(2, ("memory://bucket/in/b.json",))


def test_more_files_than_are_asked_for_are_unseen(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(module, "MOST_INPUTS", 2)
    paths = [f"{folder}/{number}.json" for number in range(5)]
    assert find_inputs(Store.open(str(tmp_path)), paths) == Inputs(5, tuple(paths[:2]), 3)


def test_a_storage_that_refuses_leaves_all_unseen(tmp_path, folder, monkeypatch):
    def refuse(self: Store) -> bool:
        raise StoreUnavailableError("it does not answer")

    monkeypatch.setattr(Store, "exists", refuse)
    assert find_inputs(Store.open(str(tmp_path)), [f"{folder}/a%25b.json"]) == Inputs(1, unseen=1)
