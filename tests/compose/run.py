"""``make compose``: the services of docker-compose.yaml natively, and a bad deploy that is rolled back through them.

    python -m tests.compose.run [DIRECTORY]

The streaming job reads Kafka and writes to S3. It is stopped; ``pre_deploy_gate`` gates, backs up and deploys a version
that is wrong, waits for its batch and proves that it goes on where the last one ended; ``checkpoint_index`` and the pages
of the plugin show the checkpoint; ``checkpoint_rollback`` shows its plan, a person approves it in a browser, and the right
version is submitted. Then the streaming job is started again, and every order is there once, with its amount. At the end
come faults (tests/compose/faults.py). Every process has ended then, and no port is open.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.compose import faults
from tests.compose.api import Airflow
from tests.compose.approving import approve
from tests.compose.ends import Watch, see_that_all_have_ended
from tests.compose.native import Services, read_file
from tests.compose.pages import see_pages

CHECKPOINT = "s3://lake/checkpoints/orders"
JOB = ["kafka:9092", "orders", "s3a://lake/orders", "s3a://lake/checkpoints/orders", "--once"]
WATCH = Watch()


def say(text: str) -> None:
    """A line, with the seconds since the beginning."""
    print(f"{WATCH.seconds():6.1f} s  {text}", flush=True)


def compare(services: Services) -> dict[str, int]:
    """Orders in Kafka against rows on S3."""
    words = ("python", "/opt/ckpt/demo/compare.py", "kafka:9092", "orders", "s3a://lake/orders")
    return json.loads(services.execute("streaming-job", *words, check=False).splitlines()[-1])


PLACE = {"checkpoint": CHECKPOINT, "checkpoint_conn_id": "lake"}
SINK = "file:s3a://lake/orders"


def application(services: Services, *more: str) -> dict[str, object]:
    """What the DAGs submit: the streaming job, until it has read what is there."""
    words = [services.text("scheduler", word) for word in ("/opt/ckpt/demo/orders.py", *JOB)]
    return {"application": words[0], "application_args": [*words[1:], *more]}


def read_and_write(services: Services) -> None:
    """The streaming job writes what the producer sends; then it is stopped for a deploy."""
    services.execute("streaming-job", "ckpt", "wait", CHECKPOINT, "--batch", "1", "--timeout", "5m")
    services.stop("streaming-job")
    found = compare(services)
    say(f"the streaming job has written two batches and is stopped: {found}")
    assert found["rows"], found


def deploy_badly(services: Services) -> int:
    """A version that is wrong passes the gate and is continuous: the batch before it, to which one can go back."""
    operator = Airflow(services, "operator")
    deploy = operator.trigger(
        "pre_deploy_gate",
        **PLACE,
        **application(services, "--factor", "100"),
        backup_root="s3://lake/backups",
        sources=1,
        sink=SINK,
    )
    operator.finish(deploy, "gate", "backup", "restart", "wait", "continuity", "deployed")
    found = compare(services)
    say(f"gated, backed up, deployed, waited for, and continuous, but wrong: {found}")
    assert found["wrong"], found
    return operator.xcom(deploy, "gate", "bookmark")["batch_id"]


def roll_back(services: Services, batch_id: int) -> None:
    """A person approves the plan in a browser; the right version is submitted."""
    operator = Airflow(services, "operator")
    rollback = operator.trigger(
        "checkpoint_rollback",
        **PLACE,
        **application(services),
        to_batch=batch_id,
        sources={"0": "kafka"},
        sink=SINK,
        trim_sink_log=True,
    )
    say(see_pages(services, CHECKPOINT))
    operator.wait("the plan", lambda: operator.states(rollback).get("approve") in ("awaiting_input", "deferred"))
    say(f"a plan of {operator.xcom(rollback, 'plan')['actions']} steps to batch {batch_id} waits for a person")
    approve(operator.url, operator.user, operator.password, services.home / "screenshots")
    say("approved in the browser")
    operator.finish(rollback, "rollback", "restart", "wait")
    found = compare(services)
    say(f"rolled back and submitted again: {found}")
    assert not found["wrong"], found


def go_on(services: Services) -> None:
    """The streaming job goes on to the last order, and every order is there once, with its amount."""
    services.stop("producer")
    services.start("streaming-job")
    caught_up = ("--caught-up", "--source", "0=kafka:kafka:9092", "--timeout", "10m")
    services.execute("streaming-job", "ckpt", "wait", CHECKPOINT, *caught_up)
    found = compare(services)
    say(f"the streaming job goes on: {found}")
    assert found["rows"] == found["orders"], found
    assert not any(found[what] for what in ("wrong", "doubled", "missing")), found


def story(services: Services) -> None:
    """A bad deploy, rolled back."""
    read_and_write(services)
    roll_back(services, deploy_badly(services))
    go_on(services)


def main() -> int:
    """Run it; the exit code is 0 when all is right and every process has ended."""
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="ckpt-compose-"))
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o755)  # PostgreSQL's user passes through
    file = read_file()
    say(f"everything happens in {home}")
    services = Services(home / "all", faults.with_strangers(file))
    try:
        services.up()
        say("every service is healthy")
        story(services)
        faults.see_strangers(services)
    finally:
        services.down()
    faults.see_what_does_not_wait(home / "hasty", file)
    see_that_all_have_ended(home, (address for address in services.addresses.values() if ":" in address))
    say("the faults are seen, every process has ended, and no port is open")
    shutil.rmtree(home)
    print(WATCH.verdict(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
