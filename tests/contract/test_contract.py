"""What users type, store and import stays: it was recorded once, and is read and made alike."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.plan.plan import plan_from_json
from tests.contract.changes import BUCKET, CHANGES, make, stand_still
from tests.contract.surface import surface

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


def test_no_name_that_users_know_is_gone():
    found = surface()
    gone = {where: sorted(set(names) - set(found.get(where, ()))) for where, names in recorded("surface").items()}
    assert {where: names for where, names in gone.items() if names} == {}


@pytest.fixture(scope="module")
def bucket(s3_driver):
    s3_driver.mkdir(BUCKET)
    yield BUCKET
    s3_driver.rm(BUCKET, recursive=True)


@pytest.mark.s3
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_planned_and_recorded_byte_for_byte(bucket, s3_server, tmp_path, monkeypatch, name):
    stand_still(monkeypatch)
    made = json.loads(json.dumps(asdict(make(name, s3_server, tmp_path))))
    before = recorded(name)
    for run, keys in enumerate(before.pop("keys")):
        assert set(keys) <= set(made["keys"][run])
    made.pop("keys")
    assert made == before


@pytest.mark.parametrize("name", [name for name, change in CHANGES.items() if change.has_plan_file])
def test_a_plan_file_is_read_as_what_was_written(name):
    file = json.loads(recorded(name)["plan"])
    plan = plan_from_json(json.dumps(file["plan"]).encode())
    assert (plan.plan_id, plan.to_dict()) == (file["plan_id"], file["plan"])
