"""What the query file declared when a plan was made, as part of the plan: a file that says otherwise makes it stale."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.query.spark_version import conf_text, version_text
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: Characters of a value that a plan holds; of a longer one it holds a digest.
LONGEST = 200


def with_declared(plan: Plan, query: Query, given: Collection[str] = ()) -> Plan:
    """A new plan with what the query file declares of its query.

    For whoever plans a change of a query by its name, or of a location that the file knows: a command, an operator, a
    page. A plan that completes a change stays as it is.

    Args:
        plan: The plan.
        query: The query.
        given: Keys of the file in whose place something else was given.
    """
    if plan.completes:
        return plan
    said: dict[str, str | None] = {**_declarations(query), **dict.fromkeys(given)}
    return replace(plan, declared=json.dumps(said, sort_keys=True, separators=(",", ":")))


def require_same_declared(plan: Plan, file: QueryFile, query: Query) -> None:
    """Raise StalePlanError for a plan that was made when the query file declared something else.

    For whoever carries out a plan that was made before (``--plan``, ``plan=`` of an operator, a page), before anything
    is done; ``query`` is found in ``file`` by the location of the plan (:meth:`QueryFile.find`). Of a plan that was
    made without a file the sink alone is compared.

    Raises:
        StalePlanError: The error says each difference: both values, and the line of the file.
        PlanError: What the plan says of it makes no sense.
    """
    now = _declarations(query)
    before = _before(plan, now)
    changed = [
        _difference(key, before.get(key), now.get(key), file.origin(query, _LINE_OF.get(key, key)) or file.place)
        for key in sorted(before.keys() | now.keys())
        if before.get(key, "") is not None and before.get(key, "") != now.get(key, "")
    ]
    if changed:
        raise StalePlanError(
            f"the query file has changed since the plan was made: {'; '.join(changed)}.",
            location=plan.location,
            hint="Nothing was done. Make the plan anew.",
        )


def require_not_declared(plan: Plan, place: str | None, hint: str) -> None:
    """Raise StalePlanError for a plan of a query that a file declared when it was made, where no file does now.

    A plan of which every declaration was given in place of that of the file is none.

    Args:
        plan: The plan.
        place: The query file that there is now; None without one that can be read.
        hint: What to do.

    Raises:
        StalePlanError: The error says what the file declared.
        PlanError: What the plan says of it makes no sense.
    """
    lost = [key for key, value in _before(plan, {}).items() if value is not None]
    if lost:
        now = "there is no query file now that can be read" if place is None else f"{place} does not declare it now"
        raise StalePlanError(
            f"a query file declared this query when the plan was made ({', '.join(sorted(lost))}), and {now}.",
            location=plan.location,
            hint=f"Nothing was done. {hint}",
        )


#: Keys under which the file says what is recorded under another one.
_LINE_OF = {"kafka": "sources"}
#: A conf of a plan: its name, and a digest of its value.
_CONF = re.compile(r"(\S+)=([0-9a-f]{16})(?:, |\Z)")


def _difference(key: str, before: str | None, now: str | None, place: str) -> str:
    """A declaration that has changed; of confs their names alone, because any value may hold a secret."""
    if key != "confs":
        return f"{key} was {_shown(before)}, and {place} says {_shown(now)}"
    was, says = (set(_CONF.findall(text or "")) for text in (before, now))
    names = sorted({name for name, _ in was ^ says})
    if not names:
        return f"{place} {'says that no conf is set' if now else 'no longer says that no conf is set'}"
    return f"{place} says another value, or none, of {', '.join(f'confs.{name}' for name in names)}"


def _shown(value: str | None) -> str:
    return value or "nothing"


def _before(plan: Plan, now: Mapping[str, str]) -> Mapping[str, str | None]:
    """What the file declared by then; None under what was given in its place."""
    if not plan.declared:
        return {**now, "sink": plan.declared_sink.name or "unknown"} if "sink" in now else now
    try:
        value = parse_json(plan.declared)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(each, str | None) for each in value.values()):
        raise PlanError("what the plan says of the query file makes no sense.", location=plan.location)
    return value


def _declarations(query: Query) -> dict[str, str]:
    """What the file says of a query that a change may rest on, each as one text."""
    deploy = query.deploy
    named = [f"{source.id}={source.text}" for source in deploy.sources or () if source.id is not None]
    kafka = [f"{at}.{key}={value}" for at, each in query.clusters.items() for key, value in each.options.items()]
    said = {
        "sources": named or ([str(len(deploy.sources))] if deploy.sources else ()),
        "source_options": _pairs(deploy.source_options),
        "kafka": sorted(
            [*kafka, *(f"{at}.conn_id={each.conn_id}" for at, each in query.clusters.items() if each.conn_id)]
        ),
        "sink": [deploy.sink.name] if deploy.sink else (),
        "sinks": [sink.name for sink in query.sinks],
        "sink_name": _one(deploy.sink_name),
        "trigger": _one(deploy.trigger),
        "spark_version": [version_text(deploy.declared_version)] if deploy.declared_version else (),
        "confs": _digests(deploy.confs) or (["none"] if deploy.sets_no_conf else ()),
        "confs_file": _one(query.confs_file),
        "operators": () if deploy.operators is None else deploy.operators or ["none"],
        "async_progress": () if deploy.async_progress is None else [conf_text(deploy.async_progress)],
        "classes": deploy.classes,
        "backups": _one(query.backups),
        "undo": _one(query.undo),
    }
    return {
        key: ", ".join(texts) if key == "confs" else _short(", ".join(texts)) for key, texts in said.items() if texts
    }


def _one(text: str | None) -> list[str]:
    return [] if text is None else [text or '""']


def _pairs(values: Mapping[str, str]) -> list[str]:
    return sorted(f"{key}={value}" for key, value in values.items())


def _digests(values: Mapping[str, str]) -> list[str]:
    """Each value as a digest, which tells whether it has changed and not what it is."""
    return sorted(f"{key}={_digest(value)}" for key, value in values.items())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:60]}… (sha256 {_digest(text)})"
