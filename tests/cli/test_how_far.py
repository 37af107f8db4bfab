"""A command that reads for long says on stderr how far it is."""

from __future__ import annotations

import json
import time

import pytest

from airflow_provider_ckpt.cli import render, run
from airflow_provider_ckpt.storage.store import Store


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "{ck}", "--deep"), "listings and files were read so far"),
        (("gate", "{ck}"), "listings and files were read so far"),
        (("fleet", "{above}", "--deep"), "checkpoints so far"),
    ],
)
def test_it_is_told_while_one_checkpoint_takes_long(golden, capsys, monkeypatch, words, says):
    checkpoint = golden("agg-hdfs")
    monkeypatch.setattr(render, "EVERY_S", 0.05)
    find = Store.ls

    def slowly(self, directory="", **options):
        time.sleep(0.2 if directory == "state/0" else 0)
        return find(self, directory, **options)

    monkeypatch.setattr(Store, "ls", slowly)
    run([*(word.format(ck=checkpoint, above=checkpoint.parent) for word in words), "--json"])
    told = capsys.readouterr()
    assert says in told.err
    assert json.loads(told.out)["format_version"] == 1


def test_nothing_is_told_of_what_is_quick(golden, capsys):
    run(["check", str(golden("agg-hdfs")), "--json"])
    assert capsys.readouterr().err == ""
