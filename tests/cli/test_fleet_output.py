"""What ``ckpt fleet`` shows, also of a search that was interrupted."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import fleet as fleet_command
from airflow_provider_ckpt.cli.fleet_output import urgency
from airflow_provider_ckpt.fleet.row import FleetRow
from tests.fleets import ckpt_fleet


def test_of_equal_rows_what_expires_first_is_first():
    rows = [FleetRow("a"), FleetRow("b", expires_ms=9), FleetRow("c", expires_ms=4), FleetRow("d", error="unreadable")]
    assert [row.location for row in sorted(rows, key=urgency)] == ["d", "c", "b", "a"]


def test_the_first_line_says_how_many_rows_there_are_where_some_are_no_checkpoint_that_was_read(
    capsys, fleet, tmp_path
):
    root = fleet("a")
    (root / "gone").symlink_to(tmp_path / "nowhere")
    _, out, _ = ckpt_fleet(capsys, root)
    assert out.startswith("1 of 2 locations not readable; 1 checkpoint: 0 with errors, 0 with warnings;")


@pytest.mark.parametrize("document", ["json", "text"])
def test_an_interrupt_leaves_a_whole_document_that_says_how_far_it_came(capsys, fleet, monkeypatch, document):
    root = fleet("a", "b", "c")
    judge = fleet_command.judge_checkpoints

    def interrupted(*given: object, **options: object):
        for number, row in enumerate(judge(*given, **options)):
            if number == 2:
                raise KeyboardInterrupt
            yield row

    monkeypatch.setattr(fleet_command, "judge_checkpoints", interrupted)
    code, out, err = ckpt_fleet(capsys, root, "--format", document, "--index", root.parent / "index")
    assert code == 130 and "Interrupted after 2 rows" in err and not (root.parent / "index").exists()
    if document == "json":
        told = json.loads(out)
        assert [row["location"] for row in told["checkpoints"]] == [f"{root}/a", f"{root}/b"]
        assert (told["summary"]["complete"], told["summary"]["last"]) == (False, f"{root}/b")
    else:
        assert out.startswith("Interrupted, and not complete: 2 checkpoints")


def test_an_interrupt_before_there_is_a_result_leaves_a_document_as_well(capsys, fleet, monkeypatch):
    def interrupted(*_: object, **__: object):
        raise KeyboardInterrupt

    monkeypatch.setattr(fleet_command, "find_checkpoints", interrupted)
    code, out, _ = ckpt_fleet(capsys, fleet("a"), "--json")
    assert (code, json.loads(out)["error"]["code"]) == (130, "INTERRUPTED")
