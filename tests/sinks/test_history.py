"""What a table of ``checkpoint_history`` remembers, and what a rollback of its stream does there."""

from __future__ import annotations

import shlex

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.rewind import rewind
from airflow_provider_ckpt.sinks.change_effects import rollback_effect
from airflow_provider_ckpt.storage.store import Store
from tests.history_table.labs import NOW_MS, epoch, rows
from tests.sinks.conftest import marker


@pytest.fixture
def table(tmp_path):
    """Batches 0 to 5 of one query, and batch 9 of another."""
    table = Store.open(str(tmp_path))
    for number in range(6):
        epoch(table, number, number)
    epoch(table, 9, 90, query="other")
    return table


def of(table, query="q", batch_id=2):
    return marker(f"history:{table.location}", query, batch_id)


def test_each_manifest_is_a_batch_of_its_query(table):
    found = of(table)
    assert (found.last_batch, found.held_after(2), found.version_of(2)) == (5, (3, 4, 5), "2")
    assert of(table, "other").held_after(0) == (9,)
    assert of(table, "nobody").last_batch is None


def test_the_remedy_takes_the_table_back_and_then_a_rollback_is_exact(table):
    effect = rollback_effect(of(table), 2, 5)
    assert effect.effect == "skipped"
    assert "it refuses batches 3 to 5 when they run again with other rows, and the query stops" in effect.reason
    command = shlex.split(effect.remedy.partition("too: ")[2].rstrip("."))
    exec(command[2], {})
    assert rows(table) == [0, 1, 2, 90]
    assert rollback_effect(of(table), 2, 5).effect == "exact"


def test_a_table_that_was_taken_back_too_far_is_told(table):
    rewind(table, "q", 1)
    effect = rollback_effect(of(table), 2, 5)
    assert (effect.effect, effect.remedy.partition(",")[0]) == ("skipped", "Roll back to batch 1")


def test_what_was_written_again_and_merged_is_not_missing(table):
    rewind(table, "q", 1)
    for number in range(2, 9):
        epoch(table, number, number)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=2)
    assert rollback_effect(of(table), 8, 8).effect == "exact"


def test_merged_epochs_cannot_go_back(table):
    compact(table, NOW_MS, least_epochs=2, kept_epochs=2)
    assert "The version of the table before batch 3 has expired" in rollback_effect(of(table), 2, 5).remedy
    assert of(table).version_of(4) == "4"


def test_what_is_no_table_of_the_sink_is_refused(tmp_path):
    with pytest.raises(StoreError, match="is no table of checkpoint_history"):
        of(Store.open(str(tmp_path)))
