"""Which change has written a checkpoint: the newest that does the same, while what it has written is there."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_ckpt.change.new_place import find_written
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import begin
from airflow_provider_ckpt.changes.seed.make import given_positions, make_seed
from airflow_provider_ckpt.changes.seed.write import write_seed
from airflow_provider_ckpt.storage.store import Store

AT_5, AT_6 = (given_positions({"0": f'{{"t":{{"0":{number}}}}}'}) for number in (5, 6))


@pytest.fixture
def target(tmp_path):
    return Store.open(str(tmp_path / "new"))


def seed(target, given=AT_5):
    return make_seed(target, given, {"0": "kafka"})


def test_what_was_written_is_found_while_it_is_there(target):
    plan = seed(target)
    write_seed(plan, target, by="somebody", accept_sink=("unknown", "duplicated"))
    assert find_written.find_written(target, lambda other: other == plan).plan == plan == seed(target)
    assert find_written.is_in_place(plan, target)
    assert find_written.find_written(target, lambda other: False) is None
    shutil.rmtree(target.root)
    assert find_written.find_written(target, lambda other: True) is None
    assert seed(target) != plan


def test_what_was_begun_is_gone_on_with(target):
    plan = seed(target)
    record = Stores(target).record(plan.plan_id)
    begin(record, plan, by="somebody", at_ms=1, from_batch=None, number=1)
    assert not find_written.is_in_place(plan, target)
    assert seed(target) == plan
    assert seed(target, AT_6) != plan
    assert find_written.record_place(plan, target).location == record.location


def test_nothing_is_beside_a_bucket():
    bucket = Store.open("memory://lake")
    assert find_written.find_written(bucket, lambda other: True) is None
