"""CKPT153: one file that cannot be opened is one row of a check, and the rest of the checkpoint is judged."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.inspect import examine, inspect
from airflow_provider_ckpt.errors import CheckpointFormatError, StoreError, UnreadableError
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate


def a_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


ODD: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a socket": a_socket,
    "a link to nowhere": lambda path: path.symlink_to("/no/such/file"),
}


class Closed(Store):
    """A store of which one file may not be read."""

    closed = ""

    def read_up_to(self, name: str, most: int, start: int = 0) -> bytes:
        if name == self.closed:
            raise StoreError("permission denied", location=self.location, name=name, hint="Check the permissions.")
        return super().read_up_to(name, most, start)


def closed(checkpoint: Path, name: str) -> Store:
    store = Closed.open(str(checkpoint))
    assert isinstance(store, Closed)
    store.closed = name
    return store


def put(odd: Callable[[Path], None], path: Path) -> None:
    for old in (path, path.with_name(f".{path.name}.crc")):
        old.unlink(missing_ok=True)
    odd(path)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("offsets/7", "error"),
        ("commits/7", "error"),
        ("metadata", "error"),
        ("sources/0/5", "error"),
        ("offsets/2", "warning"),
        ("commits/2", "warning"),
        ("state/0/_metadata/metadata", "warning"),
    ],
)
def test_one_odd_thing_is_one_row_and_the_rest_is_checked(odd, name, severity, golden):
    checkpoint = golden("agg-hdfs")
    put(odd, checkpoint / name)
    mutate(checkpoint, ["truncate offsets/4"])
    found = [
        item for item in inspect(Store.open(str(checkpoint)), deep=True) if item.code not in ("CKPT152", "CKPT161")
    ]
    assert [(item.code, item.severity, item.name) for item in found if item.name == name] == [
        ("CKPT153", severity, name)
    ]
    assert [item.code for item in found if item.name == "offsets/4"] == ["CKPT102"]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", ["state/0/0/8.delta", "state/0/0/_metadata/schema"])
def test_a_state_file_that_cannot_be_opened_is_one_that_the_state_lacks(odd, name, golden):
    checkpoint = golden("agg-hdfs")
    put(odd, checkpoint / name)
    found = [item for item in inspect(Store.open(str(checkpoint)), deep=True) if item.name == name]
    (found,) = [item for item in found if item.code != "CKPT161"]
    assert (found.code, found.spark_error) == ("CKPT130", None)
    assert "is not one that can be opened (" in found.message


@pytest.mark.parametrize("name", ["offsets/7", "commits/7", "metadata", "sources/0/5", "offsets/.7.crc", "commits/1"])
def test_what_this_user_may_not_read(name, golden):
    view = examine(closed(golden("agg-hdfs"), name), deep=True, each=True)
    (found,) = [item for item in check(view) if item.severity != "note"]
    assert (found.code, found.name, found.spark_error) == ("CKPT153", name, None)
    assert "permission denied" in found.message
    assert found.hint == "Check as the user who runs the query. Check the permissions."


def test_where_nothing_can_be_read_nothing_is_judged(golden, monkeypatch):
    def refuse(self: Store, name: str, most: int, start: int = 0) -> bytes:
        raise StoreError("permission denied", location=self.location, name=name)

    monkeypatch.setattr(Store, "read_up_to", refuse)
    with pytest.raises(UnreadableError, match="permission denied"):
        inspect(Store.open(str(golden("agg-hdfs"))), deep=True)


DEPLOY = {"spark_version": "4.3", "confs": {}, "sources": ["file:/landing"], "sink": "console",
          "operators": ["stateStoreSave"]}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    ("name", "code", "decision"),
    [
        ("offsets/7", "CKPT153", "block"),
        ("offsets/6", "CKPT153", "block"),
        ("commits/7", "CKPT153", "block"),
        ("metadata", "CKPT153", "block"),
        ("sources/0/5", "CKPT153", "block"),
        ("state/0/0/8.delta", "CKPT130", "block"),
        ("offsets/2", "CKPT153", "warn"),
        ("commits/2", "CKPT153", "warn"),
        ("state/0/_metadata/metadata", "CKPT153", "warn"),
    ],
)
def test_a_gate_decides_without_knowing_what_spark_does_with_such_a_file(odd, name, code, decision, golden):
    checkpoint = golden("agg-hdfs")
    put(odd, checkpoint / name)
    _, said = forecast_restart(Store.open(str(checkpoint)), declare(DeploySpec(), DEPLOY), Store.open)
    (finding,) = [item for item in said.findings if item.severity != "note" and item.code != "CKPT161"]
    assert (finding.code, finding.name, said.decision, said.spark_error) == (code, name, decision, None)
    assert finding.hint
    is_read = decision == "block"
    assert ("files that cannot be opened" in said.unknown) == is_read == (said.resumes_at_batch is None)
    assert said.sentence.startswith("What Spark does is not known: " if is_read else "Spark starts and runs batch 8")


def test_a_gate_decides_where_an_entry_of_the_sink_cannot_be_opened(golden_home):
    home = golden_home("file-to-parquet-5")
    put(os.mkfifo, home / "output/_spark_metadata/2")
    deploy = {**DEPLOY, "sink": f"file:{home}/output", "operators": []}
    _, said = forecast_restart(Store.open(str(home / "checkpoint")), declare(DeploySpec(), deploy), Store.open)
    (finding,) = [item for item in said.findings if item.severity != "note"]
    assert (finding.code, finding.name, said.decision, said.spark_error) == (
        "CKPT144", "_spark_metadata/2", "block", None
    )  # fmt: skip


def test_a_change_judges_no_checkpoint_with_such_a_file(golden):
    with pytest.raises(StoreError) as raised:
        examine(closed(golden("agg-hdfs"), "offsets/7"), deep=True)
    assert not isinstance(raised.value, CheckpointFormatError)
