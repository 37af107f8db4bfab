"""Planning what is written to a new place: what was begun or done before is found first."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.new_place.make import require_free_place
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import begin
from airflow_provider_ckpt.errors import ObjectExistsError, PlanError


def test_what_was_begun_is_gone_on_with(writing):
    plan = writing.make()
    begin(Stores(writing.target).record(plan.plan_id), plan, by="ann", at_ms=1, from_batch=None, number=1)
    assert writing.make() == plan


def test_what_was_done_is_found_whatever_its_query_has_written_since(writing):
    plan = writing.make()
    writing.write(plan)
    writing.target.write("offsets/77", b"of the query")
    assert writing.make() == plan


def test_anything_else_at_the_location_is_refused(writing):
    writing.target.write("note.txt", b"mine")
    with pytest.raises(ObjectExistsError, match=f"Give a new or empty location; a {writing.kind} never overwrites"):
        writing.make()


@pytest.mark.parametrize(
    "inside", ["_ckpt_undo/orders", "out/_spark_metadata/x", "table/_delta_log", "table/.hoodie/x"]
)
def test_no_checkpoint_is_written_into_records_or_into_the_log_of_a_sink(inside):
    with pytest.raises(PlanError, match="a checkpoint must not be"):
        require_free_place(f"s3://lake/{inside}")


def test_a_place_whose_name_only_begins_like_one_is_free():
    require_free_place("s3://lake/_ckpt_undo_2/orders_spark_metadata")
