"""What has to hold in docker-compose.yaml, so that its processes work together and nobody else gets in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SPECIFICATION = json.loads((Path(__file__).parent / "specification" / "compose-spec.json").read_text())
#: What every process of Airflow has to have in common, and the file that each of them reads it from.
SHARED = {
    "AIRFLOW__CORE__FERNET_KEY_CMD": "fernet_key",
    "AIRFLOW__API__SECRET_KEY_CMD": "api_secret",
    "AIRFLOW__API_AUTH__JWT_SECRET_CMD": "jwt_secret",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD": "database_url",
}
DATABASE, SHARED_URL = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD", "database_url"
MIGRATE = ["airflow", "db", "migrate"]
SECRET = re.compile(r"PASSWORD|SECRET|FERNET|SQL_ALCHEMY|SHARED_CREDENTIALS")


def breaches(file: Mapping[str, Any]) -> list[str]:
    """Where a compose file does not follow the specification."""
    errors = Draft202012Validator(SPECIFICATION).iter_errors(file)
    return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in errors]


def problems(file: Mapping[str, Any]) -> list[str]:
    """What is wrong with a compose file that follows the specification; nothing for a good one."""
    found = []
    for name, service in file["services"].items():
        for check in (lives, is_closed, has_no_secret, waits, mounts):
            found += [f"{name}: {problem}" for problem in check(service, file)]
    return [*found, *shares(file)]


def is_airflow(service: Mapping[str, Any]) -> bool:
    """Whether it is a process of Airflow."""
    return service["command"][0] == "airflow"


def lives(service: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[str]:
    """What runs on is started again and has a health check; what ends is not."""
    ends = service.get("restart") == "no"
    if not ends and service.get("restart") != "unless-stopped":
        yield "it is not started again"
    if ends == ("healthcheck" in service):
        yield "a health check is for what runs on, and for all of that"


def is_closed(service: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[str]:
    """Ports are published on this machine alone, and nobody is an administrator without a password."""
    for port in service.get("ports", ()):
        if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port):
            yield f"the port {port} is published to the network"
    if any("ALL_ADMINS" in key for key in service.get("environment", {})):
        yield "everybody is an administrator"


def has_no_secret(service: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[str]:
    """Secrets are in files of a volume."""
    for key, value in service.get("environment", {}).items():
        if SECRET.search(key) and not re.search(r"/(keys|passwords)/[\w.]+$", value):
            yield f"{key} has a secret"


def mounts(service: Mapping[str, Any], file: Mapping[str, Any]) -> Iterator[str]:
    """Every volume is declared, and what a service reads below /keys, /logs, /passwords and /data is mounted there."""
    volumes = {target: source for source, target, *_ in (mount.split(":") for mount in service.get("volumes", ()))}
    for source in volumes.values():
        if not source.startswith(".") and source not in file["volumes"]:
            yield f"the volume {source} is not declared"
    texts = " ".join([*service["command"], *service.get("environment", {}).values()])
    for place in sorted(set(re.findall(r"(?<![\w.:/])/(?:keys|passwords|logs|data/\w+)\b", texts)) - set(volumes)):
        yield f"{place} is not mounted"


def waits(service: Mapping[str, Any], file: Mapping[str, Any]) -> Iterator[str]:
    """A service starts when those that it talks to are healthy and what it needs was made, by itself or through others."""
    waited = waited_for(service, file["services"])
    for other in talks_to(service):
        if file["services"][other] is not service and (other, "service_healthy") not in waited:
            yield f"it does not wait until {other} is healthy"
    for name, item in file["services"].items():
        makes = item.get("restart") == "no" and item is not service
        if makes and needs(service, item) and (name, "service_completed_successfully") not in waited:
            yield f"it does not wait for {name}"


def talks_to(service: Mapping[str, Any]) -> set[str]:
    """Services whose address is in the command, or in a variable that is an address; and that of a shared URL."""
    environment = service.get("environment", {})
    if service["command"] == MIGRATE:
        return {"postgres"}
    places = [*service["command"], *(value for key, value in environment.items() if re.search("_URL(_S3)?$", key))]
    found = set(re.findall(r"\b([a-z0-9-]+):\d{4}\b", " ".join(places))) - {"localhost"}
    return found | ({"postgres"} if SHARED_URL in environment.get(DATABASE, "") else set())


def needs(service: Mapping[str, Any], maker: Mapping[str, Any]) -> bool:
    """Whether a service needs what another one makes: the keys, the tables, the bucket."""
    environment, made = service.get("environment", {}), " ".join(maker["command"])
    if made.endswith("demo/keys.py /keys"):
        return any(mount.startswith("keys:") for mount in service.get("volumes", ()))
    if maker["command"] == MIGRATE:
        return is_airflow(service)
    return "AWS_ENDPOINT_URL_S3" in environment and service["command"] != MIGRATE


def waited_for(service: Mapping[str, Any], services: Mapping[str, Any]) -> set[tuple[str, str]]:
    """What is so when a service starts: what it waits for, and what that has waited for."""
    own = {(name, item["condition"]) for name, item in service.get("depends_on", {}).items()}
    return own.union(*(waited_for(services[name], services) for name, _ in own))


def shares(file: Mapping[str, Any]) -> Iterator[str]:
    """Every process of Airflow reads the same file for each secret, from the same volume, and has the same logs."""
    processes = {name: service for name, service in file["services"].items() if is_airflow(service)}
    for key, secret in SHARED.items():
        for name, service in processes.items():
            if service["environment"].get(key) != f"cat /keys/{secret}":
                yield f"{name}: {key} is not the one that all share"
    for place in ("/keys", "/logs"):
        mounted = {mount.split(":")[0] for item in processes.values() for mount in mounts_at(item, place)}
        everywhere = all(mounts_at(item, place) for item in processes.values())
        if not everywhere or len(mounted) != 1:
            yield f"{place} is not one volume for all processes of Airflow"


def mounts_at(service: Mapping[str, Any], place: str) -> list[str]:
    """What a service mounts at a place."""
    return [mount for mount in service.get("volumes", ()) if mount.split(":")[1] == place]
