"""What holds for whatever a command says in these tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt import cli
from airflow_provider_ckpt.errors import CheckpointError
from tests.fleets import make_fleet
from tests.option_names import foreign_options


@pytest.fixture
def fleet(goldens: Mapping[str, Path], tmp_path: Path) -> Callable[..., Path]:
    """Makes a root with checkpoints at some locations."""

    def make(*locations: str) -> Path:
        make_fleet(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "root", locations)
        return tmp_path / "root"

    return make


@pytest.fixture(autouse=True)
def an_error_names_options_of_its_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it types the same command again."""
    called: list[str] = []
    group, show = cli.cli, cli.print_error

    def call(arguments: Sequence[str], **options: Any) -> Any:
        called.append(arguments[0] if arguments else "")
        return group(arguments, **options)

    def print_error(error: CheckpointError, *, as_json: bool) -> None:
        said = f"{error.message} {error.hint or ''}"
        assert foreign_options(called[-1], said) == [], f"ckpt {called[-1]} says: {said}"
        show(error, as_json=as_json)

    monkeypatch.setattr(cli, "cli", call)
    monkeypatch.setattr(cli, "print_error", print_error)
