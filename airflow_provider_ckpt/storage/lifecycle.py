"""The lifecycle rules of an S3 bucket: which objects the storage itself deletes, and when.

S3 counts the days of a rule from when an object was written, and rounds up to the next midnight of UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.storage.drivers import protocols
from airflow_provider_ckpt.storage.store import Store

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class LifecycleRule:
    """A rule that deletes objects.

    Args:
        name: Its id; empty without one.
        prefix: Prefix of the keys that it is for; empty for all.
        days: So long after an object was written; None for a rule with a date.
        at_ms: From when on, epoch milliseconds; None for a rule with days.
        larger_than: Objects of more bytes than this.
        smaller_than: Objects of less bytes than this; None for any.
        is_tagged: True if it is for objects with tags alone, which a listing does not show.
    """

    name: str
    prefix: str
    days: int | None = None
    at_ms: int | None = None
    larger_than: int = -1
    smaller_than: int | None = None
    is_tagged: bool = False

    def expiry_ms(self, key: str, size: int, modified_ms: int) -> int | None:
        """Time at which it deletes an object, epoch milliseconds; None for one that it is not for."""
        if not key.startswith(self.prefix) or size <= self.larger_than:
            return None
        if self.smaller_than is not None and size >= self.smaller_than:
            return None
        if self.days is None:
            return self.at_ms
        return -(-(modified_ms + self.days * _DAY_MS) // _DAY_MS) * _DAY_MS


def lifecycle_rules(store: Store) -> tuple[LifecycleRule, ...] | None:
    """The rules that delete objects of the bucket of a location; None where nobody knows: of other stores than S3.

    Raises:
        StoreUnavailableError: It does not answer; another try can help.
        StoreError: It refuses to tell.
    """
    if store.is_local:
        return ()
    if "s3" not in protocols(store.fs):
        return None
    try:
        told = store.fs.call_s3("get_bucket_lifecycle_configuration", Bucket=store.root.strip("/").partition("/")[0])
    except Exception as error:  # each driver raises errors of its own
        found = store.typed_error(error, "")
        if isinstance(found, CheckpointNotFoundError):  # the bucket has no rules
            return ()
        raise found from store.safe_cause(error)
    return tuple(_rules(told))


def _rules(told: Mapping[str, Any]) -> Iterator[LifecycleRule]:
    for rule in told.get("Rules", ()):
        expiration = rule.get("Expiration", {})
        days, date = expiration.get("Days"), expiration.get("Date")
        if rule.get("Status") != "Enabled" or (days is None and date is None):
            continue
        filter_ = rule.get("Filter", {})
        said = filter_.get("And", filter_)
        yield LifecycleRule(
            str(rule.get("ID", "")),
            str(said.get("Prefix", rule.get("Prefix", ""))),
            days=None if days is None else int(days),
            at_ms=None if date is None else int(date.timestamp() * 1000),
            larger_than=int(said.get("ObjectSizeGreaterThan", -1)),
            smaller_than=None if "ObjectSizeLessThan" not in said else int(said["ObjectSizeLessThan"]),
            is_tagged="Tag" in said or "Tags" in said,
        )
