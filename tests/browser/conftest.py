"""One Airflow and one browser for all tests of this directory, which `make browser` runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.lake import CASE, Lake
from tests.browser.stack import Person, Stack, airflow
from tests.chromium import chromium

expect.set_options(timeout=60_000)

HERE = Path(__file__).parent
#: `make test` starts no browser.
collect_ignore_glob = [] if os.environ.get("CKPT_BROWSER") else ["test_*.py"]


#: The DAGs of the project that the pages lead to, and the one that writes their index.
OF_PROJECT = ("checkpoint_index", "checkpoint_reset", "checkpoint_rollback")


@pytest.fixture(scope="session")
def lake(goldens, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The checkpoints."""
    lake = Lake(tmp_path_factory.mktemp("lake"), goldens[CASE] / "checkpoint")
    lake.fill()
    return lake


@pytest.fixture(scope="session")
def stack(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Airflow with the DAGs of these tests and of the project."""
    dags = tmp_path_factory.mktemp("dags")
    for path in (HERE / "dags" / "pages.py", *(HERE.parents[1] / "dags" / f"{name}.py" for name in OF_PROJECT)):
        shutil.copy(path, dags)
    env = {
        **lake.options(),
        "CKPT_ROOTS": str(lake.roots),
        "CKPT_INDEX_ROOTS": str(lake.roots),
        "CKPT_INDEX": str(lake.place / "index-of-dag"),
        "CKPT_INDEX_BACKUP_ROOTS": str(lake.place / "backups"),
    }
    with airflow(tmp_path_factory.mktemp("stack"), dags, env) as stack:
        yield stack


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where photographs of the pages go: with CKPT_RECORD=1 into the docs, where a person looks at them."""
    if os.environ.get("CKPT_RECORD") == "1":
        return HERE.parents[1] / "docs" / "how-to"
    return tmp_path_factory.mktemp("photographs")


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def somebody(stack, browser) -> Iterator[Callable[..., Person]]:
    """Gives people a browser each; at the end none of them may have been complained to."""
    people: list[Person] = []

    def come(user: str | None, *, on: Stack = stack, dark: bool = False) -> Person:
        people.append(Person(on, browser, user, dark=dark))
        return people[-1]

    yield come
    complaints = [complaint for person in people for complaint in person.complaints]
    for person in people:
        person.context.close()
    assert complaints == []
