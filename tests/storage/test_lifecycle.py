"""Which objects a bucket deletes by itself, and when: S3's rules, asked over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.lifecycle import LifecycleRule, lifecycle_rules
from airflow_provider_ckpt.storage.store import Store

DAY_MS = 86_400_000
DATE = datetime(2030, 1, 1, tzinfo=UTC)

EXPIRIES = {
    "days, up to the next midnight": (LifecycleRule("", "", 3), ("in/a", 5, 10 * DAY_MS + 1), 14 * DAY_MS),
    "days, at midnight": (LifecycleRule("", "", 3), ("in/a", 5, 10 * DAY_MS), 13 * DAY_MS),
    "a date": (LifecycleRule("", "", at_ms=7), ("in/a", 5, 10 * DAY_MS), 7),
    "its prefix": (LifecycleRule("", "in/", 3), ("in/a", 5, 0), 3 * DAY_MS),
    "another prefix": (LifecycleRule("", "out/", 3), ("in/a", 5, 0), None),
    "too small": (LifecycleRule("", "", 3, larger_than=5), ("in/a", 5, 0), None),
    "too large": (LifecycleRule("", "", 3, smaller_than=5), ("in/a", 5, 0), None),
    "of the size": (LifecycleRule("", "", 3, larger_than=4, smaller_than=6), ("in/a", 5, 0), 3 * DAY_MS),
}


@pytest.mark.parametrize(("rule", "file", "expiry_ms"), EXPIRIES.values(), ids=EXPIRIES)
def test_when_a_rule_deletes_an_object(rule, file, expiry_ms):
    assert rule.expiry_ms(*file) == expiry_ms


def put(store: Store, *rules: dict[str, Any]) -> None:
    bucket = store.root.partition("/")[0]
    configuration = {"Rules": [{"Status": "Enabled", **rule} for rule in rules]}
    store.fs.call_s3("put_bucket_lifecycle_configuration", Bucket=bucket, LifecycleConfiguration=configuration)


@pytest.mark.s3
def test_a_bucket_tells_its_rules(s3_store):
    store = s3_store("in")
    assert lifecycle_rules(store) == ()
    put(
        store,
        {"ID": "days", "Filter": {"Prefix": "in/"}, "Expiration": {"Days": 3}},
        {"ID": "date", "Filter": {"And": {"Prefix": "", "Tags": [{"Key": "a", "Value": "b"}]}}, "Expiration": {"Date": DATE}},
        {"ID": "off", "Status": "Disabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}},
        {"ID": "versions", "Filter": {"Prefix": ""}, "NoncurrentVersionExpiration": {"NoncurrentDays": 1}},
    )  # fmt: skip
    assert lifecycle_rules(store) == (
        LifecycleRule("days", "in/", 3),
        LifecycleRule("date", "", at_ms=int(DATE.timestamp() * 1000), is_tagged=True),
    )


def test_a_disk_has_no_rules_and_of_other_stores_nobody_knows(tmp_path):
    assert lifecycle_rules(Store.open(str(tmp_path))) == ()
    assert lifecycle_rules(Store.open("memory://bucket")) is None


class Refusing:
    """An S3 that does not tell its rules."""

    protocol = ("s3", "s3a")
    storage_options: ClassVar[dict[str, Any]] = {}

    def call_s3(self, *_: Any, **__: Any) -> Any:
        raise PermissionError("Access Denied")


def test_who_may_not_ask_is_told_so(tmp_path):
    store = Store.open("memory://bucket/in")
    store.fs = Refusing()
    with pytest.raises(StoreError, match="permission denied"):
        lifecycle_rules(store)
