"""Rules about flows, on pipelines that real Spark has run."""

from __future__ import annotations

import pytest

from tests.pipelines.shop import BELOW, ckpt, severities


def test_two_flows_into_one_table_of_files_are_an_error_of_check_and_gate(shop, capsys):
    bronze = shop("two_flows") / BELOW / "bronze"
    for flow in ("early_files", "late_files"):
        code, checked = ckpt(capsys, "check", bronze / flow / "0")
        assert (code, severities(checked)["CKPT157"]) == (1, "error")
        assert "of batches 0 to 2, which both have committed" in checked["findings"][0]["message"]
        code, gated = ckpt(capsys, "gate", bronze / flow)
        assert (code, gated["decision"], severities(gated)["CKPT157"]) == (1, "block", "error")


@pytest.mark.parametrize(("left", "severity"), [((), "warning"), (("_delta_log",), None)])
def test_where_the_table_is_not_found_or_one_of_delta_no_loss_is_claimed(shop, capsys, left, severity):
    root = shop("two_flows")
    (root / "spark-warehouse" / "bronze").rename(root / "elsewhere")
    for name in left:
        (root / "spark-warehouse" / "bronze" / name).mkdir(parents=True)
        (root / "spark-warehouse" / "bronze" / name / "00000000000000000000.json").touch()
    code, checked = ckpt(capsys, "check", root / BELOW / "bronze" / "late_files" / "0")
    assert (code, severities(checked).get("CKPT157")) == (0, severity)
