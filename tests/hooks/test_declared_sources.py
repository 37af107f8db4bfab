"""A query whose file does not say where each source is, as ``ckpt init`` writes it: what can be done is done."""

from __future__ import annotations

import re
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.triggers.positions import CheckpointLagTrigger
from airflow_provider_ckpt.waiting import SourceEndReached
from tests.hooks.named_tasks import ONE, events, task
from tests.kafka_checkpoint import commit_batch
from tests.operators.task import Task

pytestmark = pytest.mark.airflow

#: What each class needs to get to its sources.
TO_SOURCES: dict[str, dict[str, Any]] = {
    "CheckpointProgressSensor": {"batch_id": 3},
    "CheckpointRollbackOperator": {"to_batch": 3, "plan_only": True},
    "CheckpointResetOffsetsOperator": {"to_latest": True},
}
_NO_END = r"sources is not given, and what .*ckpt\.yaml line 5 says of the query orders is not where a source ends"
#: What those say that cannot do their work without the place of a source; all others do not mind.
SAY = {
    "CheckpointLagSensor": _NO_END,
    "CheckpointDataLossSensor": _NO_END,
    "CheckpointResetOffsetsOperator": "give --source ID=TYPE:PLACE",
}


@pytest.fixture
def declare(tmp_path, monkeypatch):
    """Writes a query file with a query of two sources."""
    path = tmp_path / "ckpt.yaml"
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(path))
    for batch_id in range(5):
        commit_batch(tmp_path / "orders", batch_id, '{"logOffset":-1}', '{"logOffset":-1}')
    (tmp_path / "in").mkdir()

    def written(sources: str, *more: str) -> None:
        entry = [f"checkpoint: {tmp_path}/orders", f"sources: {sources}", "sink: kafka", "backups: b", *more]
        path.write_text("\n    ".join(["format_version: 1\nqueries:\n  orders:", *entry]) + "\n")

    return written


@pytest.mark.parametrize("sources", ["[null, file]", "[file, null]", "[file]"])
@pytest.mark.parametrize("name", ONE)
def test_each_class_does_what_it_can(name, sources, declare):
    declare(sources)
    said = "nothing"
    try:
        task(name, query="orders", **TO_SOURCES.get(name, {})).execute({"ti": Task()})
    except Exception as error:
        said = str(error)
    if name in SAY:
        assert re.search(SAY[name], said), said
    else:
        assert "source is" not in said and "is not a source" not in said and "of source" not in said, said


def test_a_wait_for_a_lag_says_which_source_it_cannot_ask(declare, tmp_path):
    declare(f"['file:{tmp_path}/in', rate]")
    assert task("CheckpointLagSensor", query="orders").execute({"ti": Task()})["checkpoints"][0]["is_within"]
    declare(f"['file:{tmp_path}/in', file]")
    for query in ("orders", ["orders", "orders"]):
        with pytest.raises(AirflowFailException, match="source 1 was not declared, so nobody can be asked where it"):
            task("CheckpointLagSensor", query=query).execute({"ti": Task()})
    (event,) = events(CheckpointLagTrigger(query="orders", most=1))
    assert "source 1 was not declared" in event["message"]


def test_a_wait_for_the_end_says_which_source_it_cannot_ask(declare, tmp_path):
    declare(f"['file:{tmp_path}/in', file]")
    with pytest.raises(AirflowFailException, match="source 1 is declared as file without its place, so its latest"):
        task("CheckpointProgressSensor", query="orders", condition=SourceEndReached().to_dict()).execute({"ti": Task()})


def test_a_fleet_is_asked_as_far_as_it_can_be(declare, tmp_path):
    declare(f"['file:{tmp_path}/in', file]")
    for batch_id in (2, 3):
        (tmp_path / f"in/{batch_id}").write_text("a")
    task("CheckpointIndexOperator", index=str(tmp_path / "index")).execute({"ti": Task()})
    index = IndexReader().read(Store.open(str(tmp_path / "index")))
    assert index is not None
    assert [(row.error, row.files, "lag" in (row.not_judged or "")) for row in index.rows] == [(None, 2, True)]


def test_the_log_names_all_queries_of_the_file_when_none_is_named(declare, capsys):
    declare("[null]")
    for query, said in ((None, "all queries of the file"), ("orders", "the query orders"), (["orders"], "the query")):
        task("CheckpointIndexOperator", index="/index", query=query).declare()
        logged = capsys.readouterr().out
        assert f"Declared of {said}" in logged and "None" not in logged
