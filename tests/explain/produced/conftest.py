"""Sparks, a broker and the table of results; `make symptoms` runs these tests, and `make test` leaves them out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.explain.produced.lab import Query, Spark
from tests.explain.produced.proof import Outcome, Proof
from tests.explain.produced.results import lines_of

collect_ignore_glob = [] if os.environ.get("CKPT_SYMPTOMS") else ["test_*.py"]
OUTCOMES: list[Outcome] = []


@pytest.fixture(scope="session")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Spark]]:
    """The Spark of each environment, started when it is first asked for."""
    from tests.kafka_lab import connector_jars

    started: list[Spark] = []

    @cache
    def start(name: str) -> Spark:
        confs = {"spark.jars": connector_jars()} if name == "4.3" else {}
        started.append(Spark(name, tmp_path_factory.mktemp("sparks") / name, confs))
        return started[-1]

    yield start
    for spark in started:
        spark.stop()


@pytest.fixture
def spark(sparks: Callable[[str], Spark]) -> Spark:
    """Spark 4.3, with Kafka's connector."""
    return sparks("4.3")


@pytest.fixture
def outcomes() -> list[Outcome]:
    """What the tests before have shown."""
    return OUTCOMES


@pytest.fixture
def proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[int, str], Proof]:
    """Begins the proof of a symptom."""
    return lambda symptom, case: Proof(symptom, case, tmp_path, capsys, OUTCOMES)


@pytest.fixture(scope="session")
def ran(sparks: Callable[[str], Spark], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Query]:
    """A query that has run over its first files, once for all tests; each test copies it."""

    @cache
    def run(version: str, files: int, kind: str) -> Query:
        home = tmp_path_factory.mktemp("queries") / f"{version}-{kind}-{files}".replace(" ", "-")
        query = kinds(home)[kind]
        query.add(range(files))
        assert sparks(version).run(query).error is None
        return query

    return lambda kind, files=4, version="4.3": run(version, files, kind)


def kinds(home: Path) -> dict[str, Query]:
    """The queries of the tests by name."""
    out = ("parquet", str(home / "out"))
    return {
        "copy": Query(home),
        "files": Query(home, to=out),
        "sum": Query(home, does="sum by key", mode="complete"),
        "windows": Query(home, does="windows to files", to=out),
    }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was shown of each symptom."""
    if OUTCOMES:
        terminalreporter.section("symptoms")
        for line in lines_of(OUTCOMES):
            terminalreporter.line(line)
