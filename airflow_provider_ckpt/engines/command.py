"""The engine ``command``: commands of the user's own say which runs there are, end one, and start one.

Each is a list of words, without a shell. ``{query}``, ``{run}`` and ``{token}`` in a word are replaced: ``{run}`` by
the id of the run that is to end, ``{token}`` by the mark of the start. Their answer is that of ``answer.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.engines.answer import parse_answer
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.open_engine import Connect
from airflow_provider_ckpt.engines.run import Presence, Run, Seen, generation_of
from airflow_provider_ckpt.engines.run_command import run_command
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine

#: Seconds that a command has, where nothing is declared.
TIMEOUT_S = 120.0
#: Seconds between the two answers by which all is over.
SETTLE_S = 5.0


class CommandEngine:
    """Runs that commands of the user's own know.

    Args:
        declared: What the query file says of it.
        name: The query, or the group of queries of one application.
        connect: Not asked: commands have their own access.
    """

    settle_s = SETTLE_S

    def __init__(self, declared: DeclaredEngine, name: str, connect: Connect) -> None:
        self._said, self._name, self._directory = declared.application, name, declared.directory
        self._timeout_s: float = self._said.get("timeout", TIMEOUT_S)
        self.submit_s: float | None = self._said.get("submitted_within")

    def look(self, known: Sequence[str]) -> Seen:
        """What the command ``status`` answers."""
        return self._seen("status", self._said["status"])

    def disarm(self) -> bool:
        """Run the command ``disarm``; False where there is none."""
        return self._asked("disarm")

    def arm(self) -> None:
        """Run the command ``arm``, where there is one."""
        self._asked("arm")

    def end(self, run: Run) -> None:
        """Run the command ``end``."""
        self._run("end", self._said["end"], run=run.id)

    def start(self, application: Application, token: str) -> Run:
        """Run the command ``start`` of an application, unless the token has a run."""
        if application.engine != "command":
            raise EngineError(
                f"the application is one of the engine {application.engine}, and {self._name} runs by commands now.",
                hint="Nothing was started. Start it by hand, or declare the engine with which it ran.",
            )
        generation = generation_of(self._name, token)
        seen = self._seen("start", application.said["start"], token=token)
        runs = [run for run in seen.runs if run.generation == generation and run.presence is not Presence.ABSENT]
        if len(runs) != 1:
            raise EngineUnknownError(
                f"the command start of {self._name} answered with {len(runs)} runs of {token}, and has to name one.",
                hint="Nothing more was done. Run the same command again, which finds the run by its token.",
            )
        return runs[0]

    def _asked(self, what: str) -> bool:
        if what not in self._said:
            return False
        self._run(what, self._said[what])
        return True

    def _seen(self, what: str, words: Sequence[str], token: str = "") -> Seen:
        text = self._run(what, words, token=token)
        try:
            return parse_answer(text, self._name, self._said.get("states", {}))
        except ValueError as error:
            raise EngineUnknownError(
                f"the answer of the command {what} of {self._name} says nothing of runs: {error}.",
                hint="Nothing is known of the query. docs/how-to/stop-and-start.md has the form of an answer.",
            ) from None

    def _run(self, what: str, words: Sequence[str], *, run: str = "", token: str = "") -> str:
        values = {"{query}": self._name, "{run}": run, "{token}": token}
        filled = list(words)
        for placeholder, value in values.items():
            filled = [word.replace(placeholder, value) if value else word for word in filled]
        return run_command(f"{what} of {self._name}", filled, self._directory, self._timeout_s)
