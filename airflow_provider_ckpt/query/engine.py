"""Where a query runs, as the query file declares it: a closed set of engines, each with the keys of its application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from airflow_provider_ckpt.query.yaml_text import Path, problem_of
from airflow_provider_ckpt.times import parse_duration_ms

#: Keys of a query that are about its engine.
ENGINE_KEYS = ("engine", "engine_connection", "application", "stop", "start", "application_group")
#: Those of them that are of one query, so that no ``defaults`` may have them.
OF_ONE_APPLICATION = ("application", "application_group")

#: What a key of an application is: a text, the place of a file, a list of texts, texts by text, a duration.
TEXT, FILE, TEXTS, TEXTS_BY_TEXT, DURATION = "text", "file", "texts", "texts by text", "duration"

_MANIFEST = {"manifest": FILE}
_SUBMITTED = {"file": TEXT, "class": TEXT, "args": TEXTS, "submit": TEXTS}
#: The engines, with the keys that ``application`` has, and what each is.
ENGINES: Mapping[str, Mapping[str, str]] = {
    "command": {
        "status": TEXTS,
        "end": TEXTS,
        "start": TEXTS,
        "disarm": TEXTS,
        "arm": TEXTS,
        "states": TEXTS_BY_TEXT,
        "submitted_within": DURATION,
        "timeout": DURATION,
    },
    "local": {**_SUBMITTED, "spark_submit": TEXT},
    "yarn": {**_SUBMITTED, "spark_submit": TEXT},
    "standalone": _SUBMITTED,
    "emr-serverless": _SUBMITTED,
    "kubeflow": _MANIFEST,
    "apache-operator": _MANIFEST,
    "databricks": _MANIFEST,
}
#: Keys of ``application`` that an engine cannot do without.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "command": ("status", "end", "start"),
    **dict.fromkeys(("local", "yarn", "standalone", "emr-serverless"), ("file",)),
    **dict.fromkeys(("kubeflow", "apache-operator", "databricks"), ("manifest",)),
}
#: What a run is, as ``states`` of a command may say of its own states.
PRESENCES = ("live", "ended", "absent", "unknown")
#: What is done where no fence is possible: nothing; or the run is ended all the same, which leaves a batch in flight.
OTHERWISE = ("refuse", "interrupt")
#: What is done with a deploy that does not commit.
ON_FAILURE = ("rollback", "stop", "leave")


@dataclass(frozen=True, slots=True)
class StopRule:
    """How a query is stopped.

    Args:
        wait_for_batch_s: Seconds to wait for the commit of a batch in flight.
        otherwise: One of OTHERWISE.
    """

    wait_for_batch_s: float = 60.0
    otherwise: str = "refuse"


@dataclass(frozen=True, slots=True)
class StartRule:
    """How a query is started.

    Args:
        commit_within_s: Seconds within which it has to commit a batch.
        on_failure: One of ON_FAILURE.
    """

    commit_within_s: float = 600.0
    on_failure: str = "rollback"


@dataclass(frozen=True, slots=True)
class DeclaredEngine:
    """Where a query runs.

    Args:
        name: One of ENGINES.
        connection: Id of the connection by which the engine is reached; None for none.
        application: What runs, by the keys of ENGINES; files are as ckpt opens them, durations are in seconds.
        stop: How it is stopped.
        start: How it is started.
        group: Name that all queries of one application have; None for an application of this query alone.
        directory: The directory of the query file, in which commands run.
        place: Digest of the checkpoint of its first query, which tells its runs from those of another one of the same
            name; empty where nothing is known of it.
    """

    name: str
    connection: str | None = None
    application: Mapping[str, Any] = field(default_factory=dict)
    stop: StopRule = StopRule()
    start: StartRule = StartRule()
    group: str | None = None
    directory: str = "."
    place: str = ""


class KeyPathError(ValueError):
    """What is wrong with a key, below the entry of the query.

    Args:
        path: The key.
        problem: What is wrong.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path


def declare_engine(said: Mapping[str, Any], opened: Callable[[str], str], directory: str) -> DeclaredEngine | None:
    """The engine that the entry of a query declares; None where it declares none.

    Args:
        said: The keys of ENGINE_KEYS that the entry has.
        opened: Gives a place of the file as ckpt opens it.
        directory: The directory of the file.

    Raises:
        KeyPathError: A key is wrong.
    """
    rules = _stop_rule(said.get("stop")), _start_rule(said.get("start"))
    if "engine" not in said:
        for key in OF_ONE_APPLICATION:  # the others may be defaults, for those that have an engine
            if key in said:
                raise KeyPathError((key,), "it needs the key engine beside it, which says where the query runs")
        return None
    name = _one_of(("engine",), said["engine"], tuple(ENGINES))
    return DeclaredEngine(
        name,
        _text(("engine_connection",), said["engine_connection"]) if "engine_connection" in said else None,
        _application(name, said.get("application"), opened),
        *rules,
        _text(("application_group",), said["application_group"]) if "application_group" in said else None,
        directory,
    )


def _stop_rule(said: Any) -> StopRule:
    found, rule = _mapping(("stop",), said, ("wait_for_batch", "otherwise")), StopRule()
    return StopRule(
        _seconds(("stop", "wait_for_batch"), found.get("wait_for_batch", rule.wait_for_batch_s)),
        _one_of(("stop", "otherwise"), found.get("otherwise", rule.otherwise), OTHERWISE),
    )


def _start_rule(said: Any) -> StartRule:
    found, rule = _mapping(("start",), said, ("commit_within", "on_failure")), StartRule()
    return StartRule(
        _seconds(("start", "commit_within"), found.get("commit_within", rule.commit_within_s)),
        _one_of(("start", "on_failure"), found.get("on_failure", rule.on_failure), ON_FAILURE),
    )


def _application(engine: str, said: Any, opened: Callable[[str], str]) -> dict[str, Any]:
    keys = ENGINES[engine]
    found = _mapping(("application",), said, tuple(keys))
    for key in NEEDED[engine]:
        if key not in found:
            raise KeyPathError(("application",), f"its application has no {key}, which the engine {engine} needs")
    return {key: _value(("application", key), keys[key], value, opened) for key, value in found.items()}


def _value(path: Path, form: str, value: Any, opened: Callable[[str], str]) -> Any:
    if form == DURATION:
        return _seconds(path, value)
    if form == TEXTS:
        if not isinstance(value, list) or (path[-1] not in ("args", "submit") and not value):
            raise KeyPathError(path, "it is a list of texts, such as [./status.sh, orders]")
        return tuple(_text((*path, at), each) for at, each in enumerate(value))
    if form == TEXTS_BY_TEXT:
        found = _mapping(path, value, None)
        return {state: _one_of((*path, state), each, PRESENCES) for state, each in found.items()}
    text = _text(path, value)
    return opened(text) if form == FILE else text


def _mapping(path: Path, said: Any, keys: tuple[str, ...] | None) -> dict[str, Any]:
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise KeyPathError(path, "it is not a mapping with keys and values")
    for key, value in said.items():
        if not isinstance(key, str):
            raise KeyPathError((*path, key), "it is not a text; write it in quotes")
        if keys is not None and key not in keys:
            near = get_close_matches(key, keys, 1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(sorted(keys))}"
            raise KeyPathError((*path, key), f"it is unknown here; {hint}")
        if value is None:
            raise KeyPathError((*path, key), "it has no value; write one, or leave the key out")
    return said


def _text(path: Path, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise KeyPathError(path, f"it is {value!r:.40}, and has to be a text; write it in quotes")
    if problem := problem_of(value):
        raise KeyPathError(path, f"it is {value!r:.60}, {problem}")
    return value


def _one_of(path: Path, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        near = get_close_matches(str(value).lower(), known, 1)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(known)}"
        raise KeyPathError(path, f"it is {value!r:.40}, which is unknown here; {hint}")
    return str(value)


def _seconds(path: Path, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise KeyPathError(path, f"it is {value!r:.40}, and has to be a duration such as 2m or 120")
    try:
        return parse_duration_ms(str(value)) / 1000
    except ValueError as error:
        raise KeyPathError(path, str(error)) from None
