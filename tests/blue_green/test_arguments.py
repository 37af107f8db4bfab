"""Arguments of the new version: a table of what leads it to the fork, and of what would lead it to the live query."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green.arguments import misdirected

FORK, LIVE, SINK = "s3://lake/cp/orders-2026", "s3://lake/cp/orders", "s3://lake/orders"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["s3://lake/cp/orders-2026", "s3://lake/orders-2026"], None),
        (["--checkpoint=s3a://lake/cp/orders-2026/", "--out", "s3a://lake/orders-2026"], None),
        (['{"checkpointLocation": "s3a://lake//cp/orders-2026"}'], None),
        ([], "none of them names the fork"),
        (["s3://lake/cp/orders-2026.old"], "none of them names the fork"),
        (["s3://lake/cp/orders", "s3://lake/orders"], "they name s3://lake/cp/orders, which the live query uses"),
        (["s3a://lake/cp/orders-2026", "S3A://lake/orders/"], "they name s3://lake/orders, which"),
        (["s3a://lake/cp/orders-2026", "--out=s3n://lake/orders/part"], "they name s3://lake/orders, which"),
    ],
)
def test_arguments_on_s3(arguments, reason):
    found = misdirected(arguments, [FORK], [LIVE, SINK, ""])
    assert found is None if reason is None else reason in found


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_each_spelling_of_a_path(prefix):
    assert misdirected([f"{prefix}/lake/fork", "/lake/shadow"], ["/lake/fork"], ["/lake/cp"]) is None
    assert misdirected(["/lake/fork"], [f"{prefix}/lake/fork/"], ["/lake/cp"]) is None
    assert "/lake/cp" in misdirected(["/lake/fork", f"{prefix}/lake/cp"], ["/lake/fork"], ["file:///lake/cp/"])
    assert misdirected(["/data/lake/cp", "/lake/fork"], ["/lake/fork"], ["/lake/cp"]) is None, "another directory"


def test_a_live_sink_that_the_fork_is_inside():
    assert misdirected(["s3a://lake/fork"], ["s3://lake/fork"], ["s3://lake"]) is None
    assert "s3://lake" in misdirected(["s3a://lake/fork", "s3a://lake"], ["s3://lake/fork"], ["s3://lake"])


@pytest.mark.parametrize(
    "spelled",
    [
        "s3://lake/./cp/orders",
        "s3://lake/cp/x/../orders",
        "s3://lake/cp/x/y/../../orders",
        "s3://lake/cp%2Forders",
        "s3://lake/cp%252Forders",
        '{"at": "s3:\\/\\/lake\\/cp\\/orders"}',
        "s3://somebody@lake/cp/orders",
        "s3://lake:443/cp/orders",
        "--base_s3a://lake/cp/orders",
    ],
)
def test_a_location_is_known_however_it_is_spelled(spelled):
    assert "s3://lake/cp/orders, which the live query uses" in misdirected([FORK, spelled], [FORK], [LIVE])
    assert misdirected([spelled.replace("orders", "orders-2026")], [FORK], [LIVE]) is None


@pytest.mark.parametrize("spelled", ["file://localhost/lake/cp", "/lake/./cp", "/lake/x/../cp/"])
def test_a_path_is_known_however_it_is_spelled(spelled):
    assert "/lake/cp" in misdirected(["/lake/fork", spelled], ["/lake/fork"], ["/lake/cp"])
