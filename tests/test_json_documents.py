"""The contract of JSON: every document that a command prints or a file holds is what its type says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.plan import file as plan_file
from airflow_provider_ckpt.checks.baseline import parse_baseline
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.documents import (
    ErrorDocument,
    backups,
    changes,
    files,
    findings,
    graphs,
    positions,
    queries,
    runs,
    waits,
)
from airflow_provider_ckpt.fleet.changes import Known, parse_known
from airflow_provider_ckpt.restart.bookmark import bookmark_from_dict
from tests.goldens import unpack
from tests.json_documents import PRINTED_BY, keys, problems
from tests.kafka_query import KafkaQuery

#: Commands in order, and the type of what they print; ``{}`` is a directory with a checkpoint, ``{plan}`` a plan's id.
PRINTED = [
    ("show {}/orders", positions.ShowDocument),
    ("log {}/orders --source 0=file", positions.LogDocument),
    ("diff {}/orders 1 2 --source 0=file", positions.DiffDocument),
    ("lag {}/orders --source 0=rate", positions.LagDocument),
    ("lag {}/orders {}/nowhere --source 0=rate", positions.LagsDocument),
    ("sources {}/orders", positions.SourcesDocument),
    ("sources {}/orders --as 0=0 --as 1=new", changes.ChangeDocument),
    ("salvage {}/orders --sink kafka", changes.SalvageDocument),
    ("fence {}/orders", changes.ChangeDocument),
    ("export {}/kafka --as csv", positions.ExportDocument),
    ("check {}/orders", findings.CheckDocument),
    ("check {}/orders {}/nowhere", findings.ChecksDocument),
    ("check {}/orders/offsets/0", findings.NotJudgedDocument),
    ("gate {}/orders --conf spark.sql.shuffle.partitions=7 --source 0=kafka", findings.GateDocument),
    ("fleet {} --spark-version 4.3", findings.FleetDocument),
    ("init {} --out -", graphs.InitDocument),
    ("explain CKPT101", findings.ExplainDocument),
    ("wait {}/orders --batch 1", waits.WaitDocument),
    ("wait {}/orders --batch 99 --timeout PT0S", waits.WaitDocument),
    ("backup {}/orders --to {}/backups --dry-run", backups.BackupPlanDocument),
    ("backup {}/orders --to {}/backups --tag a --message b", backups.BackupDocument),
    ("backups {}/backups", backups.BackupsDocument),
    ("verify {}/backups", backups.VerifyDocument),
    ("prune {}/backups --keep-last 1", backups.PruneDocument),
    ("prune {}/backups --keep-last 1 --execute", backups.PruneDocument),
    ("restore {}/backups --to {}/new --sink kafka", changes.ChangeDocument),
    ("restore {}/backups --to {}/new --execute --accept-sink unknown", changes.ChangeDocument),
    ("rollback {}/orders --to-batch 3 --plan-out {}/plan.json", changes.ChangeDocument),
    ("rollback {}/orders --to-batch 3 --execute --i-know-it-is-stopped --accept-sink unknown --quiet-period 0", changes.ChangeDocument),
    ("queries --file {}/ckpt.yaml", queries.QueriesDocument),
    ("status live --file {}/runs.yaml", runs.StatusDocument),
    ("stop live --file {}/runs.yaml", runs.RunDocument),
    ("history {}/orders", changes.HistoryDocument),
    ("history {}/orders --plan {plan}", changes.RecordDocument),
    ("undo {}/orders --execute --i-know-it-is-stopped --accept-sink unknown --quiet-period 0", changes.ChangeDocument),
    ("history {}/orders --forget {plan}", changes.ForgetDocument),
    ("history {}/orders --forget {plan} --execute", changes.ForgetDocument),
    ("show {}/nowhere", ErrorDocument),
]  # fmt: skip

#: What needs a broker, ``tests/cli/positions/test_publish.py``, or a pipeline, ``tests/cli/test_pipelines.py``.
PRINTED_ELSEWHERE = {positions.PublishDocument, findings.GatedPipelineDocument}

WRITTEN = {
    "plan.json": files.PlanFileDocument,
    "backups/*/manifest.json": files.ManifestDocument,
    "_ckpt_undo/orders/*/begun.json": files.BegunDocument,
    "_ckpt_undo/orders/*/saved.json": files.SavedDocument,
    "_ckpt_undo/orders/*/receipt.json": files.DoneDocument,
    "_ckpt_undo/orders/*/undone.json": files.UndoneDocument,
    "_ckpt_undo/orders/*/forgotten.json": files.ForgottenDocument,
    "_ckpt_undo/orders/*/plan.json": files.PlanFields,
    "baseline.json": files.BaselineDocument,
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A directory in which every command was run once, and what each has printed."""
    from contextlib import redirect_stdout
    from io import StringIO

    place = tmp_path_factory.mktemp("documents")
    (archive,) = (Path(__file__).parent / "golden").glob("spark-4.3.0/file-to-parquet-5.tar.gz")
    (unpack(archive, place) / "checkpoint").rename(place / "orders")
    KafkaQuery(place / "kafka").commit({"orders": {"0": 5}})
    (place / "ckpt.yaml").write_text(
        "format_version: 1\ndefaults: {alert: {age: 5m, behind: 1m}}\nqueries:\n"
        "  orders: {checkpoint: orders, sources: [file:in], backups: backups}\n  nowhere: {checkpoint: nowhere}\n"
    )
    answer = '{"runs": [{"id": "app-1", "presence": "live"}], "complete": true}'
    (place / "runs.yaml").write_text(
        f"format_version: 1\nqueries:\n  live:\n    checkpoint: orders\n    engine: command\n"
        f"    application: {{status: [echo, '{answer}'], end: [echo], start: [echo]}}\n"
    )
    found, plan_id = {}, ""
    for line, _ in PRINTED:
        said = StringIO()
        with redirect_stdout(said):
            run([*line.replace("{plan}", plan_id).replace("{}", str(place)).split(), "--json"])
        found[line] = said.getvalue()
        plan_id = (
            plan_id
            or (
                line.startswith("rollback")
                and "--execute" in line
                and json.loads(said.getvalue())["receipt"]["plan_id"]
            )
            or ""
        )
    with redirect_stdout(StringIO()):
        run(["check", str(place / "orders"), "--write-baseline", str(place / "baseline.json")])
    return place, found


@pytest.mark.parametrize(("line", "kind"), PRINTED)
def test_a_command_prints_what_its_type_says(printed, line, kind):
    document = json.loads(printed[1][line])
    assert list(problems(document, kind)) == []
    assert next(iter(document)) == "format_version"


def test_every_printed_type_is_printed_here():
    assert {kind for _, kind in PRINTED} == set(PRINTED_BY) - PRINTED_ELSEWHERE


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_holds_what_its_type_says(printed, name):
    found = sorted(printed[0].glob(name))
    assert found
    for path in found:
        assert list(problems(json.loads(path.read_text()), WRITTEN[name])) == [], path


@pytest.mark.parametrize(("value", "wrong"), [
    ({"error": {}}, "format_version is missing"), ({"format_version": 1, "error": []}, "error is no object"),
    ({"format_version": "1", "error": {}}, "format_version is '1'"), ({"format_version": 1, "error": {}, "x": 1}, "x is not in ErrorDocument"),
])  # fmt: skip
def test_the_comparison_finds_what_is_wrong(value, wrong):
    assert any(wrong in problem for problem in problems(value, ErrorDocument))


@pytest.mark.parametrize("kind", [kind for _, kind in PRINTED])
def test_a_document_begins_with_its_version(kind):
    assert next(iter(keys(kind))) == "format_version"


# --- what was written before there were versions ---------------------------------------------------------------------

STOOD = {"query_id": "q", "batch_id": 3, "offsets": {"0": "5"}, "watermark_ms": None, "in_flight": None, "in_flight_offsets": {}, "batch_timestamp_ms": 1}  # fmt: skip


def test_a_bookmark_is_what_its_type_says_and_one_without_a_version_is_read():
    bookmark = bookmark_from_dict(STOOD)
    assert list(problems(bookmark.to_dict(), files.BookmarkDocument)) == []
    assert bookmark_from_dict(bookmark.to_dict()) == bookmark


def test_a_bookmark_of_a_later_version_is_refused():
    with pytest.raises(Exception, match="version 2; this release reads version 1"):
        bookmark_from_dict({"format_version": 2, **STOOD})


def test_a_baseline_that_calls_its_version_otherwise_is_read():
    assert parse_baseline('{"version": 1, "accepted": {}}') == parse_baseline('{"format_version": 1, "accepted": {}}')


def test_what_a_survey_kept_without_a_version_is_read():
    text = '{"findings": {"version": 1, "accepted": {}}, "unreadable": ["/a"]}'
    assert parse_known(text) == Known(unreadable=frozenset({"/a"}))
    assert list(problems(json.loads(parse_known(text).to_json()), files.KnownDocument)) == []


def test_the_version_stands_outside_of_what_the_id_of_a_plan_is_a_digest_of(printed):
    document = json.loads((printed[0] / "plan.json").read_text())
    plan = plan_file.decode((printed[0] / "plan.json").read_bytes(), "rollback")
    assert "format_version" not in document["plan"] and plan.plan_id == document["plan_id"]
