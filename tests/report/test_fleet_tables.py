"""The table of a fleet: paths below their common root, equal errors once."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.report.fleet_tables import common_root, fleet_tables


@pytest.mark.parametrize(("count", "rows"), [(3, 3), (50, 1)])
def test_equal_errors_of_many_directories_are_one_row(count, rows):
    same = [FleetRow(f"/lake/q{number}", error=f"/lake/q{number}: permission denied.") for number in range(count)]
    (table,) = fleet_tables([*same, FleetRow("/lake/other", error="/lake/other: storage failed.")])
    assert len(table.rows) == rows + 1 and table.title == "Checkpoints below /lake/"
    if rows == 1:
        named, why = table.rows[0][0]
        assert (named, why.strip()) == (
            "50 directories: q0, q1, q2 and 47 more; --json lists them all",
            "permission denied.",
        )


@pytest.mark.parametrize(
    ("locations", "root"),
    [
        (["s3://lake/a/q", "s3://lake/b/q"], "s3://lake/"),
        (["s3://lake/a", "s3://lake/a/v1"], "s3://lake/"),
        (["s3://one/a", "s3://two/a"], ""),
        (["/lake/a", "s3://lake/a"], ""),
        (["/lake/ab", "/lake/ac"], "/lake/"),
        (["/lake/a"], ""),
    ],
)
def test_the_root_that_all_have_in_common(locations, root):
    assert common_root(locations) == root
