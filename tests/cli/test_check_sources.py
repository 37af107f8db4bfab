"""``ckpt check --source``: which declarations it takes."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.cli import run


@pytest.mark.parametrize(("arguments", "says"), [
    (("/a", "/b", "--source", "0=file:/in"), "give one location with it"),
    (("/a", "--source", "0=kafka:h:9092/t"), "ckpt gate asks Kafka as well"),
    (("/a", "--source", "0=file"), "each with what it reads from"),
    (("/a", "--source", "0"), "--source"),
])  # fmt: skip
def test_what_it_cannot_compare_is_refused(capsys, arguments, says):
    assert run(["check", *arguments]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
