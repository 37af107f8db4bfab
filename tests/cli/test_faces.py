"""What people see: one spelling of times, headers over columns, the width they ask for, hints that can be followed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def ckpt(capsys):
    """The command as the shell runs it: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_a_query_without_a_watermark_has_none(ckpt, golden):
    checkpoint = golden("file-to-parquet-12")
    for command in ("show", "log", "gate"):
        assert "1970" not in ckpt(command, checkpoint)[1], command
    shown = json.loads(ckpt("show", checkpoint, "--json")[1])
    assert (shown["watermark_ms"], shown["watermark"]) == (None, None)
    (row,) = json.loads(ckpt("log", checkpoint, "--batch", 5, "--json")[1])["batches"]
    assert (row["watermark_ms"], row["watermark"], row["next_watermark_ms"]) == (None, None, None)


def test_times_are_spelled_in_one_way(ckpt, golden):
    checkpoint = golden("agg-hdfs")
    for command in (("show",), ("log", "--last", 2), ("gate",)):
        out = ckpt(command[0], checkpoint, *command[1:])[1]
        assert "2026-01-01T00:00:40.000Z" in out and "+00:00" not in out, command


def test_every_column_has_a_header_and_nothing_is_none(ckpt, golden):
    checkpoint = golden("file-to-parquet-12")
    _, out, _ = ckpt("diff", checkpoint, 3, 5, "--source", "0=file")
    assert all(header in out for header in ("source", "type", "partition", "read", "unit"))
    for command in (("log",), ("diff", 3, 5), ("log", "--batch", 0)):
        assert "None" not in ckpt(command[0], checkpoint, *command[1:])[1]


def test_the_width_that_is_asked_for_is_kept_by_tables(ckpt, golden, monkeypatch):
    checkpoint = golden("agg-hdfs")
    for columns, widest in ((None, 160), ("70", 70), ("nonsense", 160)):
        monkeypatch.setenv("COLUMNS", columns) if columns else monkeypatch.delenv("COLUMNS", raising=False)
        tables = [line for line in ckpt("show", checkpoint)[1].splitlines() if line[:1] in "┌┏┃┡│├└"]
        assert 60 < max(map(len, tables)) <= widest


@pytest.mark.parametrize(("command", "said"), [
    (("log", "--source", "7=file"), "the query has no source '7'; it has 0"),
    (("diff", 3, 5, "--source", "orders=file"), "the query has no source 'orders'"),
    (("log", "--source", "0=fiel"), "source 0: unknown source type 'fiel'"),
    (("wait", "--batch", 1, "--source", "0=kafak:host:9092"), "unknown source type 'kafak'"),
    (("rollback", "--to-batch", 1, "--source", "0=fiel"), "unknown source type 'fiel'"),
])  # fmt: skip
def test_a_source_that_makes_no_sense_is_a_usage_error(ckpt, golden, command, said):
    code, _, err = ckpt(command[0], golden("file-to-parquet-12"), *command[1:])
    assert code == 2 and said in err


def test_a_conf_that_nobody_sets_is_not_said_to_be_overridden(ckpt, golden):
    assert "overridden" not in ckpt("gate", golden("file-to-parquet-12"))[1]


def test_no_hint_goes_back_to_a_batch_that_is_not_there(ckpt, golden):
    checkpoint = golden("file-to-parquet-5")
    for log in ("offsets", "commits"):
        for entry in (checkpoint / log).iterdir():
            if entry.name.strip(".").partition(".")[0] != "0":
                entry.unlink()
    (checkpoint / "offsets" / "0").write_bytes(b"")
    _, out, _ = ckpt("check", checkpoint, "--json")
    hints = [item["hint"] for item in json.loads(out)["findings"] if item["code"] == "CKPT101"]
    assert hints and all("there is no batch before it that can be rolled back to" in hint for hint in hints)


def test_a_full_disk_may_have_room_later(tmp_path: Path):
    error = Store.open(str(tmp_path)).typed_error(OSError(errno.ENOSPC, "No space left on device"), "offsets/6")
    assert isinstance(error, StoreUnavailableError) and error.exit_code == 5 and "No space left" in str(error)


COMMAND = [sys.executable, "-c", "from airflow_provider_ckpt.cli import main; main()", "explain", "--json"]


def test_a_reader_that_has_seen_enough_and_a_locale_without_letters_are_no_errors():
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as early:
        early.stdout.close()
        assert (early.wait(60), early.stderr.read()) == (141, b""), "an answer that nobody has read is no yes"
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run([*COMMAND[:-2], "show", "/no/such/ü"], env=plain, capture_output=True, timeout=60)
    assert done.returncode == 3 and b"Traceback" not in done.stderr


def test_a_document_is_one_line_for_a_program_that_keeps_the_last_line(ckpt, golden):
    _, out, _ = ckpt("show", golden("agg-hdfs"), "--json")
    assert json.loads(out.splitlines()[-1]) == json.loads(out)
