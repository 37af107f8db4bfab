"""A Connect server of real Spark for runs of pipelines, which outlives each of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


def home_of(python: str) -> str:
    """The directory of the Spark that a Python has."""
    code = "import os, pyspark; print(os.path.dirname(pyspark.__file__))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def connect_server(
    directory: Path, *arguments: str, python: str = sys.executable, timeout_s: float = 240.0
) -> Iterator[int]:
    """Run a server in a directory, in which its tables are.

    Args:
        directory: Where it is started.
        arguments: More arguments of ``spark-submit``.
        python: The Python of its Spark.
        timeout_s: How long its start may take.

    Returns:
        Its port.
    """
    with closing(socket.socket()) as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    home = home_of(python)
    own = {"SPARK_HOME": home, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    confs = (
        f"spark.connect.grpc.binding.port={port}",
        "spark.sql.catalogImplementation=hive",
        "spark.ui.enabled=false",
    )
    command = [f"{home}/bin/spark-submit", "--class", _CLASS, "--name", "connect", "--master", "local[2]"]
    command += [word for conf in confs for word in ("--conf", conf)]
    with (directory / "server.log").open("w") as log:
        server = subprocess.Popen(
            [*command, *arguments, "spark-internal"],
            cwd=directory,
            env={**os.environ, **own, "PATH": f"{Path(python).parent}:{os.environ['PATH']}"},
            stdout=log,
            stderr=log,
        )
        try:
            _until_it_answers(server, port, timeout_s, directory / "server.log")
            yield port
        finally:
            server.terminate()
            server.wait(60)


def _until_it_answers(server: subprocess.Popen[bytes], port: int, timeout_s: float, log: Path) -> None:
    until = time.monotonic() + timeout_s
    while True:
        assert server.poll() is None and time.monotonic() < until, log.read_text()[-3_000:]
        with closing(socket.socket()) as client:
            client.settimeout(1)
            if client.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.5)
