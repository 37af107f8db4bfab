"""``ckpt fleet``: a row per checkpoint, a summary, and an exit code that says whether all is well."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.fleet.index import FleetIndex, index_row
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.fleet.write_index import put_index
from airflow_provider_ckpt.report.query_tables import queries_table
from airflow_provider_ckpt.report.tables import fleet_table
from airflow_provider_ckpt.sources.lag import SourceLag
from airflow_provider_ckpt.storage.store import Store
from tests.fleets import ckpt_fleet, damage, teams


def test_a_search_ends_below_the_deepest_directory_however_deep_it_may_go(capsys, fleet):
    code, out, _ = ckpt_fleet(capsys, fleet("a", "b/c"), "--depth", 2**63 - 1, "--json")
    assert code == 0 and len(json.loads(out)["checkpoints"]) == 2


def test_a_row_for_each_checkpoint_worst_first_and_a_line_that_sums_up(capsys, fleet):
    root = fleet("a", "b", "c/d")
    damage(root / "c" / "d" / "offsets" / "7")
    code, out, err = ckpt_fleet(capsys, root)
    title, _, table = out.partition("\n")[2].partition("┏")
    rows = table.splitlines()[3:]
    assert code == 1 and err == "" and "".join(title.split()) == f"Checkpointsbelow{root}/"
    assert [line.split()[1] for line in rows[:4]] == ["c/d", "CKPT102", "a", "b"]
    assert "error" in rows[0] and "pass" not in out
    not_judged = "; not judged: state, source logs, checksum files"
    assert out.splitlines()[0] == f"3 checkpoints: 1 with errors, 0 with warnings{not_judged}"
    assert "per checkpoint." in out.splitlines()[-1]


def test_a_healthy_fleet_ends_with_0(capsys, fleet):
    code, out, _ = ckpt_fleet(capsys, fleet("a", "b"))
    assert code == 0 and "2 checkpoints: 0 with errors" in out


def test_a_warning_ends_with_0(capsys, fleet):
    root = fleet("q")
    (root / "q" / "commits" / "7").unlink()
    (root / "q" / "offsets" / "5").write_bytes((root / "q" / "offsets" / "6").read_bytes())
    (root / "q" / "commits" / "6").rename(root / "q" / "commits" / "5")
    code, out, _ = ckpt_fleet(capsys, root)
    assert code == 0 and "CKPT113" in out and "1 with warnings" in out


def test_json_is_one_document_with_rows_in_the_order_of_directories(capsys, fleet):
    root = fleet("z", "a/b")
    damage(root / "a" / "b" / "metadata")
    code, out, _ = ckpt_fleet(capsys, root, "--json")
    document = json.loads(out)
    assert code == 1 and list(document) == ["format_version", "checkpoints", "summary"]
    healthy, damaged = document["checkpoints"]
    assert healthy["location"] == f"{root}/z" and healthy["findings"] == [] and healthy["error"] is None
    assert (healthy["latest_planned_batch"], healthy["latest_committed_batch"], healthy["in_flight"]) == (7, 7, None)
    assert healthy["query_id"] and healthy["watermark_ms"] == 1767225640000 and healthy["last_commit_age_ms"] > 0
    assert damaged["query_id"] is None and [item["code"] for item in damaged["findings"]] == ["CKPT102"]
    requests = document["summary"].pop("requests")
    assert healthy["decision"] is None and healthy["unknown"] == ["state", "source logs", "checksum files"]
    assert document["summary"] == {
        "complete": True,
        "last": None,
        "decision": None,
        "unknown": ["state", "source logs", "checksum files"],
        "checkpoints": 2,
        "errors": 1,
        "warnings": 0,
        "notes": 0,
        "unreadable": 0,
        "replaced": 0,
        "blocked": 0,
        "sources_unreadable": 0,
        "not_searched": 0,
        "no_checkpoints": {"empty_directories": 0, "files": 0, "first": []},
        "requests_per_checkpoint": requests / 2,
    }


def test_an_empty_fleet(capsys, tmp_path):
    code, out, err = ckpt_fleet(capsys, tmp_path, "--json")
    assert code == 3 and json.loads(out)["checkpoints"] == [] and "there is no checkpoint here" in err
    assert json.loads(out)["summary"]["requests_per_checkpoint"] is None
    code, out, _ = ckpt_fleet(capsys, tmp_path, "--allow-empty")
    assert code == 0 and out.startswith("0 checkpoints")


def test_several_roots_and_how_deep_to_look(capsys, fleet):
    root = fleet("a/q", "b/c/q", "b/q")
    _, out, _ = ckpt_fleet(capsys, root / "a", root / "b", "--depth", 1, "--threads", 1, "--json")
    assert [item["location"] for item in json.loads(out)["checkpoints"]] == [f"{root}/a/q", f"{root}/b/q"]


def test_deep_finds_what_a_look_does_not(capsys, golden):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "state" / "0" / "0" / "8.delta").unlink()
    assert ckpt_fleet(capsys, checkpoint)[0] == 0
    code, out, _ = ckpt_fleet(capsys, checkpoint, "--deep")
    assert code == 1 and "CKPT130" in out


def test_may_the_whole_fleet_be_deployed(capsys, fleet):
    root = fleet("a", "b")
    (root / "a" / "metadata").unlink()
    code, out, _ = ckpt_fleet(capsys, root, "--spark-version", "4.3", "--json")
    document = json.loads(out)
    assert code == 1 and [item["decision"] for item in document["checkpoints"]] == ["block", "warn"]
    assert document["summary"]["blocked"] == 1
    code, out, _ = ckpt_fleet(capsys, root / "b", "--conf", "spark.sql.shuffle.partitions=8")
    assert code == 1 and "decision" in out and "block" in out and "CKPT201" in out


DECLARED = ("--spark-version", "4.3", "--conf", "spark.sql.shuffle.partitions=2")


@pytest.mark.parametrize("declared", [DECLARED[:2], DECLARED[2:], (*DECLARED[:3], "spark.sql.shuffle.partitions=8")])
@pytest.mark.parametrize(("fleet_reads", "gate_reads"), [((), ("--quick",)), (("--deep",), ())])
@pytest.mark.parametrize("damaged", [None, "state/0/0/8.delta", "metadata", "offsets/7"])
def test_a_fleet_decides_as_a_gate_does(capsys, golden, damaged, fleet_reads, gate_reads, declared):
    """The same decision, the same names for what was not judged, in the first line and in JSON; the same exit code."""
    checkpoint = golden("agg-hdfs")
    if damaged:
        (checkpoint / damaged).write_bytes(b"")
    gate_code = run(["gate", str(checkpoint), *declared, *gate_reads, "--json"])
    gate = json.loads(capsys.readouterr().out)
    code, out, _ = ckpt_fleet(capsys, checkpoint, *declared, *fleet_reads, "--json")
    (row,) = json.loads(out)["checkpoints"]
    summary = json.loads(out)["summary"]
    assert (row["decision"], row["unknown"]) == (gate["decision"], gate["unknown"])
    assert (summary["decision"], summary["unknown"]) == (gate["decision"], gate["unknown"])
    assert code == gate_code and row["decision"] != "pass", "sources, operators and the sink were not declared"
    first = ckpt_fleet(capsys, checkpoint, *declared, *fleet_reads)[1].splitlines()[0]
    assert first.startswith(f"{gate['decision'].upper()} 1 checkpoint: ")
    assert first.endswith(f"; not judged: {', '.join(gate['unknown'])}")


def test_a_root_that_is_a_file_is_a_row_and_the_others_are_judged(capsys, fleet, tmp_path):
    root = fleet("q", "p")
    damage(root / "q" / "metadata")
    (tmp_path / "file").write_text("x")
    code, out, _ = ckpt_fleet(capsys, tmp_path / "file", root, "--json")
    rows = json.loads(out)["checkpoints"]
    assert code == 1 and [row["location"] for row in rows] == [f"{tmp_path}/file", f"{root}/p", f"{root}/q"]
    assert "a file, not a directory" in rows[0]["error"] and rows[2]["findings"]
    code, out, _ = ckpt_fleet(capsys, tmp_path / "file", root)
    assert code == 1 and out.startswith("1 of 3 locations not readable; 2 checkpoints: 1 with errors, 0 with warnings;")


def test_what_is_no_checkpoint_is_told_in_one_line_and_changes_no_exit_code(capsys, fleet):
    root = fleet("q")
    (root / "lost").mkdir()
    code, out, _ = ckpt_fleet(capsys, root)
    assert (
        code == 0 and f"\n1 empty directory ({root}/lost) is no checkpoint. If a query had its checkpoint there" in out
    )
    no_checkpoints = json.loads(ckpt_fleet(capsys, root, "--json")[1])["summary"]["no_checkpoints"]
    assert no_checkpoints == {"empty_directories": 1, "files": 0, "first": [f"{root}/lost"]}


def test_a_root_that_is_not_there_prints_no_rows(capsys, tmp_path):
    code, out, err = ckpt_fleet(capsys, tmp_path / "nope", "--json")
    assert code == 3 and json.loads(out)["error"]["code"] == "NOT_FOUND" and "nope" in err


def test_a_storage_that_is_down(capsys, s3_down):
    arguments = [part for option in s3_down.items() for part in ("--storage-option", "=".join(option))]
    code, out, _ = ckpt_fleet(capsys, "s3://bucket/lake", "--json", *arguments)
    assert code == 5 and json.loads(out)["error"]["code"] == "STORE_UNAVAILABLE"


@pytest.mark.parametrize("arguments", [(), ("/x", "--depth", "-1"), ("/x", "--threads", "0"), ("/x", "--spark-version", "2.4"), ("/x", "--conf", "k")])  # fmt: skip
def test_usage_errors(capsys, arguments):
    assert ckpt_fleet(capsys, *arguments)[0] == 2


def test_a_name_that_is_no_text_is_shown_all_the_same(capsys, fleet):
    root = fleet("q")
    (root / "q").rename(os.fsdecode(os.fsencode(root) + b"/q-\xff"))
    assert ckpt_fleet(capsys, root)[0] == 0
    code, out, _ = ckpt_fleet(capsys, root, "--json")
    assert code == 0 and Path(json.loads(out)["checkpoints"][0]["location"]).is_dir()


@pytest.mark.s3
def test_requests_are_counted_and_few(capsys, goldens, s3_server, s3_store):
    lake = s3_store("lake")
    for name in teams(5, of=2):
        source = goldens["4.3.0/agg-hdfs"] / "checkpoint"
        for path in source.rglob("*"):
            if path.is_file() and not path.name.endswith(".crc"):
                lake.create(f"{name}/{path.relative_to(source).as_posix()}", path.read_bytes())
    options = ("key=test", "secret=test", f"endpoint_url={s3_server}")
    arguments = [part for option in options for part in ("--storage-option", option)]
    code, out, _ = ckpt_fleet(capsys, lake.location, "--json", *arguments)
    summary = json.loads(out)["summary"]
    assert code == 0 and summary["checkpoints"] == 5
    assert 5 <= summary["requests_per_checkpoint"] <= 6


@pytest.mark.parametrize(("seconds", "shown"), [(5, "5 s"), (119, "119 s"), (7200, "2 h"), (3 * 86_400 + 5, "3 d")])
def test_how_long_ago_the_last_commit_was(seconds, shown):
    table = fleet_table([FleetRow("q", last_commit_age_ms=seconds * 1000), FleetRow("p")])
    column = table.columns.index("last commit")
    assert [row[column] for row in table.rows] == [f"{shown} ago", None]


@pytest.mark.parametrize(
    ("unread", "in_flight", "said"),
    [(5, None, "stalled"), (None, 2, "stalled"), (0, 2, "stalled"), (None, None, "stalled or idle"), (0, None, None)],
)
def test_a_query_is_stalled_where_it_has_something_to_do_and_not_where_it_has_read_all(unread, in_flight, said):
    sources = None if unread is None else (SourceLag("0", "kafka", "offsets", unread),)
    row = FleetRow(
        "q",
        latest_planned_batch=in_flight or 1,
        latest_committed_batch=1,
        in_flight=in_flight,
        last_commit_age_ms=600_000,
        stalled_ms=600_000,
        sources=sources,
    )
    fleet, (queries, _) = fleet_table([row]), queries_table([QueryRow("q", "q", checkpoint=row)], 400)
    for shown in (str(fleet.rows), str(queries.rows)):
        assert (f"{said}'" in shown) if said else ("stalled" not in shown)
    assert index_row(row).state == (said or "committed")


def test_an_index_is_written_beside_what_is_printed(capsys, fleet, tmp_path):
    root = fleet("a", "b")
    damage(root / "b" / "offsets" / "7")
    code, out, err = ckpt_fleet(capsys, root, "--index", tmp_path / "index", "--backup-root", tmp_path, "--json")
    assert code == 1 and err == "" and len(json.loads(out)["checkpoints"]) == 2
    index = IndexReader().read(Store.open(str(tmp_path / "index")))
    assert [(row.location, row.worst) for row in index.rows] == [(f"{root}/a", None), (f"{root}/b", "error")]


def test_an_older_index_is_not_written_over_a_newer_one(capsys, fleet, tmp_path):
    root = fleet("a")
    newer = FleetIndex(now_ms() + 600_000, 0, (), ())
    put_index(Store.open(str(tmp_path / "index")), newer)
    code, _, err = ckpt_fleet(capsys, root, "--index", tmp_path / "index")
    assert (code, err) == (0, f"{tmp_path}/index: a newer index is there already, so this one was not written.\n")
    assert IndexReader().read(Store.open(str(tmp_path / "index"))) == newer


def test_what_is_not_in_an_index_is_said(capsys, fleet, tmp_path, monkeypatch):
    root = fleet("a")
    monkeypatch.setattr("airflow_provider_ckpt.fleet.write_index.MOST_LOCATION", 1)
    code, _, err = ckpt_fleet(capsys, root, "--index", tmp_path / "index")
    assert code == 0 and err.startswith("1 checkpoint is not in the index, because a location of more than 2,048")


def test_no_index_is_written_where_checkpoints_are(capsys, fleet):
    root = fleet("a")
    for place in (root / "a", root / "a" / "offsets" / "new"):
        code, _, err = ckpt_fleet(capsys, root, "--index", place)
        assert code in (2, 3) and "checkpoint" in err
    assert not list(root.rglob("fleet-*"))


def test_backups_are_asked_for_the_index_alone(capsys, fleet, tmp_path):
    code, _, err = ckpt_fleet(capsys, fleet("a"), "--backup-root", tmp_path)
    assert code == 2 and "--backup-root needs --index" in err


def test_a_root_of_backups_is_no_root(capsys, tmp_path):
    code = run(["fleet", "--index", str(tmp_path / "index"), "--backup-root", str(tmp_path)])
    assert code == 2 and "name at least one ROOT" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_source_that_is_not_declared_is_not_counted_as_read():
    counted = SourceLag("0", "kafka", "offsets", 0)
    (row,) = fleet_table([FleetRow("/c", sources=(counted, SourceLag("1", None)))]).rows
    assert ("at most 0 offsets", "source 1 not known") in row
    (alone,) = fleet_table([FleetRow("/c", sources=(SourceLag("1", None),))]).rows
    assert not any("not known" in str(cell) for cell in alone)


@pytest.mark.parametrize("columns", [80, 100])
def test_a_path_is_whole_and_what_was_found_is_below_it(capsys, fleet, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    root = fleet("team-a/queries/orders-enriched", "team-b/queries/totals")
    damage(root / "team-a" / "queries" / "orders-enriched" / "offsets" / "7")
    _, out, _ = ckpt_fleet(capsys, root)
    lines = out.splitlines()
    (at,) = [number for number, line in enumerate(lines) if "team-a/queries/orders-enriched" in line]
    assert lines[at + 1].split()[1] == "CKPT102" and max(len(line) for line in lines if line[:1] in "┏┃┡│└") <= columns
