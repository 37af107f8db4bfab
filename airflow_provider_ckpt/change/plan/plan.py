"""A change of a checkpoint, as a value: decided once, shown to a person, carried out elsewhere.

Actions are ordered so that every prefix of them leaves a checkpoint from which Spark starts correctly, or, for a
restore, one that Spark refuses to start from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.change.plan.action_parser import action_from_dict
from airflow_provider_ckpt.change.plan.actions import Action, Clear, Close, Copy, Delete, Ends, Open, Repartition
from airflow_provider_ckpt.change.plan.facts import Facts, Place, Spot
from airflow_provider_ckpt.change.plan.kinds import KINDS, Kind, Rules, with_article
from airflow_provider_ckpt.change.plan.requirements import (
    Fenced,
    FromBackup,
    KeptSinkLog,
    LatestPlanned,
    Requirement,
    WriterStopped,
    requirement_from_dict,
)
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import NOT_DECLARED, Sink, parse_sink
from airflow_provider_ckpt.query.trigger import TRIGGERS
from airflow_provider_ckpt.sinks.effects import EFFECTS, Effect, SinkEffect
from airflow_provider_ckpt.untrusted.bounded_json import parse_with_list
from airflow_provider_ckpt.untrusted.fields import Fields, shown

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.changes import PlanShownFields
    from airflow_provider_ckpt.documents.files import PlanFields


#: What plans of some kinds lead to, in words; those of others lead to a batch.
_AIMS: Mapping[Kind, str] = {
    "reset": "other offsets",
    "fence": "the end of batch {batch}",
    "sources": "those of the next query",
    "repair": "a whole log of the sink",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """A change to one checkpoint.

    Args:
        kind: Kind of its change.
        location: The checkpoint that it changes.
        query_id: Id of the query, or empty.
        batch_id: The latest committed batch after the change.
        planned_at_ms: When it was made, epoch milliseconds.
        requirements: Conditions that must still hold when the plan is applied.
        actions: In order.
        warnings: Warnings for the person who approves the plan.
        effects: One for each sink.
        source: Location that copies come from, or empty.
        sink: Location of the sink whose log is trimmed, or empty.
        undoes: Id of the plan that an undo takes back, or empty.
        notes: How the target was found, and what that means; for people.
        trigger: The trigger of the query as the query file says it, such as ``realTime``; empty when nobody has said.
        asked: The request, by which the same change is recognised: of a reset a digest, of a change
            of sources all of it; empty in other plans, and in those of earlier versions.
        declared: What the query file declared when it was made, as JSON; empty when no file was read.
        completes: Of a change that was begun and interrupted: whose it is, in a sentence. It is no part of the plan.
    """

    kind: Kind
    location: str
    query_id: str
    batch_id: int
    planned_at_ms: int
    requirements: tuple[Requirement, ...]
    actions: tuple[Action, ...]
    warnings: tuple[str, ...] = ()
    effects: tuple[SinkEffect, ...] = ()
    source: str = ""
    sink: str = ""
    undoes: str = ""
    notes: tuple[str, ...] = ()
    trigger: str = ""
    asked: str = ""
    declared: str = ""
    completes: str = field(default="", compare=False)

    @property
    def rules(self) -> Rules:
        """Rules for every plan of its kind."""
        return KINDS[self.kind]

    @property
    def called(self) -> str:
        """Its name in sentences."""
        return self.rules.called or self.kind

    @property
    def with_article(self) -> str:
        """The same with its article, such as ``an undo``."""
        return with_article(self.kind)

    @property
    def plan_id(self) -> str:
        """Short digest of the content: a plan has the same id wherever it is read, a new plan has a new one."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def partitions(self) -> int | None:
        """The number of partitions that a repartition leads to; None for any other plan."""
        return next((action.partitions for action in self.actions if isinstance(action, Repartition)), None)

    @property
    def aim(self) -> str:
        """Its goal in words: ``batch 41``, ``5 partitions``, ``other offsets``."""
        if self.kind in _AIMS:
            return _AIMS[self.kind].format(batch=self.batch_id)
        return f"{self.partitions} partitions" if self.partitions else f"batch {self.batch_id}"

    @property
    def last_kept(self) -> int:
        """The newest batch that it leaves alone, or in flight as it was."""
        if self.rules.keeps_in_flight:
            planned = (item.expected for item in self.requirements if isinstance(item, LatestPlanned))
            kept = (int(batch) for batch in planned if batch.isdecimal() and not self._drops(int(batch)))
            return max(self.batch_id, *kept, 0)
        if self.fence is not None and self.fence.name not in self.deletes():
            return self.fence.batch_id
        return self.batch_id - 1 if self.rules.adds_batch else self.batch_id

    def _drops(self, batch_id: int) -> bool:
        """True if the offset entry of a batch is removed, and no other one comes in its place."""
        name = layout.offset_entry(batch_id)
        return name in self.deletes() and name not in self.writes()

    @property
    def declared_sinks(self) -> tuple[Sink, ...]:
        """The sinks that were declared when it was made."""
        return tuple(parse_sink(item.sink) for item in self.effects if item.sink != NOT_DECLARED)

    @property
    def declared_sink(self) -> Sink:
        """The sink that was declared when a rollback or its undo was planned; of no kind when none was."""
        if declared := self.declared_sinks:
            return declared[0]
        return Sink("file", self.sink) if self.sink else Sink("")

    @property
    def sink_effects(self) -> tuple[Effect, ...]:
        """Effects of the plan on its sinks, each once, best first; unknown where nobody judged."""
        found = {item.effect for item in self.effects} or {"unknown"}
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
    def needs_stopped_query(self) -> bool:
        """True if somebody must confirm that the query is stopped before the plan is carried out."""
        return any(isinstance(requirement, WriterStopped) for requirement in self.requirements)

    @property
    def fence(self) -> Fenced | None:
        """The fence that holds the query back while the plan is carried out, or None."""
        return next((item for item in self.requirements if isinstance(item, Fenced)), None)

    @property
    def backup_id(self) -> str | None:
        """The backup that it takes files from, or None."""
        return next((item.expected for item in self.requirements if isinstance(item, FromBackup)), None)

    @property
    def deleted(self) -> dict[Spot, str]:
        """Objects that the plan removes, with their identities."""
        return {action.spot: action.identity for action in self.actions if isinstance(action, Delete)}

    @property
    def written(self) -> dict[Spot, str]:
        """Objects that the plan adds, with their SHA-256."""
        return {action.spot: action.sha256 for action in self.actions if not isinstance(action, Clear | Delete)}

    def steps_left(self, facts: Facts) -> list[Action]:
        """The steps that are not done yet. A checkpoint is closed only for others, and opened only after them."""
        left: list[Action] = [
            action for action in self.actions if not isinstance(action, Ends) and not action.is_done(facts)
        ]
        ends = [action for action in self.actions if isinstance(action, Ends)]
        is_closed = any(isinstance(action, Close) and action.is_done(facts) for action in ends)
        if not ends or not (left or is_closed):
            return left
        return [*([] if is_closed else ends[:1]), *left, ends[-1]]

    def deletes(self, place: Place = "checkpoint") -> frozenset[str]:
        """Names that the plan removes from one of its stores."""
        return frozenset(name for where, name in self.deleted if where == place)

    def writes(self, place: Place = "checkpoint") -> frozenset[str]:
        """Names that the plan adds to one of its stores."""
        return frozenset(name for where, name in self.written if where == place)

    def to_dict(self) -> PlanFields:
        """JSON-ready; :func:`plan_from_dict` is the way back. The plan id is a digest of
        this mapping, so its keys must not change.
        """
        fields: PlanFields = {
            "kind": self.kind,
            "location": self.location,
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "planned_at_ms": self.planned_at_ms,
            "requirements": [requirement.to_dict() for requirement in self.requirements],
            "actions": [action.to_dict() for action in self.actions],
            "warnings": list(self.warnings),
            "verdicts": [
                {"sink": item.sink, "verdict": item.effect, "reason": item.reason, "remedy": item.remedy}
                for item in self.effects
            ],
            "source": self.source,
            "sink": self.sink,
            "undoes": self.undoes,
            "notes": list(self.notes),
        }
        if self.trigger:  # a plan of an earlier version keeps its id
            fields["trigger"] = self.trigger
        if self.asked:
            fields["asked"] = self.asked
        if self.declared:
            fields["declared"] = self.declared
        return fields

    def shown(self) -> PlanShownFields:
        """JSON-ready, as commands show it."""
        fields = self.to_dict()
        return {
            "plan_id": self.plan_id,
            "kind": self.kind,
            "location": self.location,
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "planned_at_ms": self.planned_at_ms,
            "requirements": fields["requirements"],
            "actions": fields["actions"],
            "warnings": fields["warnings"],
            "sink_effects": [item.to_dict() for item in self.effects],
            "source": self.source,
            "sink": self.sink,
            "undoes": self.undoes,
            "notes": fields["notes"],
            "trigger": self.trigger,
            "completes": self.completes,
        }


# --- reading -------------------------------------------------------------------------------------------------------

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
    "trigger",
    "asked",
    "declared",
)
_OPTIONAL = ("trigger", "asked", "declared")
#: Characters; a query with a thousand sources needs fewer.
_LONGEST_ASKED = 1 << 19


def plan_from_dict(value: Any) -> Plan:
    """The plan that :meth:`Plan.to_dict` wrote, in this version or in an earlier one.

    Raises:
        PlanError: It is anything else: another field, a requirement or a step that is not known, a value of another
            type, or parts that do not go together.
    """
    fields = Fields("the plan", value, _FIELDS, _OPTIONAL)
    return _plan(fields, map(action_from_dict, fields.items("actions")))


def plan_from_json(data: bytes) -> Plan:
    """The plan that was written as JSON, as :func:`plan_from_dict`, without holding all of it twice.

    Raises:
        PlanError: As there.
        ValueError: It is not JSON, not an object that lists actions, or would take too much memory.
    """
    value, actions = parse_with_list(data, "actions", action_from_dict)
    return _plan(Fields("the plan", {**value, "actions": []}, _FIELDS, _OPTIONAL), actions)


def _plan(fields: Fields, actions: Iterable[Action]) -> Plan:
    wanted = fields.one_of("kind", tuple(KINDS))
    plan = Plan(
        kind=next(kind for kind in KINDS if kind == wanted),
        location=fields.text("location"),
        query_id=fields.text("query_id"),
        batch_id=fields.number("batch_id"),
        planned_at_ms=fields.number("planned_at_ms"),
        requirements=tuple(map(requirement_from_dict, fields.items("requirements"))),
        actions=tuple(actions),
        warnings=fields.texts("warnings"),
        effects=tuple(map(_effect_from_dict, fields.items("verdicts"))),
        source=fields.text("source"),
        sink=fields.text("sink"),
        undoes=fields.text("undoes"),
        notes=fields.texts("notes"),
        trigger=fields.one_of("trigger", TRIGGERS) if fields.has("trigger") else "",
        asked=fields.text("asked", _LONGEST_ASKED) if fields.has("asked") else "",
        declared=fields.text("declared", _LONGEST_ASKED) if fields.has("declared") else "",
    )
    _require_sense(plan)
    return plan


def _effect_from_dict(value: Any) -> SinkEffect:
    fields = Fields("a sink effect", value, ("sink", "verdict", "reason", "remedy"))
    wanted = fields.one_of("verdict", EFFECTS)
    effect = next(effect for effect in EFFECTS if effect == wanted)
    return SinkEffect(fields.text("sink"), effect, fields.text("reason", None), fields.text("remedy", None))


def _require_sense(plan: Plan) -> None:
    """Raise PlanError for a plan whose parts do not go together."""
    problem = _requirements_problem(plan) or _actions_problem(plan) or _fields_problem(plan)
    if problem:
        raise PlanError(f"not a plan: {problem}.", location=plan.location or None)


def _requirements_problem(plan: Plan) -> str | None:
    kinds = [type(requirement) for requirement in plan.requirements]
    for kind in plan.rules.requires:
        if kind not in kinds and not (kind is WriterStopped and Fenced in kinds):
            return f"the {plan.called} does not have the requirement {kind.kind}"
    for kind in kinds:
        if kind not in (*plan.rules.requires, *plan.rules.may_require):
            return f"{plan.with_article} cannot have the requirement {kind.kind}"
        if kinds.count(kind) > 1:
            return f"it has the requirement {kind.kind} twice"
    if (KeptSinkLog in kinds) != bool(plan.sink):
        return "it must have both a sink and a requirement on the log of the sink, or neither"
    return None


def _actions_problem(plan: Plan) -> str | None:
    rules, seen = plan.rules, set[tuple[str, Spot]]()
    for action in plan.actions:
        if not isinstance(action, rules.steps):
            return f"{plan.with_article} cannot have a step of the type {action.do!r}"
        if (action.do, action.spot) in seen:
            return f"it has the step {action.do} {shown(action.name)} twice"
        if rules.puts_back_own and isinstance(action, Delete) and ("copy", action.spot) in seen:
            return f"it writes {shown(action.name)} and then removes it"
        seen.add((action.do, action.spot))
        if action.place == "sink" and not plan.sink:
            return f"a step changes {shown(action.name)} of a sink, but the plan has no sink"
        goes_before = rules.puts_back_own and ("delete", action.spot) in seen
        if isinstance(action, Copy) and not (action.identity or (plan.source and (action.source or goes_before))):
            return f"it does not say where {shown(action.name)} comes from"
    if not _is_bracketed(plan.actions):
        return "what closes the checkpoint must be the first step, and what opens it again the last"
    both = plan.deleted.keys() & plan.written.keys()
    if both and not (rules.replaces or plan.backup_id is not None):
        return f"it removes and writes {shown(min(both)[1])}"
    return None


def _is_bracketed(actions: Sequence[Action]) -> bool:
    """True if a plan that closes or opens the checkpoint does so around all its other steps, and once."""
    ends = [action for action in actions if isinstance(action, Ends)]
    match ends:
        case []:
            return True
        case [Close() as first, Open() as last]:
            return first is actions[0] and last is actions[-1] and first.spot == last.spot
    return False


def _fields_problem(plan: Plan) -> str | None:
    if not plan.location:
        return "it has no location"
    if plan.rules.takes_back and not _PLAN_ID.fullmatch(plan.undoes):
        return f"it undoes {shown(plan.undoes)}, which is not an id of a plan"
    if not plan.rules.takes_back and plan.undoes:
        return f"{plan.with_article} cannot undo another plan"
    return None
