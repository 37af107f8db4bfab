"""The compose file: nothing is published to the network, no secret is written down, and all processes share the keys.

No container engine runs the file here: the keys are made and used by Airflow's own configuration instead.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
AIRFLOW = ("migrate", "api-server", "scheduler", "dag-processor", "triggerer")


def test_every_port_is_published_on_this_machine_alone():
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", ())]
    assert len(ports) == 3
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)] == []


def test_no_secret_and_no_open_door_is_written_down():
    text = (ROOT / "docker-compose.yaml").read_text()
    assert "ALL_ADMINS" not in text
    for name, service in COMPOSE["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|FERNET|SQL_ALCHEMY|AWS_SHARED", key):
                assert re.search(r"/(keys|passwords)/\w+", value), f"{name}: {key}"


@pytest.mark.parametrize("service", AIRFLOW)
def test_every_airflow_process_reads_the_same_keys(service):
    environment = COMPOSE["services"][service]["environment"]
    for key in ("CORE__FERNET_KEY", "API__SECRET_KEY", "API_AUTH__JWT_SECRET", "DATABASE__SQL_ALCHEMY_CONN"):
        assert environment[f"AIRFLOW__{key}_CMD"].startswith("cat /keys/")
    assert "keys:/keys:ro" in COMPOSE["services"][service]["volumes"]


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
