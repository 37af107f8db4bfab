"""A rolled back query runs again and writes some files with the very bytes that they had before; then it is undone.

Spark writes the same commit for a batch that runs again, and often the same state. On S3 such a file cannot be told
from the one that was removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, after_rollback, read_all
from tests.faults import Fault, FaultyStore, calls_to_fail

pytestmark = pytest.mark.usefixtures("unwatched")

BATCHES, KEEP = 6, 2
#: Which files come out as they were.
SAME = {
    "commits": ("commits/",),
    "commits and state": ("commits/", "state/"),
    "everything": ("commits/", "state/", "offsets/"),
}
#: The newest batch that has run again.
LAST = {"fewer batches": BATCHES - 2, "more batches": BATCHES}
#: Calls to stop an undo at in `make test`.
SAMPLES = {"local": 5, "s3": 0}
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
Files = dict[str, bytes]


class RunAgain(FakeQuery):
    """Writes what it wrote before, for some files."""

    def __init__(self, place: Store, before: Files, same: tuple[str, ...]) -> None:
        self.before, self.same = before, same
        super().__init__(place)
        self.files, self.written = read_all(place), 1_000

    def _write(self, name: str, data: bytes) -> None:
        if name != "metadata":
            super()._write(name, self.before.get(name, data) if name.startswith(self.same) else data)


@pytest.fixture
def opened(request, tmp_path):
    """Opens locations on a storage, and how many calls to let fail there."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store"), SAMPLES["s3"]
    return (lambda name: Store.open(str(tmp_path / name))), SAMPLES["local"]


def cases(on_s3: set[tuple[str, ...]], *parts: Iterable[str]) -> list[object]:
    """Every combination on disk and on S3; of those on S3 these in `make test`."""
    every = list(product(*parts))
    late = {case: () if case in on_s3 else (pytest.mark.exhaustive,) for case in every}
    return [
        *(pytest.param("local", *case) for case in every),
        *(pytest.param("s3", *case, marks=(pytest.mark.s3, *late[case])) for case in every),
    ]


def ran_again(place: Store, same: tuple[str, ...], last: int) -> tuple[Files, Files]:
    """What was there before a rollback, and what a query has written since that was not."""
    query = FakeQuery(place)
    for batch_id in range(BATCHES):
        query.commit(batch_id)
    before = dict(query.files)
    roll_back(place)
    again = RunAgain(place, before, same)
    for batch_id in range(KEEP + 1, last + 1):
        again.commit(batch_id)
    return before, {name: data for name, data in again.files.items() if before.get(name) != data}


def roll_back(place: Store) -> None:
    apply(make_rollback(Stores(place), KEEP), Stores(place), **STOPPED)


def undo(place: Store, fault: Fault) -> None:
    apply(make_undo(Stores(place)), Stores(FaultyStore.of(place, fault)), **STOPPED)


@pytest.mark.parametrize(
    ("opened", "same", "batches"),
    cases(
        {("commits", "fewer batches"), ("commits and state", "more batches"), ("everything", "fewer batches")},
        SAME,
        LAST,
    ),
    indirect=["opened"],
)
def test_it_is_undone_with_every_byte(opened, same, batches):
    open_at, samples = opened
    last = LAST[batches]
    counted = Fault()
    place = open_at("counted/orders")
    before, since = ran_again(place, SAME[same], last)
    undo(place, counted)
    assert_undone(place, before, since)
    for at in calls_to_fail(counted.calls, samples):
        place = open_at(f"call-{at}/orders")
        before, since = ran_again(place, SAME[same], last)
        with pytest.raises(StoreError, match="injected"):
            undo(place, Fault(at))
        if [change.state for change in history(place) if change.plan.kind == "rollback"] != ["undone"]:
            undo(place, Fault())
        assert_undone(place, before, since, f"stopped at call {at}")


def assert_undone(place: Store, before: Files, since: Files, when: str = "") -> None:
    """Every byte is back; what is not of before is in a record, or goes on from the very files of before."""
    left = read_all(place)
    assert left == before or (left == {**before, **since} and not before.keys() & since.keys()), when
    kept = set(left.items())
    for change in history(place):
        kept |= set(read_all(Store.at(place, change.location).child("saved/checkpoint")).items())
    assert kept >= since.items(), when


@pytest.mark.parametrize(("opened", "same"), cases({("commits and state",)}, SAME), indirect=["opened"])
def test_it_is_rolled_back_again_and_undone(opened, same):
    """The second rollback is undone first: what ran again is there; then the first: what was there before is."""
    open_at, _ = opened
    place = open_at("orders")
    before, _ = ran_again(place, SAME[same], BATCHES)
    ran = read_all(place)
    roll_back(place)
    assert read_all(place) == after_rollback(before, KEEP)
    undo(place, Fault())
    assert read_all(place) == ran
    since = {name: data for name, data in ran.items() if before.get(name) != data}
    undo(place, Fault())
    assert_undone(place, before, since)
