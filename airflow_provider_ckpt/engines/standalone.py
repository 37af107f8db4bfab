"""The engine ``standalone``: drivers in cluster mode on Spark's own cluster, over the REST server of its Master.

A run is a driver, known by its id alone: the Master lists no names. So a start whose answer was lost is found by no one
but a person. A driver with ``--supervise`` is begun again by its Worker, while its state stays RUNNING; nothing
changes that, and one that was killed is not begun again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.open_engine import Connect
from airflow_provider_ckpt.engines.rest import Rest
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen, generation_of
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.query.spark_submit import confs_of_words, options_of_words

#: What the states of a driver mean. RELAUNCHING is a driver whose Worker is lost: another one, with an id of its own,
#: takes its place, and it may still run itself. UNKNOWN is Spark's own word.
STATES = {
    **dict.fromkeys(("SUBMITTED", "RUNNING", "RELAUNCHING"), Presence.LIVE),
    **dict.fromkeys(("FINISHED", "KILLED", "FAILED"), Presence.ENDED),
}
#: The port of the REST server, and the conf with the token of a run, which its process has among its words.
PORT, TOKEN = 6066, "spark.ckpt.token"
#: The options of spark-submit that are confs of a driver.
CONF_OF = {
    "--driver-memory": "spark.driver.memory",
    "--driver-cores": "spark.driver.cores",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--total-executor-cores": "spark.cores.max",
    "--jars": "spark.jars",
    "--name": "spark.app.name",
}
_ID = re.compile(r"driver-[A-Za-z0-9._-]{1,80}")
_SUBMISSIONS = ("v1", "submissions")


class StandaloneEngine:
    """Drivers of a standalone cluster.

    Args:
        declared: What the query file says of it.
        name: The query, or the group of queries of one application.
        connect: Gives the connection of the REST server of the Master.
    """

    settle_s = 5.0
    submit_s: float | None = None

    def __init__(self, declared: DeclaredEngine, name: str, connect: Connect) -> None:
        self._declared, self._name, self._connect = declared, name, connect
        self._master: Rest | None = None

    def look(self, known: Sequence[str]) -> Seen:
        """The drivers with these ids; no other one of the name can be found."""
        runs = tuple(self._of(run_id) for run_id in dict.fromkeys(known))
        if not runs:
            self._ask("GET", "readyz")  # whether it answers at all
        is_live = any(run.presence is Presence.LIVE for run in runs)
        return Seen(runs, Restarts.UNKNOWN if is_live else Restarts.NONE, complete=False)

    def disarm(self) -> bool:
        """Whether a driver is supervised is decided when it is submitted."""
        return False

    def arm(self) -> None:
        """Nothing was disarmed."""

    def end(self, run: Run) -> None:
        """Ask for the end of a driver; one that has ended and one that is not known get the same answer."""
        self._ask("POST", "kill", run.id, action="KillSubmissionResponse")

    def start(self, application: Application, token: str) -> Run:
        """Submit a driver. Not idempotent: it is called again only for what has surely begun no driver."""
        body = submission(self._name, application, token)
        said = self._ask("POST", "create", body=body, action="CreateSubmissionResponse")
        run_id = said.get("submissionId")
        if said.get("success") is not True or not isinstance(run_id, str) or not _ID.fullmatch(run_id):
            raise EngineUnknownError(
                f"the Master at {self._rest().url} has not named a driver of {self._name}: "
                f"{said.get('message')!s:.200}.",
                hint="See in its page whether it has begun one.",
            )
        return Run(run_id, Presence.LIVE, "SUBMITTED", generation_of(self._name, token))

    def _of(self, run_id: str) -> Run:
        if not _ID.fullmatch(run_id):
            return Run(run_id, Presence.UNKNOWN, "no driver of a standalone cluster")
        said = self._ask("GET", "status", run_id, action="SubmissionStatusResponse")
        if said.get("submissionId") != run_id:
            raise self._odd(f"asked for {run_id}, it answers with {said.get('submissionId')!s:.60}")
        state = said.get("driverState")
        if state is None and said.get("success") is False:
            return Run(run_id, Presence.ABSENT)
        native = state[:60] if isinstance(state, str) else ""
        return Run(run_id, _presence(native, said), native)

    def _ask(self, method: str, *path: str, action: str = "", body: Any = None) -> Mapping[str, Any]:
        said = self._rest().ask(method, *_SUBMISSIONS, *path, body=body).document
        if action and said.get("action") != action:
            raise self._odd(f"{said.get('action')!s:.60} is no answer to that")
        return said

    def _odd(self, what: str) -> EngineUnknownError:
        return EngineUnknownError(
            f"the Master at {self._rest().url} says nothing of {self._name}: {what}.",
            hint="Nothing was taken for stopped. See host and port of the engine's connection.",
        )

    def _rest(self) -> Rest:
        if self._master is None:
            if self._declared.connection is None:
                raise EngineError(
                    f"{self._name} runs on standalone, and its engine_connection is not declared.",
                    hint="Nothing was done. Declare the connection of the Master's REST server, http://master:6066.",
                )
            self._master = Rest("the Master", self._connect(self._declared.connection), PORT)
        return self._master


def submission(name: str, application: Application, token: str) -> dict[str, Any]:
    """What asks a Master for a driver. Raises EngineError for what no driver can be begun with."""

    def refused(what: str) -> EngineError:
        return EngineError(f"{what}.", hint="Nothing was started. See application in the query file.")

    said = application.said
    if application.engine != "standalone":
        raise EngineError(
            f"the application is one of the engine {application.engine}, and {name} runs on standalone now.",
            hint="Nothing was started. Start it by hand, or declare the engine with which it ran.",
        )
    if said["file"].endswith((".py", ".R", ".r")):
        raise refused(
            f"{said['file']} of {name} is no jar, and a standalone cluster runs no Python and no R in cluster mode "
            "(the engine local runs it on this machine, the engine yarn on YARN)"
        )
    if "class" not in said:
        raise refused(f"the application of {name} has no class, which the main class of a jar needs")
    submit = said.get("submit", ())
    try:
        options, properties = options_of_words(submit), confs_of_words(submit)
    except ValueError as error:
        raise refused(f"submit of {name} cannot be said to the REST server of a Master: {error}") from None
    for option, value in options:
        if option == "--supervise":
            properties["spark.driver.supervise"] = "true"
        elif option in CONF_OF and value:
            properties[CONF_OF[option]] = value
        elif option not in ("--master", "--deploy-mode"):
            raise refused(f"submit of {name} has {option}, which cannot be said to the REST server of a Master")
    return {
        "action": "CreateSubmissionRequest",
        "appArgs": list(said.get("args", ())),
        "appResource": said["file"],
        "clientSparkVersion": "ckpt",
        "environmentVariables": {},
        "mainClass": said["class"],
        "sparkProperties": {"spark.app.name": token, "spark.jars": said["file"], **properties, TOKEN: token},
    }


def _presence(native: str, said: Mapping[str, Any]) -> Presence:
    """A driver is in ERROR when its Worker could not run it, and says why; or its Worker is lost: it may still run."""
    if native == "ERROR":
        return Presence.ENDED if said.get("message") else Presence.UNKNOWN
    return STATES.get(native, Presence.UNKNOWN)
