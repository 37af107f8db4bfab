"""status, stop, start, hold and deploy of a query of real Spark on this machine, by the commands that a person types.

The query reads one file a batch, so that what a run without any stop would have written is known: batch n has row n.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_ckpt.engines.find_processes import find_processes
from tests.dying import KILLED
from tests.engines.real import file_query

SUBMIT = Path(sys.executable).parent / "spark-submit"
CONFS = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=1")
FILES = 2_000
FILE = """
format_version: 1
defaults: {{engine: local}}
queries:
  orders:
    checkpoint: checkpoint
    sources: [{{from: file:in}}]
    sink: file:out
    backups: backups
    application:
      spark_submit: {submit}
      submit: {words}
      file: {file}
      args: [{place}, {how}]
    stop: {{wait_for_batch: 30s}}
    start: {{commit_within: 60s, on_failure: rollback}}
"""
#: A command that dies before a write of its own, as by kill -9, or lives.
COMMAND = """
import sys
from tests.dying import die_at
from airflow_provider_ckpt.cli import main
at, home = int(sys.argv.pop(1)), sys.argv.pop(1)
if at:
    die_at(at, home)
main()
"""


class Query:
    """A query of real Spark, its query file, and the command.

    Args:
        place: A directory of its own.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in ("in", "out"):
            (place / name).mkdir(parents=True)
        for number in range(FILES):
            file = place / "in" / f"{number}.json"
            file.write_text(json.dumps({"n": number}))
            os.utime(file, (1_700_000_000 + number,) * 2)
        self.declare("first")

    @property
    def words(self) -> list[str]:
        """What spark-submit is given before the application."""
        return ["--master", "local[1]", *(word for conf in CONFS for word in ("--conf", conf))]

    def declare(self, how: str) -> None:
        """Write the query file for a version."""
        text = FILE.format(
            submit=SUBMIT, words=json.dumps(self.words), file=file_query.__file__, place=self.place, how=how
        )
        (self.place / "ckpt.yaml").write_text(text)

    def ckpt(self, *words: str, dies_at: int = 0, code: int = 0) -> dict:
        """What a command prints; its exit code is as expected."""
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, str(dies_at), str(self.place), *words, *([] if dies_at else ["--json"])],
            cwd=self.place,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.said = done.stderr
        assert done.returncode == (KILLED if dies_at else code), "\n".join(
            (*words, done.stdout, done.stderr, self.log())
        )
        return json.loads(done.stdout) if done.stdout.startswith("{") else {}

    def by_hand(self) -> subprocess.Popen[bytes]:
        """The same application, started without ckpt."""
        with (self.place / "by_hand.log").open("ab") as log:
            return subprocess.Popen(
                [SUBMIT, *self.words, file_query.__file__, str(self.place), "first"],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        """The last lines of each driver."""
        return "\n".join(f"{file.name}: {file.read_text()[-1500:]}" for file in sorted(self.place.glob("*.log")))

    def newest(self, log: str) -> int:
        """The newest entry of a log; -1 without one."""
        with suppress(FileNotFoundError):
            names = (path.name for path in (self.place / "checkpoint" / log).iterdir())
            return max((int(name) for name in names if name.isdigit()), default=-1)
        return -1

    def wait_past(self, batch_id: int) -> None:
        """Until a later batch is committed."""
        until = time.monotonic() + 60
        while self.newest("commits") <= batch_id:
            assert time.monotonic() < until, self.log()
            time.sleep(0.1)

    def rows(self) -> list[tuple[int, str]]:
        """The rows of the sink, as its log has them, in the order of their numbers."""
        files = dict[str, bool]()
        logs = [path for path in (self.place / "out/_spark_metadata").iterdir() if path.name[0].isdigit()]
        for entry in sorted(logs, key=lambda path: (int(path.name.partition(".")[0]), path.name)):
            for line in entry.read_text().splitlines()[1:]:
                files[json.loads(line)["path"].removeprefix("file://")] = True
        rows = [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]
        return sorted((row["n"], row["by"]) for row in rows)

    def close(self) -> None:
        """End what is left of it."""
        for process in find_processes():
            if str(self.place) in process.words and process.pid != os.getpid():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)


@pytest.fixture
def query(tmp_path: Path) -> Iterator[Query]:
    made = Query(tmp_path)
    yield made
    made.close()


START = ("start", "orders", "--execute")
FIRST = (*START, "--i-know-it-is-stopped")
STOP = ("stop", "orders", "--execute")
DEPLOY = ("deploy", "orders", "--execute", "--accept-sink", "unknown")


def as_without_a_stop(query: Query, *hows: str) -> None:
    """Each batch has run once, and its row is there once; the versions came in this order."""
    rows = query.rows()
    assert [number for number, _ in rows] == [*range(query.newest("commits") + 1)]
    assert [*dict.fromkeys(how for _, how in rows)] == [*hows]


def stopped(query: Query, done: dict) -> int:
    """A stop between two batches, of which nothing goes on; returns the newest batch."""
    receipt = done["stop"]
    [where] = receipt["queries"]
    newest = query.newest("commits")
    assert (receipt["between_batches"], where["in_flight"], where["batch_id"]) == (True, None, newest)
    assert query.newest("offsets") == newest + 1  # the fence
    assert where["fence"] != "" and {run["presence"] for run in receipt["runs"]} == {"ended"}
    time.sleep(1)
    assert (query.newest("commits"), query.newest("offsets")) == (newest, newest + 1)
    return newest


def test_a_query_is_started_stopped_started_deployed_and_held(query):
    first = query.ckpt(*FIRST)["start"]
    assert (first["committed"], first["token"]) == (True, "orders-1")
    status = query.ckpt("status", "orders")["status"]
    assert (status["state"], [run["generation"] for run in status["runs"]]) == ("live", [1])

    at = stopped(query, query.ckpt(*STOP))
    assert query.ckpt("status", "orders")["status"]["state"] == "stopped"
    as_without_a_stop(query, "first")

    again = query.ckpt(*START)["start"]
    assert (again["committed"], again["token"], again["from_batches"]) == (True, "orders-2", {"orders": at})
    query.wait_past(at + 2)

    query.declare("better")
    deployed = query.ckpt(*DEPLOY)
    assert (deployed["stop"]["between_batches"], deployed["start"]["committed"], deployed["back"]) == (True, True, None)
    query.declare("crashes")
    crashed = query.ckpt(*DEPLOY, code=1)
    assert (crashed["start"]["committed"], crashed["back"]["committed"]) == (False, True)
    assert "has ended" in crashed["start"]["problem"]

    held = query.ckpt("hold", "orders", "--execute")["stop"]
    assert held["queries"][0]["held"]
    as_without_a_stop(query, "first", "better")


def test_a_driver_that_was_started_by_hand_beside_it_is_told(query):
    query.ckpt(*FIRST)
    with query.by_hand() as other:
        until = time.monotonic() + 60
        while True:
            runs = query.ckpt("status", "orders")["status"]["runs"]
            if len(runs) == 2:
                break
            assert time.monotonic() < until, query.log()
        os.killpg(other.pid, signal.SIGSTOP)  # before Spark itself ends one of the two
        assert {(run["native"], run["generation"]) for run in runs} == {
            ("running", 1),
            ("running, started by hand", None),
        }
        refused = query.ckpt(*STOP, code=5)
        assert "are there at once, and not all were started by ckpt" in refused["error"]["message"]
        os.killpg(other.pid, signal.SIGKILL)
    stopped(query, query.ckpt(*STOP))
    as_without_a_stop(query, "first")


#: Before its first write, and before later ones.
@pytest.mark.parametrize("at", (1, 8, 15, 22, 28))
def test_a_stop_that_was_killed_goes_on(query, at):
    query.ckpt(*FIRST)
    query.ckpt(*STOP, dies_at=at)
    stopped(query, query.ckpt(*STOP))
    query.ckpt(*START)
    as_without_a_stop(query, "first")
