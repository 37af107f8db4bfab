"""What a gate says of flows of declarative pipelines that real Spark has run."""

from __future__ import annotations

from tests.pipelines.shop import BELOW, ckpt, severities


def test_a_renamed_flow_is_blocked_before_its_first_run(shop, capsys):
    """Its log has batches 0 to 2 of the flow before: real Spark dropped the rows of batches 0 to 2, exit code 0."""
    root = shop("one_run")
    for declared in ((), ("--sink", f"file:{root}/spark-warehouse/bronze")):
        code, gated = ckpt(capsys, "gate", root / BELOW / "bronze" / "orders", *declared)
        assert (code, gated["decision"], gated["resumes_at_batch"]) == (1, "block", 0)
        assert severities(gated)["CKPT207"] == "error"
    code, gated = ckpt(capsys, "gate", root / BELOW / "gold" / "orders")
    assert (code, gated["decision"], gated["findings"]) == (0, "warn", [])
