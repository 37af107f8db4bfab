"""Fixtures that several rooms share: golden checkpoints, and one Spark session for the whole run."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.goldens import ARCHIVES, Goldens, unpack
from tests.jvm import let_be_short
from tests.tiers import NEEDS_MORE, NOT_UNIT, SERVICES, SWEEPS, TESTS

if "AIRFLOW_HOME" not in os.environ:  # read when airflow is imported
    os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-")
    atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")

let_be_short()

os.environ.pop("COLUMNS", None)  # of the terminal that the tests were started from: tables would be folded to it

#: No test is a power cut, and a sync takes as long as ten writes; that there is one, its own test says.
os.fsync = os.sync = lambda *_: None

#: Files in memory, where the machine has enough of it: half of the system's work of `make unit` is making files on a disk.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
EXAMPLES = 200 if EXHAUSTIVE else 30
settings.register_profile(
    "ci",
    deadline=None,
    suppress_health_check=list(HealthCheck),
    max_examples=EXAMPLES,
    derandomize=not EXHAUSTIVE,  # the same examples in every run; `make exhaustive` draws others each time
)
settings.register_profile("unit", settings.get_profile("ci"), max_examples=20)
settings.load_profile("ci")

LEFT_OUT_OF_UNIT = {TESTS / name for name in (*NEEDS_MORE, *SWEEPS)}
#: The process of ``make unit`` that runs a test file, by its path: of files of like size, each gets every second one.
HALF = {
    path: number % 2 + 1
    for number, path in enumerate(sorted(TESTS.rglob("test_*.py"), key=lambda path: path.stat().st_size))
}


def is_unit(config: pytest.Config) -> bool:
    """Whether this is ``make unit``."""
    return bool(config.option.markexpr == "unit")


def pytest_configure(config: pytest.Config) -> None:
    """In ``make unit`` properties are tried with fewer examples, fewer calls fail, and what is never closed is an error.

    Elsewhere the libraries of Airflow, Spark and S3 leave sockets and event loops to the garbage collector.
    """
    if is_unit(config):
        os.environ["CKPT_UNIT"] = "1"  # tests/faults.py
        gc.set_threshold(100_000)  # all tests are kept, and each collection goes through them
        settings.load_profile("unit")
        for leak in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            config.addinivalue_line("filterwarnings", f"error::{leak}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Nobody reads what py4j logs of its JVM when the run has ended: the stream that it would write to is closed."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """``make unit`` does not even import what it leaves out; nor does one of its processes what is for the other."""
    half = int(os.environ.get("CKPT_HALF", 0))
    is_others = half and HALF.get(collection_path, half) != half
    return True if is_others or (is_unit(config) and collection_path in LEFT_OUT_OF_UNIT) else None


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes that are no text are named by their length.

    An archive that a test module makes holds the time, and all processes of a run have to find tests of the same names.
    """
    return f"{len(val)} bytes" if isinstance(val, bytes) and b"\0" in val else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Of several processes, one has Spark, another one Airflow, and others neither."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.sharing import FilesByService

    return FilesByService(config, log)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test by what it needs, and leave those marked ``exhaustive`` to ``make exhaustive``.

    The files that start something come first, then those that are long: the processes of a run get one file after
    another, and with short ones at the end they end together.
    """
    for item in items:
        for fixture in SERVICES.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(SERVICES[fixture])
        if not any(mark.name in NOT_UNIT for mark in item.iter_markers()):
            item.add_marker("unit")
    if not EXHAUSTIVE:
        late = {item for item in items if item.get_closest_marker("exhaustive")}
        config.hook.pytest_deselected(items=list(late))
        items[:] = [item for item in items if item not in late]
    starting = {item.path for item in items if not item.get_closest_marker("unit")}
    sweeping = {TESTS / name for name in SWEEPS}
    items.sort(key=lambda item: 0 if item.path in starting else 1 if item.path in sweeping else 2)


@pytest.fixture(scope="session")
def goldens(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Every golden by ``<spark version>/<case>``; not to be changed."""
    return Goldens(tmp_path_factory.mktemp("golden"))


@pytest.fixture
def golden(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a golden checkpoint of Spark 4.3 that a test may change."""

    def copy(case: str) -> Path:
        return unpack(ARCHIVES[f"4.3.0/{case}"], tmp_path / case, "checkpoint") / "checkpoint"

    return copy


@pytest.fixture
def golden_home(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a golden of Spark 4.3 that a test may change: the directory with checkpoint/ and output/."""

    def copy(case: str) -> Path:
        return unpack(ARCHIVES[f"4.3.0/{case}"], tmp_path / case)

    return copy


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[object]:
    """The one Spark session; tests take sessions of their own from it. It reads Kafka where a test of the run does."""
    if shutil.which("java") is None:
        pytest.fail("these tests start real Spark and need Java 17: apt-get install openjdk-17-jre-headless")
    from tests.spark_lab import start_spark

    jars = ""
    if any({"kafka", "spark"} <= set(getattr(item, "fixturenames", ())) for item in request.session.items):
        from tests.kafka_lab import connector_jars

        jars = connector_jars()
    session = start_spark(jars)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """One broker for the whole run; each test has topics of its own."""
    if shutil.which("java") is None:
        pytest.fail("these tests start a real Kafka broker and need Java 17: apt-get install openjdk-17-jre-headless")
    from tests.kafka_lab import Broker, fetch_jars

    try:
        fetch_jars()
    except RuntimeError as error:
        pytest.fail(str(error))
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """A real S3 API over HTTP; its URL."""
    from tests import s3_server

    with s3_server.serving() as url:
        yield url


@pytest.fixture(scope="session")
def s3_driver(s3_server: str) -> object:
    """The one driver of that API; to make one takes 0.2 s of CPU."""
    from airflow_provider_ckpt.storage.store import Store

    return Store.open("s3://any", key="test", secret="test", endpoint_url=s3_server).fs


@pytest.fixture
def s3_store(s3_driver: Any) -> Callable[..., object]:
    """Opens stores in a bucket of their own."""
    from airflow_provider_ckpt.storage.store import Store

    own = f"test-{uuid.uuid4()}"
    s3_driver.mkdir(own)
    return lambda name, bucket=own: Store(s3_driver, f"{bucket}/{name}", f"s3://{bucket}/{name}")


@pytest.fixture
def s3_pages(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the S3 API list so many objects at a time, in the place of 1,000."""
    return lambda objects: monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", str(objects))


@pytest.fixture
def s3_down(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Options of an S3 that does not answer, where the driver asks once: its further attempts take ten seconds."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    return {"key": "test", "secret": "test", "endpoint_url": "http://127.0.0.1:9"}


@pytest.fixture
def s3_requests() -> object:
    """Counts the requests that a store sends, by operation."""
    from collections import Counter
    from contextlib import contextmanager

    @contextmanager
    def count(store: object) -> Iterator[Counter[str]]:
        counted: Counter[str] = Counter()
        events = store.fs.s3.meta.events

        def on_request(event_name: str, **_: object) -> None:
            counted[event_name.rpartition(".")[2]] += 1

        events.register("before-send.s3", on_request)
        try:
            yield counted
        finally:
            events.unregister("before-send.s3", on_request)

    return count


@pytest.fixture
def shop(tmp_path) -> Callable[[str], Path]:
    """Unpacks what a run of a declarative pipeline has left behind; the directory of its project."""
    from tests.pipelines.shop import unpack as unpack_pipeline  # not before `make unit` measures what it imports

    return lambda case: unpack_pipeline(case, tmp_path / case)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets an undo that drops a batch in flight begin at once, where a test has no query that could commit it."""
    from airflow_provider_ckpt.change import guard

    monkeypatch.setattr(guard, "MIN_WATCH_S", 0)
