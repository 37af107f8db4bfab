"""A file source's log that is too large to hold is judged line by line."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from airflow_provider_ckpt.backup.relocation import PathRule
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import PlanError, TooLargeError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted import limits

FILES = 170_000
GOOD = '{"path":"file:///in/part-00000-1c9f0c3e-3f7f-4a5e-9d8e-%012d-c000.snappy.parquet","timestamp":1795000000000,"batchId":%d}'
#: What stands at the end of the log of entry N, and the finding: its code and severity.
LOGS = {
    "whole": (lambda entry: GOOD % (FILES, entry), None),
    "spelt otherwise": (lambda entry: json.dumps(json.loads(GOOD % (FILES, entry))), None),
    "of an earlier entry": (lambda entry: GOOD % (FILES, entry - 1), ("CKPT127", "error")),
    "cut off": (lambda entry: (GOOD % (FILES, entry))[:-5], ("CKPT102", "error")),
}


@pytest.fixture
def long_log(goldens, tmp_path):
    """A checkpoint, and its newest log entry with a last line."""

    def make(line):
        checkpoint = tmp_path / "checkpoint"
        shutil.copytree(goldens["4.3.0/file-to-parquet-5"] / "checkpoint", checkpoint)
        number = max(int(path.name) for path in (checkpoint / "sources/0").iterdir() if path.name.isdecimal())
        entry = checkpoint / "sources/0" / str(number)
        entry.with_name(f".{number}.crc").unlink()
        entry.write_text("\n".join(["v1", *(GOOD % (file, number - 1) for file in range(FILES)), line(number)]))
        assert entry.stat().st_size > limits.FILE_LOG_BYTES
        return Store.open(str(checkpoint)), f"sources/0/{number}"

    return make


@pytest.mark.parametrize("case", LOGS)
def test_a_log_of_170_000_files_is_judged(long_log, case):
    line, finding = LOGS[case]
    store, name = long_log(line)
    found = [(item.code, item.severity) for item in inspect(store, deep=True) if item.name == name]
    assert found == ([finding] if finding else [])


def test_a_log_that_no_driver_could_hold_is_not_copied(goldens, tmp_path):
    shutil.copytree(goldens["4.3.0/file-to-parquet-5"] / "checkpoint", tmp_path / "checkpoint")
    os.truncate(tmp_path / "checkpoint/sources/0/3", limits.SOURCE_ENTRY_BYTES + 1)
    with pytest.raises(TooLargeError, match="is larger than 4 GiB, so it is not copied") as refused:
        take_backup(Store.open(str(tmp_path / "checkpoint")), Store.open(str(tmp_path / "backups")))
    assert refused.value.name == "sources/0/3"
    assert not list((tmp_path / "backups").rglob("manifest.json"))
    assert not list((tmp_path / "backups").rglob("sources/0/3"))


def test_its_paths_are_not_rewritten_and_that_is_said(long_log, tmp_path):
    store, name = long_log(LOGS["whole"][0])
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "target"))
    backup = take_backup(store, root)
    assert any(name in warning for warning in make_restore(root, backup, target).warnings)
    with pytest.raises(PlanError, match=f"{name} cannot be rewritten"):
        make_restore(root, backup, target, path_rules=[PathRule("/in", "/elsewhere")])
