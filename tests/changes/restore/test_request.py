"""What a person can ask of a restore: the names of fields and options stay as users have typed them."""

from __future__ import annotations

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.changes.restore.request import RestoreRequest


def test_each_field_is_an_option_of_that_name():
    assert {name: field.opt.option for name, field in fields_of(RestoreRequest).items()} == {
        "backup_root": "",
        "backup_id": "",
        "query_id": "--query-id",
        "new_query_id": "--new-query-id",
        "rewrite_paths": "--rewrite-paths",
        "sinks": "--sink",
        "fence": "--fence",
        "wait_for_batch": "--wait-for-batch",
        "trigger": "--trigger",
    }
