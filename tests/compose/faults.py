"""The same services with a fault in them: what a stack must not do unnoticed.

The two keys that make a stack fail late, each with a process that has another one; and a service that does not wait. An API
secret of one's own is not seen here: the logs of all processes are on one volume, so nobody asks a worker for them. That
all have the same one is a rule (tests/compose/rules.py).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.compose.api import Airflow
from tests.compose.native import Services

#: A process with a key of its own: the service that it stands for, and the variable that is another.
STRANGERS = {
    "scheduler-with-another-jwt-secret": ("scheduler", "AIRFLOW__API_AUTH__JWT_SECRET_CMD"),
    "triggerer-with-another-fernet-key": ("triggerer", "AIRFLOW__CORE__FERNET_KEY_CMD"),
}
DAG = "./tests/compose/waits.py:/opt/airflow/dags/waits.py:ro"


def with_strangers(file: Mapping[str, Any]) -> dict[str, Any]:
    """The file with the processes of :data:`STRANGERS`, which start when they are told to, keys of their own, and a DAG."""
    changed = copy.deepcopy({**file})
    services = changed["services"]
    for service in services.values():
        if service["command"][0] == "airflow":
            service["volumes"].append(DAG)
    services["other-keys"] = copy.deepcopy(services["keys"])
    services["other-keys"]["volumes"] = ["other-keys:/keys"]
    for name, (service, variable) in STRANGERS.items():
        stranger = services[name] = copy.deepcopy(services[service])
        stranger["profiles"] = ["fault"]
        stranger["volumes"].append("other-keys:/data/other-keys:ro")
        own = stranger["environment"][variable].replace("/keys/", "/data/other-keys/")
        stranger["environment"][variable] = own
    return changed


def see_strangers(services: Services) -> None:
    """Let each process be replaced by one with a key of its own; the services have ended after the last."""
    operator = Airflow(services, "operator")
    scheduler, triggerer = STRANGERS

    services.stop("scheduler")
    services.start(scheduler)
    run = operator.trigger("waits")
    operator.wait("a task that cannot report", lambda: operator.states(run)["wait"] == "failed", watched=())
    services.stop(scheduler)
    print("a scheduler with another JWT secret: its task has failed", flush=True)

    services.start("scheduler")
    services.stop("triggerer")
    services.begin(triggerer)  # a watcher waits for it
    seen = services.wait_for_end(triggerer)
    assert re.search("InvalidToken", seen), seen
    print("a triggerer with another Fernet key: it has ended with InvalidToken", flush=True)


def see_what_does_not_wait(home: Path, file: Mapping[str, Any]) -> None:
    """A migration that waits for nothing fails."""
    needed = ("keys", "postgres", "migrate")
    hasty = {**file, "services": {name: copy.deepcopy(file["services"][name]) for name in needed}}
    del hasty["services"]["migrate"]["depends_on"]
    services = Services(home, hasty)
    try:
        services.up()
    except AssertionError as error:
        assert "run migrate: migrate exited with" in str(error), error
    else:
        raise AssertionError("a migration that does not wait for its database has passed")
    finally:
        services.down()
    print("a migration that does not wait: it has failed", flush=True)
