"""A copy that stands still is told from one that became a second query, by the entries of both logs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.fleet.find_twins import Twin, find_twins, groups_of, with_twins
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.store import Store
from tests.fleets import survey


@pytest.fixture
def copied(golden, tmp_path):
    """A checkpoint at ``live`` and a copy of it at ``copy``; the directory of both."""
    root = tmp_path / "lake"
    shutil.copytree(golden("file-to-parquet-5"), root / "live")
    shutil.copytree(root / "live", root / "copy")
    return root


def go_on(checkpoint: Path, batch_id: int, logOffset: int, at_ms: int = 0) -> None:  # noqa: N803  # as Spark has it
    """A further batch, planned and committed."""
    before = (checkpoint / "offsets" / str(batch_id - 1)).read_text().splitlines()
    metadata = json.loads(before[1])
    metadata["batchTimestampMs"] += at_ms
    text = "\n".join([before[0], json.dumps(metadata), json.dumps({"logOffset": logOffset})])
    (checkpoint / "offsets" / str(batch_id)).write_text(text)
    shutil.copy(checkpoint / "commits" / str(batch_id - 1), checkpoint / "commits" / str(batch_id))


def purge(checkpoint: Path, before: int) -> None:
    for log in ("offsets", "commits"):
        for batch in range(before):
            (checkpoint / log / str(batch)).unlink(missing_ok=True)


def both_run(root: Path) -> None:
    go_on(root / "live", 5, 5, 1_000)
    go_on(root / "copy", 5, 6, 2_000)


def one_is_behind(root: Path) -> None:
    go_on(root / "live", 5, 5, 1_000)
    go_on(root / "live", 6, 6, 5_000)
    go_on(root / "copy", 5, 6, 2_000)


def other_goes_on(root: Path) -> None:
    go_on(root / "live", 5, 5, 1_000)


def other_has_purged(root: Path) -> None:
    go_on(root / "live", 5, 5, 1_000)
    go_on(root / "live", 6, 6, 1_000)
    purge(root / "live", 5)


def nothing(root: Path) -> None:
    """Both as they were when one was copied."""


def damaged(root: Path) -> None:
    go_on(root / "live", 5, 5, 1_000)
    (root / "copy" / "offsets" / "4").write_bytes(b"nonsense")


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (both_run, "CKPT158"),
        (one_is_behind, "CKPT158"),
        (damaged, "CKPT158"),
        (other_goes_on, "CKPT159"),
        (other_has_purged, "CKPT159"),
        (nothing, "CKPT159"),
    ],
)
def test_a_second_query_is_told_from_a_copy(copied, happens, code):
    happens(copied)
    found = find_twins(survey(copied), Store.open)
    told = {location: [item.code for item in row.findings if item.code > "CKPT156"] for location, row in found.items()}
    assert told == {f"{copied}/{name}": [code] for name in ("live", "copy")}
    is_unsure = "it is not known" in found[f"{copied}/copy"].findings[-1].message
    assert is_unsure == (happens is damaged)


def test_an_error_where_both_are_declared_to_write_one_table(copied):
    both_run(copied)
    rows = survey(copied)
    found = find_twins(rows, Store.open, lambda _: "delta:/lake/t")
    assert {row.worst for row in found.values()} == {"error"}
    assert {row.worst for row in find_twins(rows, Store.open, lambda at: f"delta:{at}-t").values()} == {"warning"}


def test_the_command_says_it_in_both_rows(copied, capsys):
    both_run(copied)
    assert run(["fleet", str(copied), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["checkpoints"]
    assert [[item["code"] for item in row["findings"] if item["code"] > "CKPT156"] for row in rows] == [["CKPT158"]] * 2


LIVE, COPY = FleetRow("/live", "q", 7, 7, planned_at_ms=7), FleetRow("/copy", "q", 3, 3, planned_at_ms=3)
SAME, NEW = FleetRow("/copy", "q", 7, 7, planned_at_ms=7), FleetRow("/copy", "q")


def test_rows_with_one_query_id_are_together_the_newest_first():
    others = [FleetRow("/x", "x"), FleetRow("/none"), FleetRow("/old", "q", replaced_by="/live")]
    assert groups_of([COPY, *others, LIVE]) == [[LIVE, COPY]]
    assert groups_of([LIVE, LIVE]) == [], "one that was found twice"


@pytest.mark.parametrize(
    ("twin", "code", "severity", "of_live", "of_copy"),
    [
        (Twin(COPY, LIVE, "ran"), "CKPT158", "warning", "both have run since", "both have run since"),
        (Twin(COPY, LIVE, "ran", one_table=True), "CKPT158", "error", "the same table", "the same table"),
        (Twin(COPY, LIVE, "unknown"), "CKPT158", "warning", "could not be compared", "could not be compared"),
        (Twin(COPY, LIVE, "rests"), "CKPT159", "note", "/copy has", "this one is still at batch 3"),
        (
            Twin(NEW, LIVE, "rests"),
            "CKPT159",
            "note",
            "is still before the first batch",
            "before the first batch of it",
        ),
        (
            Twin(SAME, LIVE, "rests"),
            "CKPT159",
            "note",
            "/copy has the same query id and is at batch 7 as",
            "at batch 7 as",
        ),
    ],
)
def test_both_rows_say_it(twin, code, severity, of_live, of_copy):
    found = with_twins([twin])
    assert {(item.code, item.severity) for row in found.values() for item in row.findings} == {(code, severity)}
    assert of_live in found["/live"].findings[0].message and of_copy in found["/copy"].findings[0].message
