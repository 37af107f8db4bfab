"""The pages by the names of queries, and what the query file declares on them."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import parse_qs

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointIndexOperator,
    CheckpointRollbackOperator,
    CheckpointSourcesOperator,
)
from airflow_provider_ckpt.plugin.preview_form import declared_form
from airflow_provider_ckpt.plugin.read_task import read_tasks
from airflow_provider_ckpt.plugin.settings import read_settings
from airflow_provider_ckpt.storage.roots import NO_ROOTS, OutsideRootsError, parse_roots
from tests.operators.task import Task, carry_out
from tests.plugin.kafka_checkpoints import write_checkpoint
from tests.plugin.pages import asking, text_of
from tests.plugin.runs import add_run

HOW = {"query": "orders", "query_is_stopped": True, "quiet_period": 0, "accept_sink": ["duplicated", "unknown"]}


@pytest.fixture
def file(tmp_path, configure):
    """A query file, whose checkpoint is below no configured root; and another one that nothing names."""
    configure(roots=str(tmp_path / "lake"), file=str(tmp_path / "ckpt.yaml"), rollback_dag="checkpoint_rollback")
    write_checkpoint(tmp_path / "own/orders", 6)
    write_checkpoint(tmp_path / "own/orders-secret", 6)
    path = tmp_path / "ckpt.yaml"
    path.write_text(
        "format_version: 1\nqueries:\n  orders:\n    checkpoint: own/orders\n    sources: ['kafka:b:9092/orders']\n"
        "    sink: kafka\n    trigger: processingTime\n    backups: backups\n"
    )
    return path


def page(name: str, role: str | None = "viewer", **more):
    return asking(role).get(f"/ckpt/{name}", params=more)


@pytest.mark.parametrize("at", ["query", "at"])
def test_a_name_and_its_location_are_one_page(file, at):
    told = {"query": "orders"} if at == "query" else {"at": str(file.parent / "own/orders")}
    answer = page("checkpoint", **told)
    assert answer.status_code == 200
    text = text_of(answer.text)
    assert f"orders {file.parent}/own/orders" in text
    assert "Source 0 : kafka" in text.replace(": kafka", " : kafka").replace("  ", " ")


def test_the_commands_of_a_page_are_what_somebody_types_with_the_file(file):
    (file.parent / "own/orders/commits/5").write_text("")
    text = text_of(page("checkpoint", query="orders").text)
    assert f"ckpt salvage orders --file {file}" in text
    assert "ckpt salvage /" not in text and "TYPE[:URI]" not in text
    previewed = text_of(page("preview", query="orders", kind="rollback", to_batch="2").text)
    assert f"ckpt undo orders --file {file}" in previewed


def test_nothing_else_is_opened(file):
    for outside in ("own", "own/orders-secret", "ckpt.yaml", "backups"):
        assert page("checkpoint", at=str(file.parent / outside)).status_code == 404
    assert page("checkpoint", query="totals").status_code == 404
    assert page("checkpoint", None, query="orders").status_code == 401
    assert page("preview", None, query="orders").status_code == 401


def test_a_location_or_a_name_and_not_both(file):
    for told in ({}, {"query": "orders", "at": str(file.parent / "own/orders")}):
        assert page("checkpoint", **told).status_code == page("preview", **told).status_code == 422


def test_a_preview_is_filled_and_leads_to_the_run_that_the_task_makes(file):
    shown = page("preview", "op", query="orders", to_batch="3").text
    conf = json.loads(unescape(re.search(r'data-conf="([^"]*)"', shown)[1]))
    assert (conf["sink"], conf["trigger"], conf["sources"]) == ("kafka", "processingTime", {"0": "kafka"})
    assert conf["checkpoint"] == str(file.parent / "own/orders")
    assert f"declared in {file}" in text_of(shown) and "Effect on kafka duplicated" in text_of(shown)


def test_what_is_typed_wins(file):
    shown = page("preview", "op", query="orders", to_batch="3", sink="foreachBatch").text
    assert 'name="sink" value="foreachBatch"' in shown and 'name="trigger" value="processingTime"' in shown


def test_a_form_of_a_reset_has_the_only_source(file):
    query = read_settings().queries.queries["orders"]
    assert declared_form("reset", query, NO_ROOTS)["source"] == "0=kafka:b:9092/orders"


def test_backups_that_the_pages_may_not_read_are_not_searched(file):
    query = read_settings().queries.queries["orders"]
    assert "backup_root" not in declared_form("rollback", query, NO_ROOTS)
    readable = parse_roots(str(file.parent))
    assert declared_form("rollback", query, readable)["backup_root"] == str(file.parent / "backups")


def test_a_configured_root_keeps_its_connection(file, configure):
    configure(roots=f"{file.parent} conn=lake")
    root, _ = read_settings().roots.root_of(str(file.parent / "own/orders"))
    assert root.conn_id == "lake"


def test_a_broken_file_is_told_and_the_other_pages_stay(file):
    place = write_checkpoint(file.parent / "lake/totals", 3)
    file.write_text("format_version: 1\nqueries: {orders: {checkpont: a}}\n")
    assert "ckpt.yaml line 2, queries.orders.checkpont: it is unknown here" in text_of(page("").text)
    assert page("checkpoint", at=str(place)).status_code == 200
    broken = page("checkpoint", query="orders")
    assert broken.status_code == 500 and "queries.orders.checkpont" in text_of(broken.text)
    with pytest.raises(CheckpointError, match="checkpont"):
        read_settings().location_of("orders")


def test_without_an_index_the_names_are_there(file):
    assert 'href="/ckpt/checkpoint?query=orders">orders</a>' in page("").text
    with pytest.raises(OutsideRootsError):
        read_settings().location_of("totals")


def test_a_task_that_was_given_a_name(file, airflow_tables):
    given = {"checkpoint": None, "query": "orders", "query_file": None}
    rows = {"gate": given, "lost": {**given, "query": "totals"}, "own": {**given, "query_file": "/etc/passwd"}}
    add_run("named", "monday", {(name, -1): fields for name, fields in rows.items()})
    found = {task.task_id: task for task in read_tasks("named", "monday", None, None, read_settings().queries).tasks}
    assert found["gate"].location == str(file.parent / "own/orders")
    assert "no query totals" in found["lost"].problem and "a file that is not read here" in found["own"].problem


@pytest.fixture
def changed(file, monkeypatch):
    """The query after its sources were exchanged; the record of that is where the file says."""
    text = file.read_text().replace("['kafka:b:9092/orders']", "[kafka, kafka]")
    file.write_text(f"{text}    undo: undo/{{query}}\n")
    for entry in (file.parent / "own/orders/offsets").iterdir():
        entry.write_text(f"{entry.read_text()}\n{json.dumps({'clicks': {'0': 5}})}")
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(file))
    done = carry_out(CheckpointSourcesOperator, continued={"0": "1", "1": "0"}, **HOW)
    assert done["receipt"]["status"] == "applied" and list((file.parent / "undo/orders").iterdir())
    return done["plan_id"]


def test_a_page_has_the_changes_whose_records_are_where_the_file_says(changed):
    assert changed in page("checkpoint", query="orders").text


def test_a_preview_refuses_what_the_task_refuses_because_of_those_records(changed):
    told = f"the sources of the query were changed after batch 5 ({changed}), and batch 3 has those of before."
    answer = page("preview", "op", query="orders", to_batch="3")
    assert told in text_of(answer.text) and "data-conf" not in answer.text
    with pytest.raises(AirflowFailException, match=re.escape(told)):
        carry_out(CheckpointRollbackOperator, to_batch=3, **HOW)


def test_without_roots_the_pages_are_of_the_queries_of_the_file(file, configure):
    file.write_text(file.read_text().replace("'kafka:b:9092/orders'", "rate"))
    configure(roots="", index=str(file.parent / "index"))
    for name, told in {"preview": {"to_batch": "3"}, "checkpoint": {}}.items():
        assert page(name, "op", query="orders", **told).status_code == 200
        assert page(name, "op", at=str(file.parent / "own/orders-secret"), **told).status_code == 404
    CheckpointIndexOperator(task_id="t", index=str(file.parent / "index")).execute({"ti": Task()})
    rows = re.findall(r'href="/ckpt/checkpoint\?([^"]*)"', page("").text)
    assert [parse_qs(unescape(row))["at"] for row in rows] == [[f"{file.parent}/own/orders"]]


def test_what_is_asked_as_the_cluster_spells_it_is_opened_as_the_file_says(file):
    """A location in an address, and a field of a preview."""
    lake = file.parent
    file.write_text(file.read_text().replace("queries:", f"paths: {{'dbfs:/lake': '{lake}'}}\nqueries:", 1))
    assert page("checkpoint", at="dbfs:/lake/own/orders").status_code == 200
    assert page("checkpoint", at="dbfs:/lake/own/orders-secret").status_code == 404
    shown = page("preview", "op", at="/dbfs/lake/own/orders", to_batch="3", sink="file:dbfs:/lake/own/orders/out").text
    assert f"{lake}/own/orders/out" in text_of(shown), "what cannot be read there is said of the place that was opened"
