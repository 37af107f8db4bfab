"""A directory of bookmarks: every file in it is one, or is refused by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet import read_bookmarks as module
from airflow_provider_ckpt.fleet.read_bookmarks import match_queries, read_bookmarks
from airflow_provider_ckpt.restart.bookmark import take_bookmark
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """With the bookmark of one query, in ``orders``."""
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    query.commit(0)
    (tmp_path / "bookmarks").mkdir()
    text = json.dumps(take_bookmark(observe(query.store)).to_dict())
    (tmp_path / "bookmarks" / "orders.json").write_text(text)
    return tmp_path / "bookmarks"


def test_each_file_is_a_bookmark(directory):
    (directory / ".orders.json.swp").write_text("of an editor")
    [found] = read_bookmarks(Store.open(str(directory)))
    assert found.origin == f"{directory}/orders.json" and found.bookmark.location == f"{directory.parent}/orders"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not JSON"),
        (b'{"query_id": "q", "batch_id": 4', "is not JSON"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"x" * 200, "larger than"),
        (b"[" * 150, "is not JSON"),
        (None, "A directory is no bookmark"),
    ],
    ids=["empty", "cut", "binary", "large", "deep", "directory"],
)
def test_what_is_none_is_refused_by_its_name(directory, monkeypatch, data, said):
    monkeypatch.setattr(module, "BOOKMARK_BYTES", 199)
    other = directory / "other.json"
    other.mkdir() if data is None else other.write_bytes(data)
    refused = [item for item in read_bookmarks(Store.open(str(directory))) if item.origin.endswith("other.json")]
    assert [item.bookmark for item in refused] == [None] and said in refused[0].problem


def test_a_link_that_leads_nowhere_is_refused(directory):
    (directory / "other.json").symlink_to("nowhere")
    assert [item.origin for item in read_bookmarks(Store.open(str(directory))) if item.bookmark is None]


@pytest.mark.parametrize("name", ["nowhere", "empty", "bookmarks/orders.json"])
def test_no_bookmark_at_all_is_an_error(directory, name):
    (directory.parent / "empty").mkdir()
    with pytest.raises(CheckpointError) as refused:
        read_bookmarks(Store.open(str(directory.parent / name)))
    assert name in str(refused.value)
    if name != "bookmarks/orders.json":
        assert isinstance(refused.value, CheckpointNotFoundError) and "ckpt gate --bookmark" in str(refused.value)


def test_a_link_to_a_checkpoint_is_the_same_checkpoint(directory):
    (directory.parent / "link").symlink_to("orders")
    kept = read_bookmarks(Store.open(str(directory)))
    asked = [f"{directory.parent}/{name}" for name in ("link", "orders", "bookmarks/../orders/")]
    found = match_queries(kept, asked, Store.open)
    assert [query["checkpoint"] for query in found.queries] == [asked[0]] and found.refused == ()
