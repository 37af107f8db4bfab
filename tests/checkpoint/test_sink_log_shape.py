"""The interval of a log by its names, and the entries that readers read."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.sink_log_shape import Shape, interval_of


@pytest.mark.parametrize(
    ("plain", "compacted", "conf", "interval"),
    [
        (set(), set(), 10, 10),
        ({7, 8}, {9}, 10, 10),
        ({20}, {9, 19}, 3, 10),
        ({4, 5}, {3}, 4, 4),
        ({8, 10}, {9, 29}, 10, 10),
        ({9}, set(), 10, None),
        ({3, 4}, {8, 9}, 10, None),
        ({1}, {19}, 10, 20),
    ],
)
def test_the_interval_is_the_one_that_fits_the_names(plain, compacted, conf, interval):
    assert interval_of(plain, compacted, conf) == interval


@pytest.mark.parametrize(
    ("newest", "base", "names"),
    [
        (2, -1, ["0", "1", "2"]),
        (9, 9, ["9.compact"]),
        (11, 9, ["9.compact", "10", "11"]),
    ],
)
def test_readers_begin_at_the_newest_compacted_entry(newest, base, names):
    shape = Shape(10, newest)
    assert shape.base == base
    assert [shape.entry(batch) for batch in shape.live] == [f"_spark_metadata/{name}" for name in names]
