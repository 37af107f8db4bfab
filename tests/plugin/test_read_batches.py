"""Reading the newest batches: page after page, none twice, and not for ever."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.plugin import read_batches
from airflow_provider_ckpt.plugin.read_batches import AT_ONCE, MOST_BATCHES, Log, list_both, read_log
from airflow_provider_ckpt.storage.store import Store
from tests.plugin.kafka_checkpoints import write_checkpoint

KAFKA = {"0": "kafka"}


def log_of(place, before: int | None = None, is_late: Callable[[], bool] = lambda: False, declared=KAFKA) -> Log:
    store = Store.open(str(place))
    return read_log(store, list_both(store, before), before, declared, is_late)


@pytest.mark.parametrize("most", [20_000, 10], ids=["whole listing", "newest alone"])
def test_pages_have_every_batch_once(tmp_path, monkeypatch, most):
    monkeypatch.setattr(read_batches, "MOST_ENTRIES", most)
    place, seen, before = write_checkpoint(tmp_path / "c", 120), [], None
    while True:
        page = log_of(place, before)
        assert page.newest == 119 or before is not None
        assert all(read.total == 20 for batch in page.batches[:-1] for read in batch.reads)
        seen += [batch.batch_id for batch in page.batches]
        if page.older is None:
            break
        before = page.older
    assert seen == list(range(119, -1, -1))


def test_very_long_logs_are_counted_and_kept_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(read_batches, "MOST_ENTRIES", 10)
    logs = list_both(Store.open(str(write_checkpoint(tmp_path / "c", 120))))
    assert (logs.entries, logs.whole) == (240, False)
    assert len(logs.listing.objects) == 2 * (MOST_BATCHES + 2) + 1


def test_a_slow_storage_gives_the_newest_batches_and_says_so(tmp_path):
    place, asked = write_checkpoint(tmp_path / "c", 60), count()
    page = log_of(place, is_late=lambda: next(asked) >= 1)
    assert [batch.batch_id for batch in page.batches] == list(range(59, 59 - 2 * AT_ONCE, -1))
    assert page.unread == "The storage is slow, so only the newest 20 batches were read."
    assert page.older == 40


def test_partitions_are_counted_over_the_page(tmp_path):
    page = log_of(write_checkpoint(tmp_path / "c", 5, partitions=3))
    assert page.tallies["0"].read == {f"orders-{number}": 40 for number in range(3)}
    assert {len(points) for points in page.tallies["0"].points.values()} == {4}, (
        "nothing says where the first batch began"
    )


@pytest.mark.parametrize(
    ("names", "error"), [((), CheckpointNotFoundError), (("offsets", "commits"), None), (("other",), CheckpointError)]
)
def test_no_batches(tmp_path, names, error):
    for name in names:
        (tmp_path / name).mkdir()
    if error:
        with pytest.raises(error):
            log_of(tmp_path)
    else:
        assert log_of(tmp_path) == Log()
