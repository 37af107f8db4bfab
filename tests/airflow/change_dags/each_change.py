"""A DAG with one task for each operator that changes something; the run says what befalls its tries.

The parameter ``befalls`` has what befalls them one after another: a word and a write, such as ``["killed", 3]``. A try
that gets as far as that write takes it from the list, and the next one gets the next.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow.sdk import DAG, Param
from airflow.sdk.execution_time.comms import CommsDecoder, SucceedTask

from tests.dying import at_write
from tests.operators.each_change import CHANGES, forge

HOME = "{{ params.home }}"


def killed(home: str) -> None:
    """The process of the task ends, as by the kernel that is out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def terminated(home: str) -> None:
    """The process of the task is asked to end: Airflow's handler calls ``on_kill``, and the task goes on."""
    os.kill(os.getpid(), signal.SIGTERM)


def orphaned(home: str) -> None:
    """The process that supervises the task ends, so that Airflow sees no heartbeat, and the task goes on."""
    os.kill(os.getppid(), signal.SIGKILL)
    waits(home)


def waits(home: str) -> None:
    """The task waits until the test lets it go on."""
    Path(f"{home}-waits").touch()
    while not Path(f"{home}-goes-on").exists():
        time.sleep(0.1)


def times_out(home: str) -> None:
    """The task takes longer than its ``execution_timeout``: Airflow raises in the midst of it."""
    time.sleep(40)


#: What befalls a try before one of its writes.
WAYS: dict[str, Callable[[str], None]] = {
    "killed": killed,
    "killed with receipt": killed,
    "killed when told": killed,
    "terminated": terminated,
    "orphaned": orphaned,
    "waits": waits,
    "times out": times_out,
}


class Fate:
    """What befalls the tries of a run."""

    def __init__(self, context: Any) -> None:
        self.home, self.list = context["params"]["home"], context["params"]["befalls"]
        self.record = Path(f"{self.home}-befallen")
        befallen = len(self.record.read_text().splitlines()) if self.record.exists() else 0
        self.word, self.write = self.list[befallen] if befallen < len(self.list) else ("", 0)

    def __call__(self) -> None:
        """Let it befall this try."""
        with self.record.open("a") as record:
            record.write(f"{self.word}\n")
        WAYS[self.word](self.home)


def before(context: Any) -> None:
    """Put the forged broker and Spark in their place, and wait for the write."""
    home = context["params"]["home"]
    forge(Path(home), Path(context["params"]["golden"]), SimpleNamespace(setattr=setattr))
    fate = Fate(context)
    if fate.word == "killed when told":
        tell = CommsDecoder.send

        def last(comms: Any, msg: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(msg, SucceedTask):
                fate()
            return tell(comms, msg, *args, **kwargs)

        CommsDecoder.send = last
    elif fate.word and fate.word != "killed with receipt":
        at_write(fate.write, home, fate)


def after(context: Any, result: Any = None) -> None:
    """The change is recorded, and Airflow has not got what the task returns."""
    fate = Fate(context)
    if fate.word == "killed with receipt":
        fate()


for change in CHANGES:
    for suffix, limit in (("", None), ("_in_time", timedelta(seconds=20))):
        with DAG(
            f"{change.name}{suffix}",
            schedule=None,
            max_active_runs=100,
            params={
                "home": Param("/none", type="string"),
                "golden": Param("/none", type="string"),
                "befalls": Param([], type="array"),
            },
            default_args={"retries": 20, "retry_delay": timedelta(seconds=3), "execution_timeout": limit},
        ):
            change.kind(task_id="it", pre_execute=before, post_execute=after, **change.arguments(HOME))
