"""The services of docker-compose.yaml without containers: each one's very command, variables and health check.

A service has a root of its own in place of a container's: its home, its AIRFLOW_HOME, its working directory, the volumes
that it mounts and no others, the project as the image's ``/opt/ckpt``. Its environment is what the image and the file give
it, nothing else. What differs from containers is here, in full: :func:`addresses` and :data:`OWN_PORTS`, because there is
one network; paths, because there is one file system; and PostgreSQL's user, because it refuses to run as root.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests import airflow_stack
from tests.ports import free_ports
from tests.postgres import programs, user

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yaml"
#: Ports that a container has for itself, and that a service of Airflow listens on without being told.
OWN_PORTS = ("AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT", "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT")
#: Absolute paths of a container that its service has below its own root.
IN_THE_CONTAINER = re.compile(r"(?<![\w./-])/(?=(?:opt|keys|passwords|logs|data)\b)")


def read_file() -> dict[str, Any]:
    """The compose file; services that take the same part of it get a copy each."""
    return json.loads(json.dumps(yaml.safe_load(FILE.read_text())))


def addresses() -> dict[str, str]:
    """What stands for an address in the file: services find each other at ports of this host."""
    postgres, s3, kafka, controller, api = (str(port) for port in free_ports(5))
    return {
        "postgres:5432": f"127.0.0.1:{postgres}",
        "0.0.0.0:5432": f"127.0.0.1:{postgres}",
        "s3:9000": f"127.0.0.1:{s3}",
        "0.0.0.0:9000": f"127.0.0.1:{s3}",
        "127.0.0.1:9000": f"127.0.0.1:{s3}",
        "kafka:9092": f"127.0.0.1:{kafka}",
        "0.0.0.0:9092": f"127.0.0.1:{kafka}",
        "127.0.0.1:9093": f"127.0.0.1:{controller}",
        "api-server:8080": f"127.0.0.1:{api}",
        "localhost:8080": f"127.0.0.1:{api}",
        # the whole of an argument or a variable
        "5432": postgres,
        "8080": api,
    }


class Services:
    """The services of a compose file, each of which can be started, asked and stopped.

    Args:
        home: A directory that is not there yet, where every user may pass through.
        file: What the compose file says.
    """

    def __init__(self, home: Path, file: Mapping[str, Any]) -> None:
        self.home, self.services = home, file["services"]
        self.addresses = addresses()
        self.logs = home / "output"
        self.logs.mkdir(parents=True)
        self.started: dict[str, float] = {}
        commands = {}
        for name, service in self.services.items():
            self._make_root(name, service)
            commands[name] = self.command(name, service["command"])
        config = json.dumps({"commands": commands, "logs": str(self.logs)})
        self._supervisor = subprocess.Popen(
            [sys.executable, airflow_stack.__file__, config],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    # --- what a service sees -----------------------------------------------------------------------------------

    def root(self, name: str) -> Path:
        """What is ``/`` for a service."""
        return self.home / "roots" / name

    def _make_root(self, name: str, service: Mapping[str, Any]) -> None:
        """Its homes, the project, and the volumes that it mounts."""
        root = self.root(name)
        for directory in ("opt/airflow", "home/airflow"):
            (root / directory).mkdir(parents=True)
        (root / "opt" / "ckpt").symlink_to(ROOT)
        for mount in service.get("volumes", ()):
            source, target = mount.split(":")[:2]
            if source.startswith("."):
                kept = (ROOT / source).resolve(strict=True)
            else:
                kept = self.home / "volumes" / source
                kept.mkdir(parents=True, exist_ok=True)
            place = root / target.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(kept)
        if name == "postgres" and (owner := user()):
            shutil.chown(self.home / "volumes" / "postgres", owner)
            shutil.chown(root / "home" / "airflow", owner)

    def text(self, name: str, value: str) -> str:
        """A text of the file as it is for a service here."""
        if value in self.addresses:
            return self.addresses[value]
        for address, here in self.addresses.items():
            if ":" in address:
                value = re.sub(rf"(?<![\w.-]){re.escape(address)}(?!\d)", here, value)
        return IN_THE_CONTAINER.sub(f"{self.root(name)}/", value)

    def environment(self, name: str) -> dict[str, str]:
        """All variables of a service: the image's and the file's, and the ports that it has for itself."""
        root = self.root(name)
        path = [str(Path(sys.executable).parent), str(programs()), os.environ["PATH"]]
        image = {
            "AIRFLOW_HOME": str(root / "opt" / "airflow"),
            "HOME": str(root / "home" / "airflow"),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join(path),
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": "127.0.0.1",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        said = self.services[name].get("environment", {})
        own = dict(zip(OWN_PORTS, map(str, free_ports(2)), strict=True)) if "CKPT_API" in said else {}
        return {**image, **{key: self.text(name, value) for key, value in said.items()}, **own}

    def command(self, name: str, words: Sequence[str]) -> list[str]:
        """What runs words as a service would, in its place, with its variables alone."""
        as_user = (
            ["setpriv", "--reuid", owner, "--regid", owner, "--clear-groups"]
            if (name == "postgres" and (owner := user()))
            else []
        )
        variables = [f"{key}={value}" for key, value in self.environment(name).items()]
        place = str(self.root(name) / "home" / "airflow")
        return [*as_user, "env", "-i", "-C", place, *variables, *(self.text(name, word) for word in words)]

    def execute(self, name: str, *words: str, check: bool = True) -> str:
        """``docker compose exec``: what words print, run as a service."""
        done = subprocess.run(self.command(name, words), capture_output=True, text=True)
        assert done.returncode == 0 or not check, f"{words} in {name}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    # --- docker compose up, stop, start, down ------------------------------------------------------------------

    def up(self) -> None:
        """Start every service when what it depends on is as it has to be; return when all are healthy.

        Of those that may start, the one that the file names last is first: what should have waited is found out.
        """
        waiting, met = self._without_profile(), set[tuple[str, str]]()
        while waiting:
            if able := next((name for name in reversed(waiting) if conditions(waiting[name]) <= met), None):
                met.add(self._start(able, waiting.pop(able)))
                continue
            wanted = set.union(*map(conditions, waiting.values())) - met
            asked = sorted(name for name, how in wanted if how == "service_healthy" and name in self.started)
            assert asked, f"these wait for each other: {', '.join(waiting)}"
            self.wait_until_healthy(asked[0])
            met.add((asked[0], "service_healthy"))
        for name, service in self._without_profile().items():
            if "healthcheck" in service and (name, "service_healthy") not in met:
                self.wait_until_healthy(name)

    def _without_profile(self) -> dict[str, Any]:
        """The services that start by themselves."""
        return {name: service for name, service in self.services.items() if "profiles" not in service}

    def _start(self, name: str, service: Mapping[str, Any]) -> tuple[str, str]:
        """Start a service; of one that ends by itself, wait until it has ended well."""
        self.started[name] = time.monotonic()
        if service["restart"] != "no":
            self._tell("start", name)
            return name, "service_started"
        self._tell("run", name)
        print(f"{name} has ended after {time.monotonic() - self.started[name]:.1f} s", flush=True)
        return name, "service_completed_successfully"

    def healthy(self, name: str) -> bool:
        """Ask a service's own health check."""
        assert self._supervisor.poll() is None, f"the services have ended: {self.ends()}"
        kind, *words = self.services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        check = self.command(name, words)
        return subprocess.run(check, capture_output=True, timeout=60).returncode == 0

    def wait_until_healthy(self, name: str) -> None:
        """Ask as often as the file says. Raises TimeoutError when Docker would call it unhealthy."""
        check = self.services[name]["healthcheck"]
        patience = seconds(check["start_period"]) + check["retries"] * seconds(check["interval"])
        while not self.healthy(name):
            if time.monotonic() > self.started[name] + patience:
                raise TimeoutError(f"{name} is not healthy after {patience:.0f} s: {self.ends()}")
            time.sleep(1)
        print(f"{name} is healthy after {time.monotonic() - self.started[name]:.1f} s", flush=True)

    def ends(self) -> str:
        """The ends of what the services have printed."""
        return "\n".join(f"--- {log.stem}\n{log.read_text(errors='replace')[-1500:]}" for log in self.logs.iterdir())

    def stop(self, name: str) -> None:
        """``docker compose stop``."""
        self._tell("stop", name)

    def start(self, name: str) -> None:
        """``docker compose start``, until it is healthy."""
        self.begin(name)
        self.wait_until_healthy(name)

    def begin(self, name: str) -> None:
        """Start a service, and leave it to itself."""
        self.started[name] = time.monotonic()
        (self.root(name) / "home" / "airflow" / "alive").unlink(missing_ok=True)  # a new container has none
        self._tell("start", name)

    def wait_for_end(self, name: str) -> str:
        """What a service has printed that ends by itself, and all others with it."""
        self._supervisor.wait(300)
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def down(self) -> None:
        """``docker compose down``: end every process."""
        assert self._supervisor.stdin and self._supervisor.stdout
        with contextlib.suppress(BrokenPipeError):  # it has ended already
            self._supervisor.stdin.close()
        self._supervisor.wait(90)
        self._supervisor.stdout.close()

    def _tell(self, verb: str, name: str) -> None:
        assert self._supervisor.stdin and self._supervisor.stdout
        self._supervisor.stdin.write(f"{verb} {name}\n")
        self._supervisor.stdin.flush()
        answer = self._supervisor.stdout.readline()
        assert answer == "done\n", f"{verb} {name}: {answer}{self.ends()}"


def conditions(service: Mapping[str, Any]) -> set[tuple[str, str]]:
    """What has to be so before a service starts."""
    return {(name, item["condition"]) for name, item in service.get("depends_on", {}).items()}


def seconds(duration: str) -> float:
    """A duration of the file."""
    assert duration.endswith("s")
    return float(duration[:-1])
