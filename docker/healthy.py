"""Whether a service is healthy, for its health check: exits with 0 when it is, and says why not.

python docker/healthy.py airflow COMPONENT     # its heartbeat, as the API server of CKPT_API knows it
python docker/healthy.py kafka BOOTSTRAP       # a broker answers
python docker/healthy.py http URL              # something answers, also with a refusal
python docker/healthy.py touched SECONDS       # ~/alive was touched since
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

TIMEOUT_S = 5


def airflow(component: str) -> str:
    """The status of a component; ``metadatabase`` for the API server itself."""
    with urllib.request.urlopen(f"{os.environ['CKPT_API']}/api/v2/monitor/health", timeout=TIMEOUT_S) as answer:
        status = json.load(answer)[component]["status"]
    return "" if status == "healthy" else f"{component} is {status}"


def kafka(bootstrap: str) -> str:
    """Whether a broker leads the cluster."""
    from confluent_kafka.admin import AdminClient

    brokers = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=TIMEOUT_S).brokers
    return "" if brokers else "no broker answers"


def http(url: str) -> str:
    """Whether a server answers at all."""
    try:
        urllib.request.urlopen(url, timeout=TIMEOUT_S).close()
    except urllib.error.HTTPError:
        return ""  # it wants a signature
    return ""


def touched(seconds: str) -> str:
    """Whether a program that touches ``~/alive`` as it works has done so."""
    age = time.time() - (Path.home() / "alive").stat().st_mtime
    return "" if age < float(seconds) else f"nothing has happened for {age:.0f} s"


if __name__ == "__main__":
    check = {"airflow": airflow, "kafka": kafka, "http": http, "touched": touched}[sys.argv[1]]
    try:
        problem = check(sys.argv[2])
    except Exception as error:  # a health check may fail in any way
        problem = f"{type(error).__name__}: {error}"
    if problem:
        sys.exit(problem)
