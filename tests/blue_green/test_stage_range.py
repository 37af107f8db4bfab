"""Staging a range: what the fork gets, and what is refused with nothing done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.blue_green.stage_range import planned_batch, same_end, stage_range, staged_of
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import LIVE_ID, Query, fork_of


@pytest.fixture
def live(tmp_path: Path) -> Query:
    """A query that has committed batches 0 to 5."""
    return Query(tmp_path / "live").run(*range(6))


@pytest.fixture
def fork(tmp_path: Path) -> Query:
    """Its fork after batch 2."""
    return fork_of(tmp_path / "fork", 2)


def stage(live: Query, fork: Query, last: int | None = None):
    return stage_range(Store.open(str(live.checkpoint)), Store.open(str(fork.checkpoint)), last)


def contents(query: Query) -> dict[str, bytes]:
    files = (path for path in query.checkpoint.rglob("*") if path.is_file())
    return {str(path.relative_to(query.checkpoint)): path.read_bytes() for path in files}


def test_one_batch_is_that_of_the_live_query(live, fork):
    before, there = contents(live), contents(fork)
    staged = stage(live, fork, 3)
    assert staged.to_dict() == {
        "format_version": 1,
        "first_batch": 3,
        "last_batch": 3,
        "stateful": False,
        "offsets": {"0": '{"offset": 12}'},
        "watermark_ms": 0,
        "shadow_sink": "",
    }
    assert staged_of(json.loads(json.dumps(staged.to_dict()))) == staged
    assert contents(fork) == {**there, "offsets/3": before["offsets/3"]} and contents(live) == before
    assert stage(live, fork, 3) == staged, "a second run finds it there"


def test_all_batches_since_the_fork_are_the_default(live, fork):
    assert stage(live, fork).last_batch == 5
    assert (fork.checkpoint / "offsets" / "3").read_text().endswith('{"offset": 18}')


def test_a_file_source_gets_the_entries_that_the_offset_names(live, fork):
    for query in (live, fork):
        for batch in (1, 2):
            query.plan(batch, {"logOffset": batch})
        (query.checkpoint / "sources" / "0").mkdir(parents=True)
    for entry in (3, 4):
        live.plan(entry, {"logOffset": entry})
        (live.checkpoint / "sources" / "0" / str(entry)).write_text(f"v1\n{entry}")
    with pytest.raises(PlanError, match="does not have all entries from 3 to 5"):
        live.plan(5, {"logOffset": 5})
        stage(live, fork, 5)
    stage(live, fork, 4)
    assert sorted(path.name for path in (fork.checkpoint / "sources" / "0").iterdir()) == ["3", "4"]


def test_a_fork_that_somebody_else_changes(live, fork):
    before = contents(fork)
    with (
        locked(Store.open(str(fork.checkpoint)), "rollback-7", "ann"),
        pytest.raises(CheckpointBusyError, match="another run of ckpt has the lock .*ann"),
    ):
        stage(live, fork)
    assert contents(fork) == before
    assert stage(live, fork).last_batch == 5, "the lock was released"
    assert list(fork.checkpoint.parent.rglob("*lock*")) == []


def test_a_shadow_sink_is_new_when_the_range_is_staged(live, fork):
    sink, before = (parse_sink(f"file:{fork.out}"), Store.open(str(fork.out))), contents(fork)
    stores = (Store.open(str(live.checkpoint)), Store.open(str(fork.checkpoint)))
    fork.write(2, [])
    with pytest.raises(PlanError, match="has a log of batches already .*_spark_metadata/2"):
        stage_range(*stores, 3, shadow=sink)
    assert contents(fork) == before
    (fork.out / "_spark_metadata" / "2").unlink()
    staged = stage_range(*stores, 3, shadow=sink)
    assert staged.shadow_sink == f"file:{fork.out}"
    assert stage_range(*stores, 3, shadow=sink) == staged, "a second run finds the batch planned"
    fork.write(3, [])
    with pytest.raises(PlanError, match="has a log of batches already .*_spark_metadata/3"):
        stage_range(*stores, 3, shadow=sink)


def same_id(live: Query, fork: Query) -> None:
    (fork.checkpoint / "metadata").write_text(json.dumps({"id": LIVE_ID}))


def started(live: Query, fork: Query) -> None:
    fork.plan(3, {"offset": 99})


def with_a_gap(live: Query, fork: Query) -> None:
    fork.plan(5, {"offset": 18})


def rolled_back(live: Query, fork: Query) -> None:
    live.plan(2, {"offset": 8})


def purged(live: Query, fork: Query) -> None:
    (live.checkpoint / "offsets" / "3").unlink()


def repartitioned(live: Query, fork: Query) -> None:
    live.plan(5, {"offset": 18}, partitions=9)


def not_committed(live: Query, fork: Query) -> None:
    for batch in (3, 4, 5):
        (live.checkpoint / "commits" / str(batch)).unlink()


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (same_id, "is no fork"),
        (started, "has planned another batch 3"),
        (with_a_gap, "has planned batch 5 after batch 2, and not batch 3: it was started, or staged"),
        (rolled_back, "ended at other offsets"),
        (purged, "has no entry offsets/3"),
        (repartitioned, "cannot be one batch"),
        (not_committed, "there is no batch 3 of both"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_staged_is_refused(live, fork, happens, reason):
    happens(live, fork)
    before = contents(live), contents(fork)
    with pytest.raises(PlanError, match=reason):
        stage(live, fork)
    assert (contents(live), contents(fork)) == before


@pytest.mark.parametrize("given", [None, {}, {"first_batch": 1, "last_batch": 1}, "3"], ids=repr)
def test_what_is_no_range(given):
    with pytest.raises(ValueError, match="must have first_batch"):
        staged_of(given)


GIVEN = {"first_batch": 1, "last_batch": 1, "stateful": False, "offsets": {}, "watermark_ms": 0, "shadow_sink": ""}


def test_numbers_of_a_range_are_numbers():
    with pytest.raises(ValueError, match="must be whole numbers"):
        staged_of({**GIVEN, "first_batch": "1"})
    with pytest.raises(ValueError, match="shadow_sink must be a text"):
        staged_of({**GIVEN, "shadow_sink": None})


def entry(*offsets: str, watermark_ms: int = 0, partitions: int = 2, version: int = 1):
    metadata = f'{{"batchWatermarkMs":{watermark_ms},"batchTimestampMs":7,"conf":{{"p":"{partitions}"}}}}'
    return codec.decode("offsets/5", "\n".join([f"v{version}", metadata, *offsets]).encode())


def test_one_batch_is_the_very_entry_of_the_live_query():
    one = entry('{"offset": 10}', watermark_ms=5)
    assert planned_batch(one, one).encode() == one.encode()


def test_several_batches_begin_as_the_first_and_end_as_the_last():
    made = planned_batch(entry('{"offset":10}', watermark_ms=5), entry('{"offset":30}', watermark_ms=9))
    read = codec.decode("offsets/5", made.encode())
    assert made.encode().splitlines()[1:] == entry('{"offset":30}', watermark_ms=5).encode().splitlines()[1:]
    assert same_end(read, entry('{"offset":30}')) and read.metadata.batch_watermark_ms == 5


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (entry("1", "2"), "sources"),
        (entry("1", partitions=4), "repartition"),
        (codec.decode("offsets/5", b'v2\n{"batchWatermarkMs":0,"batchTimestampMs":7,"conf":{}}\na:1'), "version"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_batches_of_two_plans_are_not_one(last, reason):
    with pytest.raises(ValueError, match=reason):
        planned_batch(entry("0"), last)
