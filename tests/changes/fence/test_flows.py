"""A flow of a declarative pipeline is closed, because its own retry would run the batch of a fence."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.cli import run
from tests.pipelines.shop import BELOW, ckpt


def test_a_flow_is_closed_and_not_fenced(shop, capsys):
    bronze = shop("refreshed") / BELOW / "bronze" / "bronze"
    assert run(["fence", str(bronze), "--execute"]) == 0
    assert (bronze / "1" / "offsets" / "3").read_bytes().startswith(b"v2147483647\n")
    assert "So the checkpoint is closed instead" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    code, again = ckpt(capsys, "fence", bronze, "--execute")
    assert (code, again["receipt"]["status"]) == (0, "already_applied")
    assert ckpt(capsys, "gate", bronze)[1]["decision"] == "block"
    assert run(["undo", str(bronze), "--execute", "--i-know-it-is-stopped", "--quiet-period", "0.1"]) == 0
    assert not (bronze / "1" / "offsets" / "3").exists()


@pytest.mark.parametrize("command", [("rollback", "--to-batch", "1"), ("sources", "--as", "orders=0")])
def test_no_change_is_made_behind_a_fence_of_a_flow(shop, capsys, command):
    bronze = shop("refreshed") / BELOW / "bronze" / "bronze"
    name, *rest = command
    for execute in ((), ("--execute",)):
        assert run([name, str(bronze), *rest, "--fence", *execute]) == 4
        assert "a fence proves nothing here" in capsys.readouterr().err
    assert sorted(path.name for path in (bronze / "1" / "offsets").iterdir()) == ["0", "1", "2"]
