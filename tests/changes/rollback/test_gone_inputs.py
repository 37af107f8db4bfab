"""A rollback whose dropped batches cannot be read again, because their input files no longer exist."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.gone_inputs import without_gone_inputs
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.input_files import Inputs
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.store import Store

NEUTRAL = "file:///golden/file-to-parquet-5/input"


@pytest.fixture
def checkpoint(golden_home, tmp_path):
    """Its source has read files of a directory that is there."""
    root = golden_home("file-to-parquet-5") / "checkpoint"
    folder = tmp_path / "input" / "orders"
    folder.mkdir(parents=True)
    for log in (root / "sources/0").iterdir():
        if not log.name.startswith("."):
            log.write_text(log.read_text().replace(NEUTRAL, f"file://{tmp_path}/input"))
            log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    for number in range(5):
        (folder / f"{number:03}.json").write_text("{}")
    return root


def rolled_back(checkpoint, sink):
    stores = Stores(Store.open(str(checkpoint)), sink=Store.open(str(sink)))
    return make_rollback(stores, 2, trim_sink_log=True)


def test_with_all_files_the_effect_stays_exact(checkpoint):
    plan = rolled_back(checkpoint, checkpoint.parent / "output")
    assert [effect.effect for effect in plan.effects] == ["exact"]
    assert not [text for text in plan.warnings if "input files" in text]


def test_without_one_rows_are_lost_and_somebody_has_to_accept_that(checkpoint, tmp_path):
    (tmp_path / "input/orders/004.json").unlink()
    plan = rolled_back(checkpoint, checkpoint.parent / "output")
    (effect,) = plan.effects
    lost = "1 of the 2 input files that are read again no longer exist"
    assert (effect.effect, effect.reason) == ("skipped", f"{lost}, so their rows are not written again")
    assert [text for text in plan.warnings if text.startswith(lost) and text.endswith("/input/orders/004.json.")]


def test_where_the_directory_cannot_be_read_the_plan_says_so(checkpoint, tmp_path):
    shutil.rmtree(tmp_path / "input")
    plan = rolled_back(checkpoint, checkpoint.parent / "output")
    assert [effect.effect for effect in plan.effects] == ["exact"]
    assert [text for text in plan.warnings if text.startswith("Whether 2 of the 2 input files")]


def test_an_effect_that_is_not_exact_keeps_its_reason(checkpoint):
    plan = rolled_back(checkpoint, checkpoint.parent / "output")
    plan = replace(plan, effects=(SinkEffect("kafka", "duplicated", "it remembers nothing"),), warnings=())
    told = without_gone_inputs(plan, Inputs(2, ("file:///in/a",)))
    assert told.effects == plan.effects and len(told.warnings) == 1


def test_the_batch_in_flight_without_an_input_file_is_an_error_of_the_checkpoint(checkpoint, tmp_path):
    (checkpoint / "commits/4").unlink()
    store = Store.open(str(checkpoint))
    assert "CKPT128" not in {finding.code for finding in inspect(store, deep=True)}
    (tmp_path / "input/orders/004.json").unlink()
    (finding,) = [finding for finding in inspect(store, deep=True) if finding.code == "CKPT128"]
    assert (finding.severity, finding.batch_id, finding.name) == ("error", 4, "offsets/4")
    assert "runs again without 1 of its input files" in finding.message
