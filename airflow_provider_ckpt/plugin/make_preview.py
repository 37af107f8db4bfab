"""Making the plan that a preview shows, with the functions of the command and the DAG; no lock, nothing written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from airflow_provider_ckpt.change.make_plan import Planner
from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.difference import difference
from airflow_provider_ckpt.change.plan.expectation import expectation_of
from airflow_provider_ckpt.change.plan.kinds import command_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.reset.make import ResetRequest
from airflow_provider_ckpt.changes.reset.plan import moves_of
from airflow_provider_ckpt.changes.rollback.make import RollbackRequest
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError, PlanError, StoreError
from airflow_provider_ckpt.fleet.find_readers import plan_with_readers
from airflow_provider_ckpt.hooks.kafka import kafka_config
from airflow_provider_ckpt.plugin.preview_form import FIELDS, Kind
from airflow_provider_ckpt.plugin.read_batches import list_both
from airflow_provider_ckpt.plugin.read_checkpoint import declared_types
from airflow_provider_ckpt.plugin.settings import Settings
from airflow_provider_ckpt.plugin.stores import connected, open_below, open_records
from airflow_provider_ckpt.query.declared import PLACED
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.query.source import Source, parse_by_id, parse_item, require_asked
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.storage.roots import OutsideRootsError, Roots
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.secrets import scrub

OpenStore = Callable[[str], Store]
#: What a DAG run gets, and what makes the plan.
Asked = Mapping[str, Any]
_NOTHING = "Nothing was done."


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan that was made, and the conf of the DAG run that makes it again.

    Args:
        plan: The plan to show.
        conf: Conf of the run; with what it has to expect of its plan.
    """

    plan: Plan
    conf: dict[str, Any]


def make_preview(kind: Kind, location: str, asked: Asked, settings: Settings) -> Preview:
    """The plan, made now.

    Args:
        kind: Kind of its change.
        location: The checkpoint, which is below the roots.
        asked: The request, as the DAG takes it.
        settings: Settings of the pages.

    Raises:
        OutsideRootsError: The checkpoint is not below the roots.
        CheckpointError: The change is refused, or something that it needs cannot be read; the error says why.
    """
    asked = {name: settings.opened(value) if name in PLACED else value for name, value in asked.items()}
    root, normal = settings.roots.root_of(location)
    store = open_below(settings.roots, location)
    if not (logs := list_both(store)).whole:
        raise PlanError(
            f"the logs have {logs.entries:,} entries, which is too many for a page.",
            location=store.location,
            hint=f"{_NOTHING} Make the plan with the command: ckpt {command_of(kind)} {quote(store.location)}",
        )
    make = _make_rollback if kind == "rollback" else _make_reset
    plan, exact = make(normal, asked, settings)
    conf = {"checkpoint": plan.location, "checkpoint_conn_id": root.conn_id, **exact}
    return Preview(plan, {**conf, "expected_plan": expectation_of(plan)})


def readable(settings: Settings) -> Roots:
    """Every root below which a preview may read: a sink, a backup, a table."""
    return Roots((*settings.roots, *settings.backup_roots, *settings.data_roots))


def opening(settings: Settings) -> OpenStore:
    """Opens what is below any of the configured roots."""
    every = readable(settings)

    def open_store(location: str) -> Store:
        try:
            return open_below(every, location)
        except OutsideRootsError:
            raise StoreError(
                "this location is not below a root that the pages may read.",
                location=scrub(location),
                hint=f"{_NOTHING} Add its root to data_roots in the section [ckpt] of Airflow's configuration, or make "
                "the plan with the command.",
            ) from None

    return open_store


def _make_rollback(location: str, asked: Asked, settings: Settings) -> tuple[Plan, dict[str, Any]]:
    """The plan of a rollback, and the arguments that lead to it at any time."""
    types = _types(asked.get("sources"))
    request = RollbackRequest(**{**asked, "sources": parse_by_id(types), "sink": _sink(asked)})
    stores = _stores(location, request, settings)
    plan = plan_with_readers(request, stores, opening(settings))
    goal = {"to_backup": f"{plan.source}/{plan.backup_id}"} if plan.backup_id else {"to_batch": plan.batch_id}
    kept = _without_goal("rollback", asked)
    if plan.backup_id:
        kept.pop("backup_root", None)  # the goal gives it
    return plan, {**goal, **kept, **({"sources": types} if types else {})}


def _stores(location: str, request: Planner, settings: Settings) -> Stores:
    """Where. Raises PlanError for a request that makes no sense."""
    try:
        request.require_sense()
        stores = Stores.of(location, opening(settings), **request.places)
    except ValueError as error:
        raise PlanError(f"{error}.", location=location, hint=_NOTHING) from None
    return replace(stores, undo=open_records(settings.queries, location))


def _types(said: Any) -> dict[str, str]:
    """Types of sources: ``0=kafka``, or a JSON object as a DAG takes it."""
    text = str(said or "").strip()
    if not text.startswith("{"):
        return declared_types(text)
    try:
        found = parse_json(text)
    except ValueError:
        raise PlanError(f"types of sources are given as 0=kafka, not as {text!r:.60}.", hint=_NOTHING) from None
    return declared_types(",".join(f"{source_id}={kind}" for source_id, kind in found.items()))


def _make_reset(location: str, asked: Asked, settings: Settings) -> tuple[Plan, dict[str, Any]]:
    """The plan of a reset, and the arguments that lead to it at any time: offsets where they are known."""
    source, conn_id = _source(str(asked.get("source", ""))), asked.get("kafka_conn_id")
    _require_known(source, conn_id, settings)
    try:
        request = _reset_asked(asked, source)
    except ValueError as error:
        raise PlanError(f"{error}.", location=location, hint=_NOTHING) from None
    stores = _stores(location, request, settings)
    with connected(conn_id, source.location):
        access = Access(opening(settings), stores.checkpoint, kafka_config(conn_id))
    plan = plan_with_readers(request.aimed(access), stores, opening(settings))
    moved = _moved(plan, stores)
    if not moved:
        return plan, dict(asked)
    goals = {name: field.default for name, field in fields_of(ResetRequest).items() if field.opt.goal}
    exact = replace(request, **{**goals, "to_offsets": moved, "topics": ()})
    try:
        same = difference(plan, exact.aimed(access).plan(stores)) is None
    except CheckpointError:
        same = False
    kept = {name: value for name, value in _without_goal("reset", asked).items() if name != "topics"}
    return plan, {**kept, "to_offsets": moved} if same else dict(asked)


def _without_goal(kind: Kind, asked: Asked) -> dict[str, Any]:
    kept = (field.name for field in FIELDS[kind] if not field.is_goal)
    return {name: asked[name] for name in kept if name in asked}


def _sink(asked: Asked) -> Sink | None:
    return parse_sink(asked["sink"]) if "sink" in asked else None


def _moved(plan: Plan, stores: Stores) -> dict[str, dict[str, int]]:
    """Where a plan moves the partitions of a Kafka source; empty for any other source, or when it moves none."""
    found: dict[str, dict[str, int]] = {}
    for move in moves_of(plan, observe(stores.checkpoint)):
        if move.kind == "kafka":
            before = offsets_of(move.old)
            for (topic, partition), offset in offsets_of(move.new).items():
                if before.get((topic, partition)) != offset:
                    found.setdefault(topic, {})[str(partition)] = offset
    return found


def _source(text: str) -> Source:
    try:
        source = parse_item(text)
    except ValueError:
        raise PlanError(
            f"the source is ID=TYPE:PLACE, such as 0=kafka:broker:9092, not {scrub(text)!r:.60}.", hint=_NOTHING
        ) from None
    require_asked(source)
    return source


def _require_known(declared: Source, conn_id: str | None, settings: Settings) -> None:
    """Require that a page connects to no broker, and with no connection, that nobody has allowed."""
    named = [server.strip() for server in declared.location.split(",")] if declared.type == "kafka" else []
    wanted = [*filter(None, named), *([f"conn={conn_id}"] if conn_id else [])]
    refused = [server for server in wanted if server not in settings.brokers]
    if refused:
        raise StoreError(
            f"the pages may not ask {scrub(refused[0])}.",
            hint=f"{_NOTHING} Add it to brokers in the section [ckpt] of Airflow's configuration, or make the plan "
            "with the command: ckpt reset-offsets",
        )


def _reset_asked(asked: Asked, source: Source) -> ResetRequest:
    """Request for a reset, from the fields of the form. Raises ValueError."""
    read: dict[str, Any] = {"source": source, "sink": _sink(asked)}
    for name, field in fields_of(ResetRequest).items():
        if name in asked and name not in read:
            read[name] = _READERS.get(field.opt.means, _as_it_is)(asked[name])
    return ResetRequest(**{**read, "topics": tuple(map(str, asked.get("topics", ())))})


def _as_it_is(value: Any) -> Any:
    return value


def _whole(text: Any) -> int:
    """An id of a snapshot, which has more digits than JavaScript keeps of a number. Raises ValueError."""
    if not str(text).isdecimal() or len(str(text)) > 19:
        raise ValueError(f"{text!r:.60} is no id of a snapshot")
    return int(str(text))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "flag": bool,
    "id": _whole,
    "time": lambda text: parse_time_ms(str(text), now_ms=now_ms()),
    "duration": lambda text: parse_duration_ms(str(text)),
}
