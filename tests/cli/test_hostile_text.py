"""Text of others in what people read: no escape sequence, no reversed text, no line that a CI system takes for its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.yaml_text import parse_yaml
from airflow_provider_ckpt.report.table import Table, render
from airflow_provider_ckpt.report.tables import findings_table
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.visible import visible, visible_json, visible_lines

#: What may not reach a terminal or a log.
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|^\\s*::|##(vso)?\\[", re.MULTILINE
)
HOSTILE = "\x1b[31mred\x1b[0m \x9b1m \u202eesrever\u202c \r::error::no \x07"


@pytest.mark.parametrize(("text", "shown"), [
    ("plain ü 漢 🙂\t", "plain ü 漢 🙂\t"),
    ("\x1b[2J", "\\x1b[2J"), ("a\x9bb", "a\\x9bb"), ("a\u202eb", "a\\u202eb"), ("a\nb\rc", "a\\nb\\rc"),
    ("a\u2028b", "a\\u2028b"), ("::error::x", "\\::error::x"), ("  ##[error]", "  ##\\[error]"), ("a\ud800", "a\ufffd"),
    ("no ::error:: inside", "no ::error:: inside"), ("a ##[error]b ##vso[task.x]", "a ##\\[error]b ##vso\\[task.x]"),
])  # fmt: skip
def test_what_is_hidden_is_spelled_out(text, shown):
    assert visible(text) == shown


def test_our_own_line_breaks_stay():
    assert visible_lines("a\n::b\x1b") == "a\n\\::b\\x1b"


def test_json_says_the_same():
    value = {"a": HOSTILE + "\u2066"}
    document = visible_json(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(document) == value and not RAW.search(document)


@pytest.fixture
def hostile_checkpoint(golden) -> Path:
    """Escapes in an offset, a conf, the query id, and the names of files."""
    checkpoint = golden("file-to-parquet-5")
    path = checkpoint / "offsets" / "4"
    version, line, _ = path.read_text().splitlines()
    fields = json.loads(line)
    fields["conf"]["x.y"] = fields["conf"]["spark.sql.shuffle.partitions"] = HOSTILE + "\n::error::x"
    (checkpoint / "offsets" / ".4.crc").unlink()
    path.write_bytes(f"{version}\n{json.dumps(fields)}\n".encode() + HOSTILE.replace("\r", "").encode())
    (checkpoint / "metadata").write_text(json.dumps({"id": HOSTILE + "\n::error::x"}))
    (checkpoint / ".metadata.crc").unlink()
    (checkpoint / "offsets" / "007\n::error::x\x1b[2J").write_text("x")
    (checkpoint / "commits" / "+8").write_text("\x1b[2J")
    return checkpoint


@pytest.mark.parametrize("arguments", [
    "show C", "show C --json", "log C", "log C --source 0=file", "diff C 3 4", "check C --deep", "check C --json",
    "check C --format junit", "check C --format sarif", "gate C --source 0=file", "gate C --format junit --conf x=\x1b",
    "wait C --offsets {\"0\":5} --source 0=rate --timeout 0.2 --poll-interval 0.1", "fleet C", "backup C --to B", "rollback C --to-batch 2",
    "history C", "undo C",
])  # fmt: skip
def test_no_command_prints_what_is_hidden(capsys, hostile_checkpoint, tmp_path, arguments):
    places = {"C": str(hostile_checkpoint), "B": str(tmp_path / "backups")}
    run([places.get(word, word) for word in arguments.split(" ")])
    said = capsys.readouterr()
    assert said.out + said.err
    assert not RAW.search(said.out + said.err), repr(RAW.search(said.out + said.err))


def test_an_error_is_one_visible_line():
    text = str(CheckpointError(f"cannot read {HOSTILE}\n", location="/x\n::error::y", name="\x1b[2J", hint="Look."))
    assert not RAW.search(text) and "\n" not in text


def test_a_task_log_shows_a_table_as_the_command_does(hostile_checkpoint):
    finding = Finding("CKPT101", "error", HOSTILE, None, "offsets/\x1b", "::error::x")
    text = render([findings_table([finding]), Table("[red]\x1b", ("",), (("\n::error::y",),))])
    assert not RAW.search(text) and "[red]" in text


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(("text", "said"), [
    (BOMB, "has the alias"), ("confs: &a {x: *a}", "has the alias"), ("[" * 100_000, "deeper than 50"),
    ("a: " + "x" * (2 << 20), "more than 1,048,576 characters"), ("confs: {a: \x1b}", "character U.001B"), ("sources: 99999999999", "sources"),
])  # fmt: skip
def test_yaml_is_bounded(text, said):
    with pytest.raises(ValueError, match=said):
        declare(DeploySpec(), parse_yaml(text))


def test_a_checkpoint_that_says_nothing_hidden_is_shown_as_it_is(golden):
    view = observe(Store.open(str(golden("file-to-parquet-5"))))
    assert visible(view.query_id or "") == view.query_id
