"""What is to be done to a checkpoint, as a value: decided once, shown to a person, carried out elsewhere.

Actions are ordered so that every prefix of them leaves a checkpoint from which Spark starts correctly, or, for a
restore, one that Spark refuses to start from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from airflow_provider_ckpt.actions import Action, Copy, Create, Delete, action_from_dict
from airflow_provider_ckpt.bounded_json import parse_with_list
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.facts import Place, Spot
from airflow_provider_ckpt.fields import Fields, shown
from airflow_provider_ckpt.requirements import (
    EmptyLocation,
    FromBackup,
    KeptObjects,
    KeptSinkLog,
    LatestCommitted,
    LatestPlanned,
    Requirement,
    SameQuery,
    WriterStopped,
    requirement_from_dict,
)

Kind = Literal["restore", "rollback", "undo"]
Effect = Literal["exact", "duplicated", "skipped", "unknown"]


#: What a change can do to a sink, from the best to the worst: nothing wrong; rows that come twice; rows that are lost;
#: nobody knows which.
EFFECTS: tuple[Effect, ...] = ("exact", "duplicated", "skipped", "unknown")


@dataclass(frozen=True, slots=True)
class SinkVerdict:
    """What happens at the sink when the plan has been applied and the query goes on.

    Args:
        sink: Kind and location.
        verdict: ``exact``, ``skipped`` (re-run batches are dropped: data loss), ``duplicated`` or ``unknown``.
        reason: Why.
        remedy: What to do about it; empty when nothing is to be done.
    """

    sink: str
    verdict: Effect
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A change to one checkpoint.

    Args:
        kind: What it is for.
        location: The checkpoint that it changes.
        query_id: Id of the query, or empty.
        batch_id: The committed batch that the checkpoint stands at afterwards.
        planned_at_ms: When it was made, epoch milliseconds.
        requirements: What must still hold.
        actions: In order.
        warnings: What a person should know.
        verdicts: One for each sink.
        source: Location that copies come from, or empty.
        sink: Location of the sink whose log is trimmed, or empty.
        undoes: Id of the plan that an undo takes back, or empty.
        notes: How the target was found, and what that means; for people.
    """

    kind: Kind
    location: str
    query_id: str
    batch_id: int
    planned_at_ms: int
    requirements: tuple[Requirement, ...]
    actions: tuple[Action, ...]
    warnings: tuple[str, ...] = ()
    verdicts: tuple[SinkVerdict, ...] = ()
    source: str = ""
    sink: str = ""
    undoes: str = ""
    notes: tuple[str, ...] = ()

    @property
    def plan_id(self) -> str:
        """Short digest of the content: a plan has the same id wherever it is read, a new plan has a new one."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def sink_effects(self) -> tuple[Effect, ...]:
        """What the plan does to its sinks, each effect once, best first; unknown where nobody judged."""
        found = {item.verdict for item in self.verdicts} or {"unknown"}
        return tuple(effect for effect in EFFECTS if effect in found)

    @property
    def sink_effect(self) -> Effect:
        """The worst of them. A plan without steps does nothing to a sink: its effect is that of the plan before it."""
        return self.sink_effects[-1]

    @property
    def to_accept(self) -> tuple[Effect, ...]:
        """The effects that somebody has to accept by name before the plan is carried out."""
        return tuple(effect for effect in self.sink_effects if effect != "exact") if self.actions else ()

    @property
    def deleted(self) -> dict[Spot, str]:
        """What the plan removes, with its identity."""
        return {action.spot: action.identity for action in self.actions if isinstance(action, Delete)}

    @property
    def written(self) -> dict[Spot, str]:
        """What the plan adds, with its SHA-256."""
        return {action.spot: action.sha256 for action in self.actions if not isinstance(action, Delete)}

    def deletes(self, place: Place = "checkpoint") -> frozenset[str]:
        """Names that the plan removes from one of its stores."""
        return frozenset(name for where, name in self.deleted if where == place)

    def writes(self, place: Place = "checkpoint") -> frozenset[str]:
        """Names that the plan adds to one of its stores."""
        return frozenset(name for where, name in self.written if where == place)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; :func:`plan_from_dict` is the way back."""
        return {
            "kind": self.kind,
            "location": self.location,
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "planned_at_ms": self.planned_at_ms,
            "requirements": [requirement.to_dict() for requirement in self.requirements],
            "actions": [action.to_dict() for action in self.actions],
            "warnings": list(self.warnings),
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "source": self.source,
            "sink": self.sink,
            "undoes": self.undoes,
            "notes": list(self.notes),
        }


# --- reading -------------------------------------------------------------------------------------------------------

_KINDS: tuple[Kind, ...] = get_args(Kind)
_PLAN_ID = re.compile(r"[0-9a-f]{16}")
_FIELDS = (
    "kind",
    "location",
    "query_id",
    "batch_id",
    "planned_at_ms",
    "requirements",
    "actions",
    "warnings",
    "verdicts",
    "source",
    "sink",
    "undoes",
    "notes",
)
#: What a plan of a kind must require, and what it may require as well.
_REQUIRED: Mapping[Kind, tuple[type[Requirement], ...]] = {
    "rollback": (SameQuery, LatestCommitted, LatestPlanned, KeptObjects, WriterStopped),
    "undo": (SameQuery, KeptObjects, WriterStopped),
    "restore": (EmptyLocation,),
}
_ALLOWED: Mapping[Kind, tuple[type[Requirement], ...]] = {
    "rollback": (KeptSinkLog, FromBackup),
    "undo": (LatestCommitted, LatestPlanned, KeptSinkLog, FromBackup),
    "restore": (FromBackup,),
}
_STEPS: Mapping[Kind, tuple[type[Action], ...]] = {
    "rollback": (Delete, Copy),
    "undo": (Delete, Copy),
    "restore": (Copy, Create),
}


def plan_from_dict(value: Any) -> Plan:
    """The plan that :meth:`Plan.to_dict` wrote, in this version or in an earlier one.

    Raises:
        PlanError: It is anything else: another field, a requirement or a step that is not known, a value of another
            type, or parts that do not go together.
    """
    fields = Fields("the plan", value, _FIELDS)
    return _plan(fields, map(action_from_dict, fields.items("actions")))


def plan_from_json(data: bytes) -> Plan:
    """The plan that was written as JSON, as :func:`plan_from_dict`, without holding all of it twice.

    Raises:
        PlanError: As there.
        ValueError: It is not JSON, not an object that lists actions, or would take too much memory.
    """
    value, actions = parse_with_list(data, "actions", action_from_dict)
    return _plan(Fields("the plan", {**value, "actions": []}, _FIELDS), actions)


def _plan(fields: Fields, actions: Iterable[Action]) -> Plan:
    wanted = fields.one_of("kind", _KINDS)
    plan = Plan(
        next(kind for kind in _KINDS if kind == wanted),
        fields.text("location"),
        fields.text("query_id"),
        fields.number("batch_id"),
        fields.number("planned_at_ms"),
        tuple(map(requirement_from_dict, fields.items("requirements"))),
        tuple(actions),
        fields.texts("warnings"),
        tuple(map(_verdict_from_dict, fields.items("verdicts"))),
        fields.text("source"),
        fields.text("sink"),
        fields.text("undoes"),
        fields.texts("notes"),
    )
    _require_sense(plan)
    return plan


def _verdict_from_dict(value: Any) -> SinkVerdict:
    fields = Fields("a sink effect", value, ("sink", "verdict", "reason", "remedy"))
    wanted = fields.one_of("verdict", EFFECTS)
    effect = next(effect for effect in EFFECTS if effect == wanted)
    return SinkVerdict(fields.text("sink"), effect, fields.text("reason", None), fields.text("remedy", None))


def _require_sense(plan: Plan) -> None:
    """Raise PlanError for a plan whose parts do not go together."""
    problem = _requirements_problem(plan) or _actions_problem(plan) or _fields_problem(plan)
    if problem:
        raise PlanError(f"no plan: {problem}.", location=plan.location or None)


def _requirements_problem(plan: Plan) -> str | None:
    kinds = [type(requirement) for requirement in plan.requirements]
    for kind in _REQUIRED[plan.kind]:
        if kind not in kinds:
            return f"a {plan.kind} has to require {kind.kind}"
    for kind in kinds:
        if kind not in (*_REQUIRED[plan.kind], *_ALLOWED[plan.kind]):
            return f"a {plan.kind} cannot require {kind.kind}"
        if kinds.count(kind) > 1:
            return f"it requires {kind.kind} twice"
    if (KeptSinkLog in kinds) != bool(plan.sink):
        return "a log of a sink is required and there is no sink, or the other way round"
    return None


def _actions_problem(plan: Plan) -> str | None:
    seen: set[tuple[str, Spot]] = set()
    for action in plan.actions:
        if not isinstance(action, _STEPS[plan.kind]):
            return f"a {plan.kind} has no step {action.do!r}"
        if (action.do, action.spot) in seen:
            return f"two steps {action.do} {shown(action.name)}"
        seen.add((action.do, action.spot))
        if action.place == "sink" and not plan.sink:
            return f"a step is about {shown(action.name)} of a sink, and there is no sink"
        if isinstance(action, Copy) and not (plan.source and action.source):
            return f"it does not say where {shown(action.name)} comes from"
    both = plan.deleted.keys() & plan.written.keys()
    if both and plan.kind != "undo":
        return f"{shown(min(both)[1])} is removed and written"
    return None


def _fields_problem(plan: Plan) -> str | None:
    if not plan.location:
        return "it has no location"
    if plan.kind == "undo" and not _PLAN_ID.fullmatch(plan.undoes):
        return f"it undoes {shown(plan.undoes)}, which is no id of a plan"
    if plan.kind != "undo" and plan.undoes:
        return f"a {plan.kind} undoes nothing"
    return None


# --- restore -------------------------------------------------------------------------------------------------------


def plan_restore(
    manifest: Manifest,
    root: str,
    location: str,
    planned_at_ms: int,
    new_query_id: str | None = None,
    *,
    rewritten: Mapping[str, bytes] | None = None,
    warnings: Iterable[str] = (),
    verdicts: Iterable[SinkVerdict] = (),
) -> Plan:
    """Write a backup to an empty location.

    The newest offset entry comes first and its predecessor last: in between Spark refuses to start
    (``batch N-1 doesn't exist``) instead of beginning from scratch.

    Args:
        manifest: The backup.
        root: Location of the backup root.
        location: Where to.
        planned_at_ms: Now, epoch milliseconds.
        new_query_id: A fork gets an id of its own; None moves the query with its id.
        rewritten: Objects that get another content, by name; their checksum files are left out.
        warnings: What a person should know.
        verdicts: One for each sink.
    """
    newest = layout.offset_entry(manifest.batch_id)
    last = [stored.name for stored in manifest.objects if is_offset_entry(stored.name) and stored.name != newest]
    contents = dict(rewritten or {})
    if new_query_id is not None:
        contents[layout.METADATA] = QueryMetadata(new_query_id).encode()
    actions: list[Action] = [
        Copy(stored.name, size=stored.size, sha256=stored.sha256, source=stored.stored_at)
        for stored in manifest.objects
        if main_name(stored.name) not in contents
    ]
    actions += [Create(name, data=data.decode()) for name, data in contents.items()]
    rank = {newest: 0, layout.commit_entry(manifest.batch_id): 2, **dict.fromkeys(last, 3)}
    actions.sort(key=lambda action: rank.get(main_name(action.name), 1))
    return Plan(
        "restore",
        location,
        new_query_id or manifest.query_id,
        manifest.batch_id,
        planned_at_ms,
        (EmptyLocation(), FromBackup(manifest.backup_id)),
        tuple(actions),
        tuple(warnings),
        tuple(verdicts),
        source=root,
    )


def is_offset_entry(name: str) -> bool:
    """Whether a name is that of an entry of the offset log."""
    place = layout.parse(name)
    return isinstance(place, layout.LogEntry) and place.log == layout.OFFSETS


def main_name(name: str) -> str:
    """The object that a sidecar belongs to; any other name as it is."""
    place = layout.parse(name)
    return place.of if isinstance(place, layout.Sidecar) else name
