"""The rules of backups to keep, as an entry of the query file has them; ``broken_files.py`` has what is refused."""

from __future__ import annotations

from dataclasses import fields

import pytest

from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.query.keep import KEPT, declare_keep


def test_each_rule_is_one_of_a_prune():
    assert {f"keep_{key}" for key in KEPT} <= {field.name for field in fields(RetentionPolicy)}


def test_what_is_said_is_what_counts():
    assert declare_keep({"daily": 14, "last": 0, "tag": ["a", "b"]}) == {"last": 0, "daily": 14, "tag": ("a", "b")}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"last": 10**20}, ("last", f"it is {10**20}, and has to be a whole number up to 1,000,000,000")),
        ({"last": -1}, ("last", "it is -1, and has to be a whole number up to 1,000,000,000")),
        ({"last": 1, "tag": [""]}, ("tag", 0, "it is '', and has to be a text")),
        ({"last": 0}, ("no rule in it keeps a backup, such as last: 7",)),
    ],
)
def test_what_makes_no_sense_is_told_with_its_key(said, told):
    with pytest.raises(ValueError) as refused:
        declare_keep(said)
    assert refused.value.args == told
