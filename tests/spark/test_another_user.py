"""Spark starts as the user of the query after changes by root with the umask of Airflow's daemons, and reads all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from tests.change.modes import UNDO, acting, directory_with_modes
from tests.changes.sources.spark_process import CONFS
from tests.jvm import SHORT_LIFE

#: A user that every machine knows: Hadoop asks for its name.
NOBODY = 65534
STOPPED = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")


@pytest.fixture
def home() -> Iterator[Path]:
    with directory_with_modes() as place:
        for name in ("input", "scratch"):
            (place / name).mkdir()
        for path in (place, *place.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        yield place


@contextmanager
def jvm_of_nobody(home: Path) -> Iterator[dict[str, str]]:
    """A JVM of Spark that another user runs, and the variables by which PySpark finds it.

    That user may be kept out of the environment of these tests, so Spark's jars get second names.
    """
    import pyspark

    if shutil.which("java") is None:
        pytest.fail("this test starts real Spark and needs Java 17: apt-get install openjdk-17-jre-headless")
    (home / "jars").mkdir()
    for jar in Path(pyspark.__file__).parent.glob("jars/*.jar"):
        try:
            os.link(jar, home / "jars" / jar.name)
        except OSError:  # another disk
            shutil.copy(jar, home / "jars")
    told = home / "scratch/gateway"
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(home), "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13", "SPARK_SUBMIT_OPTS": " ".join(SHORT_LIFE),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
    }  # fmt: skip
    launcher = ["java", "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main"]
    asked = [*launcher, "org.apache.spark.deploy.SparkSubmit", "pyspark-shell"]
    said = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    command = [word for word in said.stdout.partition("\0\n")[2].split("\0") if word]
    jvm = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=home,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        umask=0o022,
        env=environment,
    )
    try:
        while not told.exists():
            assert jvm.poll() is None, command
            time.sleep(0.05)
        data = told.read_bytes()
        secret = data[8 : 8 + int.from_bytes(data[4:8], "big")].decode()
        yield {"PYSPARK_GATEWAY_PORT": str(int.from_bytes(data[:4], "big")), "PYSPARK_GATEWAY_SECRET": secret}
    finally:
        jvm.stdin.close()  # it ends with who has started it
        jvm.wait(60)


@pytest.fixture
def start(home) -> Iterator[Callable[[], str]]:
    """Starts the query as its user, and gives what became of it."""
    with jvm_of_nobody(home) as gateway:
        program = str(Path(__file__).with_name("query_of_a_user.py"))
        process = subprocess.Popen(
            [sys.executable, program, str(home), *map("=".join, CONFS.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **gateway},
        )

        def ask() -> str:
            process.stdin.write("start\n")
            process.stdin.flush()
            return next((line[6:-1] for line in process.stdout if line.startswith("REPLY ")), "Spark has ended")

        yield ask
        process.stdin.close()
        process.stdout.read()
        process.wait(60)


def write(home: Path, *numbers: int) -> None:
    """One file is one batch."""
    for number in numbers:
        file = home / f"input/{number}.json"
        file.write_text(json.dumps({"n": number}))
        file.chmod(0o644)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def rows(home: Path) -> list[int]:
    """What a reader of the table sees, by the log of the sink."""
    entries = (home / "output/_spark_metadata").glob("[0-9]*")
    added = [json.loads(line) for entry in entries for line in entry.read_text().splitlines()[1:]]
    files = {Path(item["path"].removeprefix("file://")) for item in added}
    return sorted(json.loads(line)["n"] for file in files for line in file.read_text().splitlines())


@pytest.mark.spark
def test_the_query_goes_on_after_each_change_by_another_user(home, start, capsys):
    checkpoint, sink = str(home / "checkpoint"), f"file:{home}/output"

    def change(*words: str) -> None:
        with acting(0, 0o077):
            assert run(list(words)) == 0, capsys.readouterr()

    write(home, 0, 1, 2)
    assert start() == "ran"
    change("fence", checkpoint, "--execute")
    write(home, 3)
    assert start() == "ran"
    change("rollback", checkpoint, "--to-batch", "1", "--sink", sink, "--trim-sink-log", *STOPPED)
    change("undo", checkpoint, *UNDO)
    write(home, 4)
    assert start() == "ran"
    (home / "output/_spark_metadata/2").unlink()
    (home / "output/_spark_metadata/.2.crc").unlink()
    change("repair", checkpoint, "--sink", sink, *STOPPED)
    change("rollback", checkpoint, "--to-batch", "2", "--sink", sink, "--trim-sink-log", *STOPPED)
    write(home, 5)
    assert start() == "ran"
    assert rows(home) == [0, 1, 2, 3, 4, 5]
    assert {path.stat().st_uid for path in home.rglob("*") if "_ckpt_undo" not in str(path)} - {0} == {NOBODY}
    assert [path.name for path in (home / "checkpoint").rglob("*") if path.stat().st_uid != NOBODY] == []
    entry = home / "checkpoint/offsets/2"
    os.chown(entry, 0, 0)
    entry.chmod(0o600)
    change("rollback", checkpoint, "--to-batch", "2", "--sink", sink, "--trim-sink-log", *STOPPED)
    assert "Permission denied" in start(), "this is what the gate names as CKPT152"
