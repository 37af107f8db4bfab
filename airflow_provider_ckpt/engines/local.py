"""The engine ``local``: spark-submit on this machine.

A run is a session of processes, known by the machine, the id of its first process and the moment of its start; the
token is a conf among its words, with a digest of the checkpoint, because another query may have the same name. It is
there as long as any process of its session is: a Python driver outlives its JVM. Nothing restarts it, and none outlives
a boot of its machine.

What runs the same file with the same arguments and has no token was started by hand: it is a run of its own, because it
writes to the same checkpoint.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.find_processes import (
    Process,
    directory_of,
    find_processes,
    is_earlier_boot,
    life_of,
    machine_key,
)
from airflow_provider_ckpt.engines.find_spark_submit import find_spark_submit
from airflow_provider_ckpt.engines.open_engine import Connect
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen, generation_of
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine

#: The conf that has the token of a run.
TOKEN = "spark.ckpt.token"
#: After so long a run that was asked to end is killed.
KILL_AFTER_S = 20.0
#: The class that spark-submit is.
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_ID = re.compile(r"([0-9a-f]{12}\.[0-9a-f]{12}):(\d{1,9}):(\d{1,20})")
#: What this process has begun, so that it takes note of their ends; it waits for none.
_begun: list[subprocess.Popen[bytes]] = []


class LocalEngine:
    """Runs of spark-submit on this machine.

    Args:
        declared: What the query file says of it.
        name: The query, or the group of queries of one application.
        connect: Not asked.
    """

    settle_s = 1.0
    submit_s: float | None = 5.0

    def __init__(self, declared: DeclaredEngine, name: str, connect: Connect) -> None:
        self._name, self._directory, self._said = name, declared.directory, declared.application
        self._asked_at: dict[str, float] = {}
        self._mark = f"@{declared.place}" if declared.place else ""
        self._machine = machine_key()

    def look(self, known: Sequence[str]) -> Seen:
        """Runs with a token of the name, those that were started by hand, and each with one of these ids."""
        processes = self._processes()
        runs = {run.id: run for run in (*self._marked(processes), *self._by_hand(processes, known))}
        for run_id in known:
            if run_id not in runs:
                runs[run_id] = self._of(run_id, processes)
        return Seen(tuple(runs.values()), Restarts.NONE, complete=True)

    def disarm(self) -> bool:
        """Nothing restarts a run."""
        return True

    def arm(self) -> None:
        """Nothing restarts a run."""

    def end(self, run: Run) -> None:
        """Ask each process of the run to end, and kill those that have not after a while."""
        found = _ID.fullmatch(run.id)
        if found is None or found[1] != self._machine:
            raise EngineError(
                f"the run {run.id} of {self._name} is not one of this machine.",
                hint="Nothing was done. Run the command on the machine on which it was started.",
            )
        asked_at = self._asked_at.setdefault(run.id, time.monotonic())
        is_late = time.monotonic() - asked_at > KILL_AFTER_S
        for process in _session(self._processes(), int(found[2]), found[3]):
            if life_of(process.pid) == process.life:
                try:
                    os.kill(process.pid, signal.SIGKILL if is_late else signal.SIGTERM)
                except ProcessLookupError:
                    continue
                except PermissionError:
                    raise EngineError(
                        f"process {process.pid} of {self._name} belongs to another user.",
                        hint="It still runs. Run the command as the user who started it.",
                    ) from None

    def start(self, application: Application, token: str) -> Run:
        """Begin spark-submit, unless the token has a run."""
        generation = generation_of(self._name, token)
        if there := [run for run in self._marked(self._processes()) if run.generation == generation]:
            return there[0]
        words = self._words(application, token)
        try:
            with (Path(self._directory) / f"{token}.log").open("ab") as out:
                process = subprocess.Popen(  # it lives on without this process
                    words,
                    cwd=self._directory or None,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
        except OSError as error:
            raise EngineError(
                f"spark-submit of {self._name} cannot be run: {error}.", hint="Nothing was started."
            ) from None
        _begun.append(process)
        life = life_of(process.pid)  # what has ended by now may have left a process in its session
        return Run(
            f"{self._machine}:{process.pid}:{life if life.isdecimal() else 0}", Presence.LIVE, "started", generation
        )

    def _words(self, application: Application, token: str) -> list[str]:
        if application.engine != "local":
            raise EngineError(
                f"the application is one of the engine {application.engine}, and {self._name} runs here now.",
                hint="Nothing was started. Start it by hand, or declare the engine with which it ran.",
            )
        said = application.said
        program = find_spark_submit(said.get("spark_submit"))
        if program is None:
            raise EngineError(
                f"there is no {said.get('spark_submit', 'spark-submit')} on this machine, which {self._name} needs.",
                hint="Nothing was started. Say where it is: the key spark_submit of application, or SPARK_HOME.",
            )
        main = ["--class", said["class"]] if "class" in said else []
        return [
            program,
            *("--conf", f"{TOKEN}={token}{self._mark}"),
            *said.get("submit", ()),
            *main,
            said["file"],
            *said.get("args", ()),
        ]

    def _processes(self) -> list[Process]:
        _begun[:] = [process for process in _begun if process.poll() is None]
        try:
            return list(find_processes())
        except OSError as error:
            raise EngineUnknownError(
                f"this machine does not tell which processes it has: {error}.",
                hint="Nothing is known of the query. The engine local needs Linux with /proc.",
            ) from None

    def _marked(self, processes: Sequence[Process]) -> list[Run]:
        """The runs whose words have a token of the name."""
        found: dict[str, Run] = {}
        lives = {process.pid: process.life for process in processes}
        for process in processes:
            generations = [number for word in process.words if (number := self._generation(word)) is not None]
            if generations:
                leader = process.session if process.session in lives else process.pid
                run_id = f"{self._machine}:{leader}:{lives[leader]}"
                found[run_id] = Run(run_id, Presence.LIVE, "running", generations[0])
        return list(found.values())

    def _generation(self, word: str) -> int | None:
        """The number of the start that a word of a process marks; None for what is no mark of this query."""
        is_own = word.startswith(f"{TOKEN}=") and word.endswith(self._mark)
        token = word.removeprefix(f"{TOKEN}=").removesuffix(self._mark)
        return generation_of(self._name, token) if is_own else None

    def _by_hand(self, processes: Sequence[Process], known: Sequence[str]) -> list[Run]:
        """Drivers of the declared application that are in no session of a run with a token of ours, or that is known.

        What one of them has begun, as spark-submit begins Python, is part of it while it is there.
        """
        by_pid = {process.pid: process for process in processes}
        ours = {each.session for each in processes if any(self._generation(word) is not None for word in each.words)}
        ours |= {int(found[2]) for run_id in known if (found := _ID.fullmatch(run_id)) is not None}
        alike = {each.pid for each in processes if each.session not in ours and self._is_driver(each)}
        return [
            Run(f"{self._machine}:{pid}:{by_pid[pid].life}", Presence.LIVE, "running, started by hand")
            for pid in sorted(alike)
            if by_pid[pid].parent not in alike
        ]

    def _is_driver(self, process: Process) -> bool:
        """Whether it is Python or spark-submit with the declared file and arguments, and nothing behind them."""
        args = [str(each) for each in self._said.get("args", ())]
        words = [word for word in process.words if word]
        before, after = words[: len(words) - len(args)], words[len(words) - len(args) :]
        if after != args or len(before) < 2 or "file" not in self._said:
            return False
        is_python = re.fullmatch(r"python[\d.]*", Path(before[0]).name) is not None and len(before) == 2
        if not is_python and _SUBMIT not in before:
            return False
        there = Path(directory_of(process.pid), before[-1])
        return there.resolve() == Path(self._directory, self._said["file"]).resolve()

    def _of(self, run_id: str, processes: Sequence[Process]) -> Run:
        found = _ID.fullmatch(run_id)
        if found is None or found[1] != self._machine:
            if found is not None and is_earlier_boot(found[1], self._machine):
                return Run(run_id, Presence.ENDED, "ended with an earlier boot of this machine")
            return Run(run_id, Presence.UNKNOWN, "on another machine")
        if _session(processes, int(found[2]), found[3]):
            return Run(run_id, Presence.LIVE, "running")
        return Run(run_id, Presence.ENDED, "ended")


def _session(processes: Sequence[Process], leader: int, life: str) -> list[Process]:
    """The processes of a session; none when its leader's id is that of a later process, which begins another one.

    The system gives the id of a session to no new process while the session has one.
    """
    if any(process.pid == leader and process.life != life for process in processes):
        return []
    return [process for process in processes if process.session == leader or process.pid == leader]
