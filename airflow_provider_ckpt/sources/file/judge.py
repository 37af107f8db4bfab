"""Asking the storage of a file source whether it deletes files before the query has read them.

A lifecycle rule of a bucket deletes objects by their age, read or not, and Spark does not notice: a file that is gone
before it was listed is never read. Of the files of a batch in flight ``CKPT128`` says which are gone.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, MalformedEntryError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.file.end import End
from airflow_provider_ckpt.sources.file.read_unlogged import read_unlogged
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableAtRestart, TableLosses, all_losses
from airflow_provider_ckpt.storage.lifecycle import LifecycleRule, lifecycle_rules
from airflow_provider_ckpt.times import duration_text

#: What is not judged: when the storage deletes files by itself.
LIFECYCLE = "lifecycle rules"


def judge(at: TableAtRestart, declared: Source, access: Access) -> TableLosses:
    """Judge one file source; see :meth:`~airflow_provider_ckpt.sources.judge_tables.Judge.judge`."""
    _require_file_source(at)
    end = End(declared, at.source_id, access)
    unlogged = TableLosses() if access.checkpoint is None else read_unlogged(at, end, access.checkpoint)
    return all_losses((unlogged, _expiring(at, end)))


def _expiring(at: TableAtRestart, end: End) -> TableLosses:
    try:
        rules = lifecycle_rules(end.store)
    except StoreUnavailableError:
        raise
    except StoreError:  # who may read the files may not read the rules
        rules = None
    if not rules:
        return TableLosses(unknown=() if rules is not None else (LIFECYCLE,))
    prefix = end.store.root.strip("/").partition("/")[2]
    keys = {
        f"{prefix}/{name}".lstrip("/"): (file.size, file.modified_ms)
        for name, file in end.unread_files(at.committed).items()
    }
    found = [(expiry, key, rule) for key, file in keys.items() for expiry, rule in _expiries(key, file, rules)]
    expiries = sorted((item for item in found if not item[2].is_tagged), key=lambda item: item[:2])
    tagged = any(rule.is_tagged for _, _, rule in found)
    unknown = (LIFECYCLE,) if tagged else ()
    if not expiries:
        return TableLosses(unknown=unknown)
    first_ms, key, rule = expiries[0]
    left_ms = max(0, first_ms - at.now_ms)
    count = len({key for _, key, _ in expiries})
    return TableLosses((finding_of_rule(at, rule, key, count, left_ms),), unknown, left_ms)


def _require_file_source(at: TableAtRestart) -> None:
    try:
        if at.committed is not None:
            at.committed.view("file")
    except MalformedEntryError as error:
        raise CheckpointError(f"source {at.source_id} is not a file source: {error.message}") from None


def _expiries(key: str, file: tuple[int, int], rules: Iterable[LifecycleRule]) -> list[tuple[int, LifecycleRule]]:
    found = [(rule.expiry_ms(key, *file), rule) for rule in rules]
    return [(expiry, rule) for expiry, rule in found if expiry is not None]


def finding_of_rule(at: TableAtRestart, rule: LifecycleRule, key: str, count: int, left_ms: int) -> Finding:
    """CKPT265: unread files that a rule deletes; a warning when it may do so at any time."""
    when = f"in {duration_text(left_ms)}" if left_ms else "at any time from now on"
    named = f"the lifecycle rule {rule.name!r:.60}" if rule.name else "a lifecycle rule"
    return Finding(
        "CKPT265",
        "note" if left_ms else "warning",
        f"{count:,} files that source {at.source_id} has not read are deleted by {named} of their bucket, whether they "
        f"are read or not; the first is {key}, {when}. Spark never reads a file that is gone, without an error",
        batch_id=at.batch_id,
        name=layout.offset_entry(at.batch_id),
        hint="Start the query before that time, or give the rule more days.",
    )
