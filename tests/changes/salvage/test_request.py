"""What a person can ask of a salvage: the names of fields and options stay as users have typed them."""

from __future__ import annotations

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.changes.salvage.make import SalvageRequest


def test_each_field_is_an_option_of_that_name():
    assert {name: field.opt.option for name, field in fields_of(SalvageRequest).items()} == {
        "backup_root": "--backup-root",
        "sink": "--sink",
        "trim_sink_log": "--trim-sink-log",
        "downstream": "--downstream",
        "trigger": "--trigger",
    }
