"""Which input files batches have read, as the logs of file sources name them."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checkpoint.input_files import files_after, files_in_flight, logs_after
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from tests.views import offset_entry, view_of


def log_entry(*batches: int) -> bytes:
    lines = [json.dumps({"path": f"file:///in/{batch}.json", "timestamp": 1, "batchId": batch}) for batch in batches]
    return "\n".join(["v1", *lines]).encode()


def files(*batches: int) -> tuple[str, ...]:
    return tuple(f"file:///in/{batch}.json" for batch in batches)


#: Batches 1 to 4 have read entries 0, 0 to 2, none, and 3 of the log of source 0; batch 4 is in flight.
ENDS = {1: 0, 2: 2, 3: 2, 4: 3}
LOG = {f"sources/0/{entry}": log_entry(entry) for entry in (0, 1, 2, 3)}
COMPACTED = {"sources/0/2.compact": log_entry(0, 1, 2), "sources/0/3": log_entry(3)}


def view(committed: int, logs: dict[str, bytes]) -> CheckpointView:
    offsets = {f"offsets/{batch}": offset_entry(log_offset=end) for batch, end in ENDS.items()}
    return view_of(*(f"commits/{batch}" for batch in ENDS if batch <= committed), **offsets, **logs)


@pytest.mark.parametrize("logs", [LOG, COMPACTED], ids=["as it was", "compacted"])
@pytest.mark.parametrize(
    ("batch_id", "expected"), [(1, files(1, 2, 3)), (2, files(3)), (3, files(3)), (4, ()), (5, ())]
)
def test_the_files_after_a_batch(logs, batch_id, expected):
    seen = view(4, logs)
    assert files_after(seen, batch_id) == expected
    assert set(logs_after(seen, batch_id)) == {name for name in logs if int(name[10]) > ENDS.get(batch_id, 9)}


def test_the_files_of_the_batch_in_flight():
    assert files_in_flight(view(3, LOG)) == files(3)
    assert files_in_flight(view(4, LOG)) == ()
    first = view_of(**{"offsets/0": offset_entry(log_offset=1)}, **LOG)
    assert files_in_flight(first) == files(0, 1), "the first batch has none before it"


def test_offsets_of_other_sources_name_no_files():
    other = view_of("commits/0", **{"offsets/0": offset_entry(), "offsets/1": offset_entry()})
    assert files_in_flight(other) == files_after(other, 0) == () and logs_after(other, 0) == []
