"""``ckpt gate --bookmark`` before a deploy, and ``ckpt rollback --to-before-deploy`` after a bad one."""

from __future__ import annotations

import json
import os

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

DO_IT = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "unknown")


@pytest.fixture
def query(tmp_path):
    """A query that has committed batches 0 and 1."""
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    query.commit(0)
    query.commit(1)
    return query


def test_a_deploy_is_taken_back_by_the_file_of_its_gate(query, tmp_path, capsys):
    location, file = query.store.location, tmp_path / "orders.json"
    for _ in range(2):  # the second one takes the place of the first
        assert run(["gate", location, "--bookmark", str(file)]) in (0, 1)
    assert json.loads(file.read_text())["batch_id"] == 1
    query.commit(2)
    query.commit(3)
    assert run(["rollback", location, "--to-before-deploy", str(file), *DO_IT]) == 0
    assert observe(query.store).latest_planned == 1
    assert "Batch 1 was the newest committed one when the bookmark was taken." in capsys.readouterr().out


def test_a_file_that_has_something_else_is_not_written_over(query, tmp_path, capsys):
    file = tmp_path / "ckpt.yaml"
    file.write_text("format_version: 1\n")
    assert run(["gate", query.store.location, "--bookmark", str(file)]) == 2
    assert "is there and has no bookmark" in capsys.readouterr().err
    assert file.read_text() == "format_version: 1\n"


def test_a_gate_without_a_bookmark_fails_and_leaves_the_file(query, tmp_path):
    query.store.write("offsets/1", b"v1")
    file = tmp_path / "orders.json"
    assert run(["gate", query.store.location, "--bookmark", str(file)]) == 3
    assert not file.exists()


def test_no_file_is_written_into_a_checkpoint(query, capsys):
    inside = f"{query.store.location}/bookmark.json"
    assert run(["gate", query.store.location, "--bookmark", inside]) == 2
    assert "where ckpt writes no files" in " ".join(capsys.readouterr().err.split())
    assert query.store.stat("bookmark.json") is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "1", '{"batch_id": "x"}', '{"format_version": 99}', "\u0000", '{"a": 1}']
)
def test_a_file_that_is_no_bookmark_is_named(query, tmp_path, capsys, text):
    file = tmp_path / "orders.json"
    file.write_text(text)
    assert run(["rollback", query.store.location, "--to-before-deploy", str(file)]) > 2
    assert str(file) in capsys.readouterr().err


def test_a_missing_file_is_named(query, tmp_path, capsys):
    assert run(["rollback", query.store.location, "--to-before-deploy", str(tmp_path / "no")]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "no: not found" in said and "that ckpt gate --bookmark has written" in said


def test_it_is_one_of_the_targets(query, tmp_path):
    assert run(["rollback", query.store.location, "--to-before-deploy", "f", "--to-batch", "1"]) == 2


def test_a_link_is_followed_and_stays_one(query, tmp_path):
    (tmp_path / "latest").symlink_to("orders.json")
    assert run(["gate", query.store.location, "--bookmark", str(tmp_path / "latest")]) in (0, 1)
    assert (tmp_path / "latest").is_symlink() and json.loads((tmp_path / "orders.json").read_text())["batch_id"] == 1


def test_what_is_no_file_is_left_alone(query, tmp_path, capsys):
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to("loop")
    for path, said in ((pipe, "named pipe"), (loop, "is a link that leads nowhere")):
        assert run(["gate", query.store.location, "--bookmark", str(path)]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    assert pipe.is_fifo() and loop.is_symlink()
