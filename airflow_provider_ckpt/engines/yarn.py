"""The engine ``yarn``: found and ended over the REST API of the ResourceManager, begun by spark-submit in cluster mode.

A run is a YARN application with three tags: of the query, of its checkpoint and of the start. One that was begun by
other means is found as well, where it has the first tag, and none of another checkpoint. YARN begins another attempt
of an application that has failed, as often as the application was submitted with, which the API does not tell and
nothing changes: so nothing is disarmed, and what was asked to end is not begun again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.find_spark_submit import find_spark_submit
from airflow_provider_ckpt.engines.open_engine import Connect
from airflow_provider_ckpt.engines.rest import Rest
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen, generation_of
from airflow_provider_ckpt.engines.run_command import run_command
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.query.spark_submit import confs_of_words

#: What the states of an application mean. Between two attempts it is ACCEPTED.
STATES = {
    **dict.fromkeys(("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"), Presence.LIVE),
    **dict.fromkeys(("FINISHED", "FAILED", "KILLED"), Presence.ENDED),
}
#: The conf with the tags of an application, and their beginnings: of the query, and of one start of it.
TAGS, OF_QUERY, OF_START, OF_PLACE = "spark.yarn.tags", "ckpt-query:", "ckpt-start:", "ckpt-checkpoint:"
#: The port of a ResourceManager, and the longest name that is a tag as it is; a tag has 100 characters at most.
PORT, LONGEST_NAME = 8088, 60
#: Seconds that spark-submit has to upload and to submit.
SUBMIT_TIMEOUT_S = 300.0
#: A ResourceManager that keeps no state knows no earlier application; for so long one of them may still run.
FORGETFUL_MS = 120_000
_ID = re.compile(r"application_(\d{1,19})_\d{1,10}")
_APPS = ("ws", "v1", "cluster", "apps")


class YarnEngine:
    """Applications of a YARN cluster.

    Args:
        declared: What the query file says of it.
        name: The query, or the group of queries of one application.
        connect: Gives the connection of the ResourceManager.
    """

    #: The state is KILLED before the process has ended; its node lets it live for a moment.
    settle_s = 5.0
    #: An interrupted spark-submit goes on for a while, and submits.
    submit_s: float | None = 2 * SUBMIT_TIMEOUT_S

    def __init__(self, declared: DeclaredEngine, name: str, connect: Connect) -> None:
        self._declared, self._name, self._connect = declared, name, connect
        self._key = tag_key(name)
        self._manager: Rest | None = None

    def look(self, known: Sequence[str]) -> Seen:
        """Applications with the tag of the name, and each with one of these ids."""
        runs = {run.id: run for run in self._tagged()}
        missing = [run_id for run_id in known if run_id not in runs]
        runs |= {run_id: self._of(run_id) for run_id in missing}
        gone = [run.id for run in runs.values() if run.presence is Presence.ABSENT]
        is_live = any(run.presence is Presence.LIVE for run in runs.values())
        restarts = Restarts.UNKNOWN if is_live else Restarts.NONE
        return Seen(tuple(runs.values()), restarts, complete=self._remembers(gone))

    def disarm(self) -> bool:
        """YARN changes the attempts of no application that was submitted."""
        return False

    def arm(self) -> None:
        """Nothing was disarmed."""

    def end(self, run: Run) -> None:
        """Ask for the state KILLED; it is there later."""
        self._rest().ask("PUT", *_APPS, run.id, "state", params=self._user(), body={"state": "KILLED"}, accepted=(404,))

    def start(self, application: Application, token: str) -> Run:
        """Submit, unless the token has a run."""
        if application.engine != "yarn":
            raise EngineError(
                f"the application is one of the engine {application.engine}, and {self._name} runs on yarn now.",
                hint="Nothing was started. Start it by hand, or declare the engine with which it ran.",
            )
        words, generation = self._words(application.said, token), generation_of(self._name, token)
        if there := self._of_generation(generation):
            return there
        run_command(f"spark-submit of {self._name}", words, self._declared.directory, SUBMIT_TIMEOUT_S)
        if (begun := self._of_generation(generation)) is None:
            raise EngineUnknownError(
                f"spark-submit has ended, and the ResourceManager at {self._rest().url} has no application with the "
                f"tag {OF_START}{self._key}-{generation}.",
                hint="It may have gone to another cluster: compare HADOOP_CONF_DIR with the engine's connection.",
            )
        return begun

    # --- what YARN says -------------------------------------------------------------------------------------------

    def _tagged(self) -> list[Run]:
        asked = {**self._user(), "applicationTags": OF_QUERY + self._key, "deSelects": "resourceRequests"}
        document = self._rest().ask("GET", *_APPS, params=asked).document
        apps = document.get("apps", "")
        found = [] if apps is None else apps.get("app", []) if isinstance(apps, dict) else None
        if not isinstance(found, list):
            raise self._odd("its list of applications has no key apps with applications")
        return [self._run(app) for app in found if not self._is_elsewhere(app)]

    def _is_elsewhere(self, app: Any) -> bool:
        """True for an application of a query of the same name with another checkpoint."""
        tags = app.get("applicationTags") if isinstance(app, dict) else None
        places = [tag for tag in tags.split(",") if tag.startswith(OF_PLACE)] if isinstance(tags, str) else []
        return bool(places and self._declared.place) and OF_PLACE + self._declared.place not in places

    def _of(self, run_id: str) -> Run:
        if not _ID.fullmatch(run_id):
            return Run(run_id, Presence.UNKNOWN, "no application of YARN")
        said = self._rest().ask("GET", *_APPS, run_id, params=self._user(), accepted=(404,))
        if said.status == 404:
            return Run(run_id, Presence.ABSENT)
        run = self._run(said.document.get("app"))
        if run.id != run_id:
            raise self._odd(f"asked for {run_id}, it answers with {run.id:.60}")
        return run

    def _run(self, app: Any) -> Run:
        if not isinstance(app, dict) or not isinstance(app.get("id"), str) or not _ID.fullmatch(app["id"]):
            raise self._odd("an application has no id")
        state, tags, url = (text if isinstance(text := app.get(key), str) else "" for key in _TEXTS)
        tokens = [tag.removeprefix(OF_START) for tag in tags.split(",") if tag.startswith(OF_START)]
        generations = [number for token in tokens if (number := generation_of(self._key, token)) is not None]
        presence = STATES.get(state, Presence.UNKNOWN)
        return Run(app["id"], presence, state[:60], generations[0] if generations else None, url[:2_000] or None)

    def _of_generation(self, generation: int | None) -> Run | None:
        found = [run for run in self._tagged() if run.generation == generation]
        if len(found) > 1:
            raise EngineUnknownError(
                f"{' and '.join(run.id for run in found)} have the same tag {OF_START}{self._key}-{generation}.",
                hint="Nothing was started. See in the ResourceManager which of them is to run, and kill the others.",
            )
        return found[0] if found else None

    def _remembers(self, gone: Sequence[str]) -> bool:
        """True if what is not in its list has ended: it drops applications that have, and none as long as it lives.

        One that has started since the application forgets it where it keeps no state; the containers of that live on
        until their node has heard of it.
        """
        said = self._rest().ask("GET", "ws", "v1", "cluster", "info", params=self._user())
        info = said.document.get("clusterInfo")
        since = info.get("startedOn") if isinstance(info, dict) else None
        if not isinstance(info, dict) or not isinstance(since, int):
            raise self._odd("it does not say since when it runs")
        if info.get("state") != "STARTED" or info.get("haState", "ACTIVE") != "ACTIVE":
            raise self._odd(f"it is {info.get('state')!s:.40} and {info.get('haState')!s:.40}, not the active one")
        if any((found := _ID.fullmatch(run_id)) is None or int(found[1]) < since for run_id in gone):
            return False
        return not _forgets(info) or (said.at_ms is not None and said.at_ms - since >= FORGETFUL_MS)

    def _odd(self, what: str) -> EngineUnknownError:
        return EngineUnknownError(
            f"the ResourceManager at {self._rest().url} says nothing of {self._name}: {what}.",
            hint="Nothing was taken for stopped. See host and port of the engine's connection.",
        )

    # --- how it is asked ------------------------------------------------------------------------------------------

    def _rest(self) -> Rest:
        if self._manager is None:
            if self._declared.connection is None:
                raise EngineError(
                    f"{self._name} runs on yarn, and its engine_connection is not declared.",
                    hint="Nothing was done. Declare the connection of the ResourceManager, http://host:8088.",
                )
            connection = self._connect(self._declared.connection)
            self._login = connection.login if connection.login and not connection.password else None
            self._manager = Rest("the ResourceManager", connection, PORT)
        return self._manager

    def _user(self) -> Mapping[str, str]:
        """The name of a user, as YARN without Kerberos takes it."""
        self._rest()
        return {"user.name": self._login} if self._login else {}

    def _words(self, said: Mapping[str, Any], token: str) -> list[str]:
        """The words of spark-submit; what has to hold comes last, where it holds."""
        program = find_spark_submit(said.get("spark_submit"))
        if program is None:
            raise EngineError(
                f"there is no {said.get('spark_submit', 'spark-submit')} on this machine, which {self._name} needs.",
                hint="Nothing was started. Say where it is: the key spark_submit of application, or SPARK_HOME.",
            )
        try:
            own = confs_of_words(said.get("submit", ())).get(TAGS, "")
        except ValueError:  # a file of confs may have tags, which ours replace
            own = ""
        generation = generation_of(self._name, token)
        tags = [*filter(None, own.split(",")), OF_QUERY + self._key, f"{OF_START}{self._key}-{generation}"]
        tags += [OF_PLACE + self._declared.place] if self._declared.place else []
        return [
            program,
            *said.get("submit", ()),
            *("--master", "yarn", "--deploy-mode", "cluster"),
            *("--conf", f"{TAGS}={','.join(tags)}", "--conf", "spark.yarn.submit.waitAppCompletion=false"),
            *(("--class", said["class"]) if "class" in said else ()),
            said["file"],
            *said.get("args", ()),
        ]


_TEXTS = ("state", "applicationTags", "trackingUrl")


def tag_key(name: str) -> str:
    """The name of a query as a tag: YARN keeps small letters alone."""
    if name == name.lower() and len(name) <= LONGEST_NAME and name.isascii():
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^a-z0-9._-]', '_', name.lower())[:LONGEST_NAME]}.{digest}"


def _forgets(info: Mapping[str, Any]) -> bool:
    """True if it keeps no state, or does not say that it does."""
    return str(info.get("rmStateStoreName", "")).rpartition(".")[2] in ("", "NullRMStateStore", "MemoryRMStateStore")
