"""ckpt explain: what is a text, what is a location, and what it answers."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys

import pytest

from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.explain.read_index import read_pages
from tests.explain.traces import TRACED, TRACES
from tests.oracle.corpus import CASES
from tests.oracle.prepared import prepare

TEXT = "batch 3 doesn't exist"
LOG = TRACES / "4.3/source-log-short.log"
READ = "\tat org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog.get(HDFSMetadataLog.scala:1)\n"


@pytest.fixture
def broken(tmp_path) -> str:
    return str(prepare(CASES["file | drop offsets/{N-1}"], tmp_path))


def explained(capsys, *arguments: str, code: int = 0) -> dict:
    assert run(["explain", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_rules_are_listed_as_before(capsys):
    found = explained(capsys)["explanations"]
    assert [(item["code"], item["title"]) for item in found] == list(RULES.items())
    (item,) = explained(capsys, "ckpt110")["explanations"]
    assert item["code"] == "CKPT110" and "Predecessor" in item["text"] and item["cause"] is None
    assert run(["explain", "CKPT999"]) == 2


@pytest.mark.parametrize(
    "words", [[TEXT], ["-"], ["--log", str(LOG)], [f"java.lang.IllegalStateException: {TEXT}"]], ids=str
)
def test_a_text_from_everywhere(capsys, monkeypatch, words):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.read_bytes())))
    document = explained(capsys, *words)
    assert {item["page"] for item in document["explanations"]} == {"batch-does-not-exist"}
    assert document["explanations"][0]["evidence"] is None


@pytest.mark.parametrize("text", ["-", "CONCURRENT_STREAM_LOG_UPDATE", "ckpt110"])
def test_a_location_with_white_space_behind_what_can_only_be_the_text(capsys, monkeypatch, tmp_path, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert run(["explain", text, f"{tmp_path}/the orders"]) == 3
    assert f"{tmp_path}/the orders: the location does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["CONCURRENT_STREAM_LOG_UPDATE", "[CONCURRENT_STREAM_LOG_UPDATE]"])
def test_a_condition(capsys, name):
    document = explained(capsys, name)
    assert {item["condition"] for item in document["explanations"]} == {"CONCURRENT_STREAM_LOG_UPDATE"}


def test_with_a_location_comes_the_evidence(capsys, broken):
    (item,) = explained(capsys, TEXT, broken)["explanations"]
    assert item["evidence"]["result"] == "confirmed"
    assert item["command"] == item["evidence"]["findings"][0]["commands"][0]
    assert broken in item["command"]


def test_a_path_with_white_space_is_a_location_when_it_is_a_directory(capsys, tmp_path):
    checkpoint = prepare(CASES["file | drop offsets/{N-1}"], tmp_path / "with white space")
    assert explained(capsys, TEXT, str(checkpoint))["location"] == str(checkpoint)


@pytest.mark.parametrize(
    "text",
    [
        "file:/data/ck/sources/0/2 doesn't exist (latestId: 4)",
        "/data/out/_spark_metadata/0 doesn't exist when compacting batch 9",
    ],
)
def test_a_text_that_begins_with_a_path_is_a_text(capsys, text):
    assert explained(capsys, text)["explanations"]


def test_what_is_not_known_is_said(capsys):
    assert explained(capsys, "hello", code=1)["explanations"] == []
    document = explained(capsys, "java.lang.OutOfMemoryError: heap", code=1)
    assert document["unknown"][0]["message"] == "OutOfMemoryError: heap"
    assert explained(capsys, "DIVIDE_BY_ZERO", code=1)["explanations"][0]["command"] is None
    assert run(["explain", "hello"]) == 1
    assert "does not know this text" in capsys.readouterr().out


def test_a_location_that_is_not_there(tmp_path):
    assert run(["explain", TEXT, str(tmp_path / "nowhere")]) == 3


@pytest.mark.parametrize(
    "words", [["s3://lake/ck"], [TEXT, "--log", str(LOG)], ["--log", "/no/such/file"], ["--log", str(TRACES)]], ids=str
)
def test_what_makes_no_sense_is_refused(words):
    assert run(["explain", *words]) == 2


def test_a_log_that_is_packed_and_one_that_is_cut(capsys, tmp_path):
    packed = tmp_path / "driver.log.gz"
    packed.write_bytes(gzip.compress(LOG.read_bytes()))
    assert explained(capsys, "--log", str(packed))["explanations"]
    packed.write_bytes(packed.read_bytes()[:-20])
    assert run(["explain", "--log", str(packed)]) == 2


def test_a_line_without_an_end_and_bytes_that_are_no_text(capsys, tmp_path):
    log = tmp_path / "driver.log"
    log.write_bytes(b"\xff" * 300_000 + b"\nbatch 3 doesn't exist\n")
    assert explained(capsys, "--log", str(log))["explanations"]


def test_an_answer_is_80_columns_wide_but_for_titles_and_commands(capsys, broken):
    assert run(["explain", TEXT, broken]) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == TEXT, "the words of the user"
    assert [line for line in lines if len(line) > 80 and not line.startswith("    ckpt ")] == []


def test_hostile_text_moves_no_cursor(capsys):
    assert run(["explain", f"\x1b[2J{TEXT}\u202e of \x07 /ck\x1b[1m/offsets/3"]) == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_a_rule_on_a_checkpoint(capsys, broken):
    found = {item["code"]: item for item in explained(capsys, "CKPT110", "ckpt123", broken)["explanations"]}
    assert {code: item["evidence"]["result"] for code, item in found.items()} == {
        "CKPT110": "confirmed",
        "CKPT123": "contradicted",
    }
    assert found["CKPT110"]["title"] == RULES["CKPT110"]
    assert "--to-batch 2" in " ".join(found["CKPT110"]["commands"])
    assert run(["explain", "CKPT999", broken]) == 2
    assert run(["explain", "CKPT110", broken]) == 0
    assert "CKPT110: Predecessor of the newest batch missing" in capsys.readouterr().out


def test_standard_input_that_is_closed(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["explain", "-"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-"], ["--log", "FILE"]], ids=str)
@pytest.mark.parametrize(
    ("encoding", "mark", "code"),
    [("utf-16-le", b"\xff\xfe", 0), ("utf-16-be", b"\xfe\xff", 0), ("utf-16-le", b"", 2), ("utf-16-be", b"", 2)],
)
def test_utf_16(capsys, monkeypatch, tmp_path, words, encoding, mark, code):
    data = mark + LOG.read_text().encode(encoding)
    log = tmp_path / "driver.log"
    log.write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(["explain", *(str(log) if word == "FILE" else word for word in words)]) == code
    said = capsys.readouterr()
    assert ("is not UTF-8" in " ".join(said.err.split())) == (code == 2)
    assert ("batch-does-not-exist" in said.out) == (code == 0)


@pytest.mark.parametrize("line_feed", [b"\n", b"\r\n"])
def test_blank_lines_have_their_numbers(capsys, tmp_path, line_feed):
    log = tmp_path / "driver.log"
    log.write_bytes(b"hello" + line_feed * 300_000 + TEXT.encode() + line_feed * 3)
    assert {item["line"] for item in explained(capsys, "--log", str(log))["explanations"]} == {300_001}


def test_a_log_that_begins_with_a_hole(capsys, tmp_path):
    """Rotated by copying and cutting while the driver wrote on."""
    log = tmp_path / "driver.log"
    log.write_bytes(bytes(5000) + b"\nbatch 3 doesn't exist\n")
    assert explained(capsys, "--log", str(log))["explanations"]


#: An example of the runbook: a location, a backup, a batch, a sink, a table.
EXAMPLE = re.compile(r"s3://\w+/|--to-batch \d|--skip-version \d|broker:9092")


def test_a_command_has_the_location_and_words_in_capitals(capsys, broken):
    assert run(["explain", "KAFKA_DATA_LOSS", broken]) == 0
    out = capsys.readouterr().out
    assert not EXAMPLE.search(out) and "Repair (fill in the words in capitals):" in out
    assert f"ckpt reset-offsets {broken} " in out.partition("Repair ")[2]
    assert run(["explain", "KAFKA_DATA_LOSS"]) == 0
    assert "ckpt reset-offsets LOCATION " in capsys.readouterr().out


@pytest.mark.parametrize("page", [page.name for page in read_pages()])
def test_no_command_of_a_page_has_an_example_beside_what_is_given(capsys, page):
    run(["explain", page, "--sink", "file:/data/out"])
    commands = [line for line in capsys.readouterr().out.splitlines() if "ckpt " in line and "--" in line]
    assert not [line for line in commands if EXAMPLE.search(line)]
    assert not [line for line in commands if "--sink " in line and "file:/data/out" not in line]


def test_a_torn_entry_has_the_commands_that_give_up_the_least_first(capsys, tmp_path):
    """With what makes the effect on the sink exact."""
    checkpoint = prepare(CASES["file"], tmp_path)
    newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdecimal())
    (checkpoint / f"commits/.{newest}.crc").unlink(missing_ok=True)
    (checkpoint / f"commits/{newest}").write_text("v1\n{")
    trace = "com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input in field name\n" + READ
    (item,) = explained(capsys, trace, str(checkpoint), "--sink", "file:/data/out")["explanations"]
    changes = [command for command in item["commands"] if not command.startswith("ckpt check ")]
    assert [command.split()[1] for command in changes] == ["rollback", "salvage", "rollback", "restore"]
    assert all("--sink file:/data/out --trim-sink-log" in command for command in changes[:3])
    assert (
        " --to-backup ROOT/ID " in changes[0]
        and f" --to-batch {newest - 1} " in changes[2]
        and "TYPE[:URI]" not in " ".join(changes)
    )


def test_a_log_is_unpacked_whatever_its_name(capsys, tmp_path):
    for name in ("driver.log.gz", "driver.log"):
        (tmp_path / name).write_bytes(gzip.compress(TEXT.encode()))
        assert explained(capsys, "--log", str(tmp_path / name))["explanations"]


def test_the_log_of_a_sink_that_its_readers_miss_is_no_file_that_a_rule_deleted(capsys, tmp_path):
    checkpoint = prepare(CASES[TRACED["sink-log-hole"]], tmp_path)
    sink = f"file:{checkpoint.parent / 'output'}"
    text = f"java.io.FileNotFoundException: {sink}/_spark_metadata/9.compact doesn't exist (latestId: 14, compactInterval: 10)"
    (item,) = explained(capsys, text, str(checkpoint), "--sink", sink)["explanations"]
    assert item["page"] == "batch-metadata-not-found"
    assert f"ckpt repair {checkpoint} --sink {sink}" in item["commands"]


def test_a_text_of_another_checkpoint_says_so_first(capsys, broken):
    assert run(["explain", "batch 41 doesn't exist", broken]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The text speaks of batch 41, and the checkpoint lacks offsets/3 (CKPT110).")
    assert broken not in out.partition("Repair ")[2]
    (item,) = explained(capsys, "batch 41 doesn't exist", broken)["explanations"]
    assert item["evidence"]["result"] == "unknown"
    assert item["command"] == f"ckpt check {broken} --deep"


USERS = (
    "pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] terminated with "
    "exception: Job aborted due to stage failure: Task 0 in stage 12.0 failed 4 times, most recent failure: Lost task 0.3 "
    'in stage 12.0 (TID 40) (10.0.0.1 executor 1): java.lang.NumberFormatException: For input string: "N/A"'
)


@pytest.mark.parametrize("with_location", [False, True])
def test_an_exception_that_the_query_may_have_thrown_is_no_cause(capsys, tmp_path, with_location):
    whole = [str(prepare(CASES["file"], tmp_path))] if with_location else []
    (item,) = explained(capsys, USERS, *whole, code=1)["explanations"]
    assert (item["cause"], item["certainty"], item["shown_by"], item["text"]) == (None, "possible", [], None)
    assert run(["explain", USERS, *whole]) == 1
    out = capsys.readouterr().out
    assert 'NumberFormatException: For input string: "N/A"' in out.splitlines()[0]
    assert "Cause:" not in out and "Repair:" not in out and "Not proven: " in out
    assert {line.split()[1] for line in out.splitlines() if line.startswith("    ckpt ")} <= {"check", "show"}


def test_a_cause_that_the_checkpoint_does_not_show_is_not_told_as_one(capsys, tmp_path):
    assert run(["explain", "[MALFORMED_LOG_FILE] Log file", str(prepare(CASES["file"], tmp_path))]) == 0
    out = capsys.readouterr().out
    assert "does not show this cause" in " ".join(out.split()) and "Cause:" not in out


PARSED = 'java.lang.NumberFormatException: For input string: "N/A"\n\tat com.acme.Parse.call(Parse.java:3)\n'
CALLED = "\tat org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink.addBatch(ForeachBatchSink.scala:34)\n"


def test_the_frame_of_the_query_that_threw_is_named(capsys):
    (item,) = explained(capsys, PARSED + CALLED, code=1)["unknown"]
    assert item["thrown_by"] == "com.acme.Parse.call"
    assert run(["explain", PARSED + CALLED]) == 1
    out = capsys.readouterr().out
    assert "The query's own code threw it, or called what did: com.acme.Parse.call." in out
    assert "ckpt check" not in out


@pytest.mark.parametrize("text", [PARSED, f"{PARSED}\tat com.mongodb.spark.Sink.write(Sink.java:1)\n{CALLED}"])
def test_whose_code_threw_is_not_said_where_nothing_shows_it(capsys, text):
    (item,) = explained(capsys, text, code=1)["unknown"]
    assert item["thrown_by"] is None
    assert run(["explain", text]) == 1
    assert "own code" not in capsys.readouterr().out


@pytest.mark.parametrize("directory", ["offsets", "commits", "state"])
@pytest.mark.parametrize(
    "text",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/rates/{}/2026.json'",
        'Traceback (most recent call last):\n  File "/opt/app/orders.py", line 7, in to_cents\n    open(path)\n'
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/rates/{}/2026.json'",
    ],
)
def test_a_directory_of_data_is_no_location_of_a_checkpoint(capsys, text, directory):
    document = explained(capsys, text.format(directory), code=1)
    assert document["location"] is None and document["explanations"] == []
    assert run(["explain", text.format(directory)]) == 1
    assert "/data/rates " not in capsys.readouterr().out.replace("\n", " ")


HOLE = "[BATCH_METADATA_NOT_FOUND] Unable to find batch {}/_spark_metadata/5."


def test_a_sink_that_is_given_is_read(capsys, tmp_path):
    checkpoint = prepare(CASES[TRACED["sink-log-hole"]], tmp_path)
    sink = f"file:{checkpoint.parent / 'output'}"
    text = HOLE.format(sink)
    (item,) = explained(capsys, text, str(checkpoint))["explanations"]
    assert item["evidence"]["result"] == "unknown"
    (item,) = explained(capsys, text, str(checkpoint), "--sink", sink)["explanations"]
    assert item["evidence"]["result"] == "confirmed"
    assert {"kind": "finding", "value": "CKPT142"} in item["shown_by"]
    assert all(f"--sink {sink}" in command for command in item["commands"] if "--sink" in command)


def test_a_source_that_makes_no_sense_is_refused(broken):
    assert run(["explain", TEXT, broken, "--source", "0=nothing:x"]) == 2


@pytest.mark.parametrize("condition", ["COULD_NOT_READ_OFFSET_RANGE", "PARTITION_OFFSET_CHANGED", "START_OFFSET_RESET"])
def test_the_gate_comes_before_a_reset(capsys, condition):
    for item in explained(capsys, f"KAFKA_DATA_LOSS.{condition}")["explanations"]:
        assert item["command"].startswith("ckpt gate ")
        assert any(command.startswith("ckpt reset-offsets ") for command in item["commands"])
