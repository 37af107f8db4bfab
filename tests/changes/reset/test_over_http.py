"""A reset and its undo over HTTP, with a trouble at every request in turn, as the driver of S3 meets it.

Whatever the API answers, the entry is the old one or the new one, and the same command completes the change.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.sweeping import assert_completed, assert_old_or_new, moved, prepared, reset, undo
from tests.faults import calls_to_fail
from tests.s3_troubles import CLOSED, SILENT, TIMEOUT_S, Troubles, troubled

pytestmark = [pytest.mark.s3, pytest.mark.sweep]

#: What happens, to how many requests, and how often the driver asks.
TROUBLES = {
    "an internal error, which is told at once": ("500", 1, 1),
    "slow down, and the driver asks again": ("503", 1, 5),
    "a closed connection after it was done": (CLOSED, 1, 5),
    "no answer after it was done": (SILENT, 1, 5),
    "from then on nothing but internal errors": ("500", 10_000, 1),
}
#: In `make test`; the others wait, or are of the same kind.
SAMPLE = ("an internal error, which is told at once",)


@pytest.fixture
def api(request) -> Iterator[tuple[Troubles, Store]]:
    what, retries = request.param
    with troubled(retries, **({"timeout_s": TIMEOUT_S} if what == SILENT else {})) as api:
        yield api


@pytest.mark.parametrize(
    ("what", "requests", "api"),
    [
        pytest.param(what, requests, (what, retries), id=name, marks=[] if name in SAMPLE else pytest.mark.exhaustive)
        for name, (what, requests, retries) in TROUBLES.items()
    ],
    indirect=["api"],
)
@pytest.mark.parametrize("act", [reset, pytest.param(undo, marks=pytest.mark.exhaustive)])
def test_a_trouble_at_every_request(api, act, what, requests):
    troubles, bucket = api
    query = prepared(bucket.child(f"{act.__name__}-{what}-counted/orders"), act)
    troubles.expect()
    act(query)
    for at in calls_to_fail(troubles.requests, 1):
        query = prepared(bucket.child(f"{act.__name__}-{what}-{requests}-{at}/orders"), act)
        troubles.expect(what, at, requests)
        try:
            act(query)
        except CheckpointError as error:
            assert bucket.location in str(error) and error.retryable, f"request {at}: {error}"
        troubles.expect()
        assert_old_or_new(query, at)
        assert_completed(query, act, at)
    assert moved(query)
