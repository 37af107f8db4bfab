"""What is to be done to a checkpoint, as a value: decided once, shown to a person, carried out elsewhere.

Actions are ordered so that every prefix of them leaves a checkpoint from which Spark starts correctly, or, for a
restore, one that Spark refuses to start from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.objects import StoredObject, digest

Kind = Literal["backup", "restore", "rollback", "undo"]
#: Which of a plan's stores an action works on.
Place = Literal["checkpoint", "sink"]
Effect = Literal["exact", "duplicated", "skipped", "unknown"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A fact that must still hold when the plan is applied.

    Kinds: ``query_id``; ``latest_committed`` and ``latest_planned`` (batch ids, or ``none``; a plan that was begun
    changes them itself); ``kept_objects`` and ``kept_sink_log`` (digest over what the plan leaves alone);
    ``writer_stopped``; ``backup`` (the id of the one that copies come from, which are compared with ``sha256``).
    """

    kind: str
    expected: str


@dataclass(frozen=True, slots=True)
class Action:
    """One step on one object.

    Args:
        do: ``delete``; ``copy`` (from ``source`` in the plan's source store); ``create`` (with ``data`` as its text).
        name: The object.
        place: The store it is in.
        size: Bytes.
        identity: What the object must still be when it is deleted.
        sha256: What a copy must be, hex; empty when it is not known. Of an undo's delete: what had been added.
        source: Where a copy comes from, relative to the source store.
        data: Content of a created object.
    """

    do: Literal["delete", "copy", "create"]
    name: str
    place: Place = "checkpoint"
    size: int = 0
    identity: str = ""
    sha256: str = ""
    source: str = ""
    data: str = ""


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

    def deletes(self, place: Place = "checkpoint") -> frozenset[str]:
        """Names that the plan removes from one of its stores."""
        return frozenset(action.name for action in self.actions if action.do == "delete" and action.place == place)

    def writes(self, place: Place = "checkpoint") -> frozenset[str]:
        """Names that the plan adds to one of its stores."""
        return frozenset(action.name for action in self.actions if action.do != "delete" and action.place == place)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; :func:`plan_from_dict` is the way back."""
        return asdict(self)


def plan_from_dict(fields: Mapping[str, Any]) -> Plan:
    """The plan that :meth:`Plan.to_dict` wrote. Raises PlanError for anything else."""
    try:
        values = dict(fields)
        return Plan(
            **{
                **values,
                "requirements": tuple(Requirement(**item) for item in values["requirements"]),
                "actions": tuple(Action(**item) for item in values["actions"]),
                "warnings": tuple(values["warnings"]),
                "verdicts": tuple(SinkVerdict(**item) for item in values["verdicts"]),
                "notes": tuple(values.get("notes", ())),
            }
        )
    except (KeyError, TypeError) as error:
        raise PlanError(f"not a plan: {error}") from error


def kept_objects(objects: Mapping[str, StoredObject], touched: Iterable[str]) -> str:
    """Digest over everything that a plan leaves alone, but for what a killed writer left behind."""
    touched = set(touched)
    return digest(
        stored
        for name, stored in objects.items()
        if name not in touched and not isinstance(layout.parse(name), layout.Temporary)
    )


# --- undo ----------------------------------------------------------------------------------------------------------


def plan_undo(done: Plan, saved: str, planned_at_ms: int) -> Plan:
    """Put back what a plan removed and remove what it added, in the reverse order, as long as it left things so.

    Args:
        done: The plan that was applied, as a whole or in part.
        saved: Location of the copies, where the objects are under ``checkpoint/`` and ``sink/``.
        planned_at_ms: Now, epoch milliseconds.

    Raises:
        PlanError: The plan changed nothing.
    """
    if not done.actions:
        raise PlanError(f"the {done.kind} changed nothing, so there is nothing to undo", location=done.location)
    return Plan(
        "undo",
        done.location,
        done.query_id,
        done.batch_id,
        planned_at_ms,
        tuple(item for item in done.requirements if not item.kind.startswith("latest_")),
        tuple(_reversed(action) for action in reversed(done.actions)),
        (f"Undoes the {done.kind} to batch {done.batch_id} ({done.plan_id}).",),
        source=saved,
        sink=done.sink,
        undoes=done.plan_id,
    )


def _reversed(action: Action) -> Action:
    if action.do == "delete":
        return Action("copy", action.name, action.place, action.size, source=f"{action.place}/{action.name}")
    return Action("delete", action.name, action.place, action.size, sha256=action.sha256)


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
    actions = [
        Action("copy", stored.name, size=stored.size, sha256=stored.sha256, source=stored.stored_at)
        for stored in manifest.objects
        if main_name(stored.name) not in contents
    ]
    actions += [Action("create", name, size=len(data), data=data.decode()) for name, data in contents.items()]
    rank = {newest: 0, layout.commit_entry(manifest.batch_id): 2, **dict.fromkeys(last, 3)}
    actions.sort(key=lambda action: rank.get(main_name(action.name), 1))
    return Plan(
        "restore",
        location,
        new_query_id or manifest.query_id,
        manifest.batch_id,
        planned_at_ms,
        (Requirement("location", "empty"),),
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
