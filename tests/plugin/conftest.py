"""Airflow's tables in the database of this process, which its authentication asks."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault(
    "AIRFLOW__API_AUTH__JWT_SECRET", "of the tests, sixty-four bytes long or more, as SHA-512 wants it to be"
)


@pytest.fixture(scope="session", autouse=True)
def airflow_tables() -> None:
    """Whether a token was revoked is asked of a table."""
    from airflow import models, settings
    from airflow.models.base import Base

    models.import_all_models()
    Base.metadata.create_all(settings.engine)


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch):
    """Sets options of the section ``[ckpt]``."""

    def set_options(**options: str) -> None:
        for name, value in options.items():
            monkeypatch.setenv(f"AIRFLOW__CKPT__{name.upper()}", value)

    return set_options
