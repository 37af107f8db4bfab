"""The answer of a command about runs: one JSON object on stdout.

``{"runs": [{"id": "app-7", "presence": "live", "native": "RUNNING", "token": "orders-3", "ui": "http://…"}],
"restarts": "none", "complete": true}``. ``presence`` is live, ended, absent or unknown; without it, ``states`` of the
query file says what the ``native`` state means, and a state that is not there is unknown; so is a run of which the two
say different things. ``restarts`` is none, armed,
suspended or unknown. ``complete`` is true where no run of the query is missing in the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen, generation_of
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: More runs than any query has.
MOST_RUNS = 10_000
_LONGEST = 4_096
_KEYS = ("runs", "restarts", "complete")
_RUN_KEYS = ("id", "presence", "native", "token", "generation", "ui")


def parse_answer(text: str, name: str, states: Mapping[str, str]) -> Seen:
    """What an answer says.

    Args:
        text: The answer.
        name: The query, or the group of queries, whose tokens are numbered.
        states: What native states mean, by the values of ``Presence``.

    Raises:
        ValueError: It is no such answer; the message says why.
    """
    try:
        said = parse_json(text, keys_once=True)
    except ValueError:
        raise ValueError("it is not JSON, or has a key twice") from None
    fields = _object("it", said, _KEYS)
    runs = fields.get("runs")
    if not isinstance(runs, list) or len(runs) > MOST_RUNS:
        raise ValueError("its key runs is no list of runs")
    complete = fields.get("complete", False)
    if not isinstance(complete, bool):
        raise ValueError("its key complete is neither true nor false")
    found = tuple(_run(each, name, states) for each in runs)
    if len({run.id for run in found}) < len(found):
        raise ValueError("it has one run twice")
    return Seen(found, Restarts(_one_of("restarts", fields.get("restarts", "unknown"), Restarts)), complete)


def _run(said: Any, name: str, states: Mapping[str, str]) -> Run:
    fields = _object("a run", said, _RUN_KEYS)
    run_id, native = _text(fields, "id"), _text(fields, "native", needed="presence" not in fields)
    if not run_id:
        raise ValueError("a run has no id")
    meant = _one_of("presence", fields.get("presence", states.get(native, "unknown")), Presence)
    presence = Presence(meant) if states.get(native, meant) == meant else Presence.UNKNOWN
    generation = fields.get("generation")
    if generation is not None and (isinstance(generation, bool) or not isinstance(generation, int) or generation < 0):
        raise ValueError(f"the generation of the run {run_id:.60} is no whole number")
    if "token" in fields:
        generation = generation_of(name, _text(fields, "token"))
    return Run(run_id, presence, native, generation, _text(fields, "ui") or None)


def _object(what: str, said: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise ValueError(f"{what} is no JSON object")
    if unknown := [key for key in said if key not in keys]:
        raise ValueError(f"{what} has the unknown key {unknown[0]!r:.60}; the keys are {', '.join(keys)}")
    return said


def _text(fields: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    value = fields.get(key)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError(f"the key {key} of a run is no text")
    return value


def _one_of(key: str, value: Any, known: type[Presence] | type[Restarts]) -> str:
    words = [each.value for each in known]
    if value not in words:
        raise ValueError(f"its key {key} is {value!r:.40}, and has to be one of {', '.join(words)}")
    return str(value)
