"""A real standalone cluster, a Master with its REST server and a Worker, of pip's Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from airflow_provider_ckpt.engines.find_processes import find_processes
from tests.ports import free_ports

HOME = Path(str(find_spec("pyspark").origin)).parent
_SHORT = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

#: Seconds after which a Worker that is silent is lost.
LOST_S = 10


class StandaloneCluster:
    """A cluster, until ``close``.

    Args:
        root: A directory of its own.

    Attributes:
        url: Where the Master takes submissions.
        master: Its address for drivers.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True)
        port, ui, rest, worker_ui = free_ports(4)
        self.url, self.master = f"http://127.0.0.1:{rest}", f"spark://127.0.0.1:{port}"
        confs = ["-Dspark.master.rest.enabled=true", f"-Dspark.master.rest.port={rest}"]
        words = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(ui))
        self._master = self._java(confs, "org.apache.spark.deploy.master.Master", *words)
        self._wait(self.url)
        self._worker_words = (
            *("--host", "127.0.0.1", "--cores", "64", "--memory", "16g", "--webui-port", str(worker_ui)),
            *("--work-dir", str(root / "work"), self.master),
        )
        self.start_worker()
        self._wait(f"http://127.0.0.1:{worker_ui}")

    def start_worker(self) -> None:
        """Start the Worker."""
        self.worker = self._java([], "org.apache.spark.deploy.worker.Worker", *self._worker_words)

    def close(self) -> None:
        """End it, and what is left of its drivers."""
        for process in (self._master, self.worker):
            process.kill()
            process.wait()
        for process in find_processes():
            if process.pid != os.getpid() and any(str(self._root) in word for word in process.words):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)

    def _java(self, confs: list[str], *words: str) -> subprocess.Popen[bytes]:
        with (self._root / "cluster.log").open("ab") as log:
            return subprocess.Popen(
                ["java", *_SHORT, f"-Dspark.worker.timeout={LOST_S}", *confs, "-cp", f"{HOME}/jars/*", *words],
                env={
                    **os.environ,
                    "SPARK_HOME": str(HOME),
                    "SPARK_SCALA_VERSION": "2.13",
                    "PYSPARK_PYTHON": sys.executable,
                },
                stdout=log,
                stderr=log,
                cwd=self._root,
            )

    def _wait(self, url: str) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                with suppress(urllib.error.HTTPError), urllib.request.urlopen(url, timeout=5):
                    pass
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
