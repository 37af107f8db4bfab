"""Making the plan of a repartition: what it finds, and that it is made the same way again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.make_plan import make_anew
from airflow_provider_ckpt.change.plan.difference import difference
from airflow_provider_ckpt.changes.repartition.make import RepartitionRequest, make_repartition
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.query.sink import Sink
from tests.changes.repartition.forged_spark import PARTITIONS


def test_the_same_plan_is_made_again(case):
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    assert difference(plan, make_anew(RepartitionRequest.of(plan, case.stores), case.stores)) is None


def test_a_plan_without_its_step_is_not_the_one_that_would_be_made(case):
    plan = replace(make_repartition(case.stores, PARTITIONS, sink=case.sink), actions=())
    with pytest.raises(PlanError, match="from 1 to"):
        make_anew(RepartitionRequest.of(plan, case.stores), case.stores)


def test_a_file_sink_of_another_query_is_refused(case, tmp_path):
    (tmp_path / "other" / "_spark_metadata").mkdir(parents=True)
    stores = replace(case.stores, sink=case.stores.checkpoint.at(str(tmp_path / "other")))
    with pytest.raises(CheckpointError):
        make_repartition(stores, PARTITIONS, sink=Sink("file", str(tmp_path / "other")))


def test_a_sink_that_remembers_nothing_needs_no_step(case):
    plan = make_repartition(replace(case.stores, sink=None), PARTITIONS, sink=Sink("kafka"))
    assert (len(plan.actions), plan.sink, plan.sink_effect) == (1, "", "exact")
