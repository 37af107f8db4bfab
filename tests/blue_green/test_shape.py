"""How the files of two outputs differ beside their rows: a table of shapes."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green.shape import Shape, shape_differences

JSON = Shape("json")
BY_DAY = Shape("json", ("day",))


def parquet(**types: str) -> Shape:
    return Shape("parquet", types=tuple(types.items()))


@pytest.mark.parametrize(
    ("live", "shadow", "differences"),
    [
        ([JSON], [JSON], ()),
        ([parquet(k="int32", v="string")], [parquet(v="string", k="int32")], ()),
        ([parquet(k="int32")], [JSON], ("the format is json and was parquet",)),
        ([parquet(k="int32")], [parquet(k="int64")], ("column k is int64 and was int32",)),
        (
            [parquet(k="int32")],
            [parquet(k="int32"), parquet(k="int64")],
            ("column k is int32 or int64 and was int32",),
        ),
        ([parquet(k="int32")], [parquet(other="int64")], ()),
        ([JSON], [BY_DAY], ("the partition columns are day and were none",)),
        (
            [BY_DAY],
            [Shape("json", ("day", "hour"))],
            ("the partition columns are day, hour and were day",),
        ),
        (
            [Shape("json", ("day", "hour"))],
            [Shape("json", ("hour", "day"))],
            ("the partition columns are hour, day and were day, hour",),
        ),
        ([], [JSON], ()),
        ([JSON], [], ()),
    ],
)
def test_what_differs(live, shadow, differences):
    assert shape_differences(live, shadow) == differences
