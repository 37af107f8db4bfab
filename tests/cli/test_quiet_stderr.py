"""A stderr that is no terminal, such as cron's: success writes nothing there."""

from __future__ import annotations

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


def test_success_writes_nothing_to_a_stderr_that_is_no_terminal(tmp_path, capsys):
    query, backups = FakeQuery(Store.open(str(tmp_path / "orders"))), str(tmp_path / "backups")
    query.commit(0)
    for arguments in (
        ["backup", query.store.location, "--to", backups],
        ["verify", backups],
        ["prune", backups, "--keep-last", "1", "--execute"],
    ):
        assert run(arguments) == 0
        assert capsys.readouterr().err == "", arguments


def test_the_history_of_an_untouched_checkpoint_is_a_sentence(tmp_path, capsys):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    query.commit(0)
    assert run(["history", query.store.location]) == 0
    assert capsys.readouterr().out == f"There is no record of a change to {query.store.location}.\n"
