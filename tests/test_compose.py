"""The compose file: it follows the specification, nothing is open, no secret is written down, all share the keys.

No container engine runs the file here. ``make compose`` starts its services natively; here is what needs none of them.
"""

from __future__ import annotations

import copy
import json
import operator
import os
import socket
import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest
import yaml

from tests.compose import ends
from tests.compose.native import read_file
from tests.compose.rules import SHARED, breaches, is_airflow, problems
from tests.docs.blocks import blocks_of

ROOT = Path(__file__).parents[1]

COMPOSE = read_file()


def test_the_file_is_right():
    assert breaches(COMPOSE) == []
    assert problems(COMPOSE) == []


def test_what_the_specification_does_not_know_is_found():
    wrong = {"services": {"s3": {"comand": "server"}}}
    assert breaches(wrong) == ["services.s3: Unevaluated properties are not allowed ('comand' was unexpected)"]


def change(*path: str, value: object = None) -> dict:
    """The file with another value, or with nothing, at a place."""
    changed = copy.deepcopy(COMPOSE)
    parent = reduce(operator.getitem, path[:-1], changed)
    if value is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


def of(service: str, *path: str, value: object = None) -> dict:
    return change("services", service, *path, value=value)


def test_what_a_page_shows_of_it_is_in_it():
    """docs/how-to/airflow-pages.md: what every process of Airflow has."""
    [shown] = [block for block in blocks_of(ROOT / "docs/how-to/airflow-pages.md") if "run by" in block.notes]
    wanted = yaml.safe_load(shown.text)["environment"].items()
    processes = [service for service in COMPOSE["services"].values() if is_airflow(service)]
    assert wanted and all(wanted <= service["environment"].items() for service in processes)


#: A fault, and what is said of it.
FAULTS = {
    **{
        f"{key} of the {name} is another": (
            of(name, "environment", key, value="cat /keys/other"),
            f"{name}: {key} is not the one that all share",
        )
        for key in SHARED
        for name in ("api-server", "scheduler", "dag-processor", "triggerer")
    },
    "the migration does not wait": (of("migrate", "depends_on"), "migrate: it does not wait until postgres is healthy"),
    "it waits for the start alone": (
        of("migrate", "depends_on", "postgres", "condition", value="service_started"),
        "migrate: it does not wait until postgres is healthy",
    ),
    "no API": (of("triggerer", "depends_on"), "triggerer: it does not wait until api-server is healthy"),
    "no bucket": (of("streaming-job", "depends_on", "bucket"), "streaming-job: it does not wait for bucket"),
    "no broker": (of("producer", "depends_on"), "producer: it does not wait until kafka is healthy"),
    "keys of nobody": (of("s3", "depends_on"), "s3: it does not wait for keys"),
    "no health": (of("kafka", "healthcheck"), "kafka: a health check is for what runs on, and for all of that"),
    "no restart": (of("kafka", "restart"), "kafka: it is not started again"),
    "a secret": (
        of("triggerer", "environment", "AIRFLOW__API__SECRET_KEY", value="hunter2"),
        "triggerer: AIRFLOW__API__SECRET_KEY has a secret",
    ),
    "an open port": (of("s3", "ports", value=["9000:9000"]), "s3: the port 9000:9000 is published to the network"),
    "all admins": (
        of("api-server", "environment", "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", value="True"),
        "api-server: everybody is an administrator",
    ),
    "logs of its own": (
        of(
            "triggerer",
            "volumes",
            value=[item.replace("logs:", "s3:") for item in COMPOSE["services"]["triggerer"]["volumes"]],
        ),
        "/logs is not one volume for all processes of Airflow",
    ),
    "an unknown volume": (change("volumes", "kafka"), "kafka: the volume kafka is not declared"),
    "a volume that is missing": (of("s3", "volumes", value=["keys:/keys:ro"]), "s3: /data/s3 is not mounted"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault):
    file, said = FAULTS[fault]
    assert said in problems(file)


def test_what_a_run_leaves_behind_is_found(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        wait = [sys.executable, "-c", "print(flush=True); input()"]
        with subprocess.Popen(wait, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline()
            assert len(ends.processes_of(tmp_path)) == 1
            with pytest.raises(AssertionError, match=f"input.*127.0.0.1:{port}"):
                ends.see_that_all_have_ended(tmp_path, [f"127.0.0.1:{port}"])
            process.communicate(b"\n")
    ends.see_that_all_have_ended(tmp_path, [f"127.0.0.1:{port}"])


def test_a_run_that_is_too_long_fails_when_the_machine_did_little_else(monkeypatch):
    watch = ends.Watch()
    monkeypatch.setattr(ends, "LIMIT_S", 0.0)
    monkeypatch.setattr(ends.Watch, "others", lambda _: 0.5)
    assert "others had 50% of the machine" in watch.verdict()
    monkeypatch.setattr(ends.Watch, "others", lambda _: 0.01)
    with pytest.raises(TimeoutError, match="more than 0 s"):
        watch.verdict()


def make_keys(directory: Path) -> dict[str, str]:
    subprocess.run([sys.executable, str(ROOT / "demo" / "keys.py"), str(directory)], check=True)
    return {path.name: path.read_text() for path in directory.iterdir()}


def test_keys_are_made_once(tmp_path):
    first = make_keys(tmp_path / "keys")
    assert make_keys(tmp_path / "keys") == first
    assert len(set(first.values())) == len(first) == 7
    assert first["postgres_password"] in first["database_url"]
    assert first["s3_password"] in first["aws"]
    assert set(make_keys(tmp_path / "others").values()).isdisjoint(first.values())


#: What a process of Airflow makes of a text, "encrypt" or "decrypt" as it is told, and the secrets that it has.
CRYPT = """
import json, sys
from airflow.configuration import conf
from airflow.models.crypto import get_fernet
secrets = [conf.get("core", "fernet_key"), conf.get("api", "secret_key"), conf.get("api_auth", "jwt_secret")]
print(json.dumps([getattr(get_fernet(), sys.argv[1])(sys.argv[2].encode()).decode(), *secrets]))
"""


@pytest.mark.airflow
def test_processes_with_homes_of_their_own_share_what_they_encrypt(tmp_path):
    """Without a shared Fernet key the triggerer dies of InvalidToken at its first trigger."""
    keys = make_keys(tmp_path / "keys")

    def run(home: str, *arguments: str) -> list[str]:
        declared = COMPOSE["services"]["scheduler"]["environment"]
        commands = {
            key: value.replace("/keys", str(tmp_path / "keys"))
            for key, value in declared.items()
            if key.endswith("_CMD") and "SQL_ALCHEMY" not in key  # Airflow would load PostgreSQL's client at once
        }
        own = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW__")}
        environment = {**own, **commands, "AIRFLOW_HOME": str(tmp_path / home)}
        command = [sys.executable, "-W", "ignore", "-c", CRYPT, *arguments]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1])

    shared = [keys[name] for name in ("fernet_key", "api_secret", "jwt_secret")]
    token, *of_scheduler = run("scheduler", "encrypt", "an event")
    text, *of_triggerer = run("triggerer", "decrypt", token)
    assert text == "an event"
    assert of_scheduler == of_triggerer == shared


def test_make_tells_what_it_would_do_and_starts_nothing():
    """A recipe that calls make again would run under ``-n`` as well; here it would end at a command that is not there."""
    make = ["make", "-n", "compose", "browser", "exhaustive", "BIN=/no/such"]
    said = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "/no/such/python -m tests.compose.run" in said and "-m tests.compose.native" not in said
