"""What a person can ask of a seed: the names of fields and options stay as users have typed them."""

from __future__ import annotations

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.changes.seed.request import SeedRequest


def test_each_field_is_an_option_of_that_name():
    assert {name: field.opt.option for name, field in fields_of(SeedRequest).items()} == {
        "origin": "--from",
        "batch": "--batch",
        "at": "--at",
        "offsets": "--offsets",
        "sources": "--source",
        "sinks": "--sink",
        "after_batch": "--after-batch",
    }
