"""Judges if Spark would start after a change: reads the checkpoint as it is and as the change leaves it.

The state itself is read only of the result, and only where that is asked for: the present one may be damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from airflow_provider_ckpt.change.added_errors import ANY, require_no_worse, with_present_stops
from airflow_provider_ckpt.change.plan.actions import Action, Clear, Close, Copy, Create, Delete, Open, Replace
from airflow_provider_ckpt.change.plan.facts import Place
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.observe import decode_entries
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.source_log_files import source_files
from airflow_provider_ckpt.checkpoint.view import CheckpointView, has_state
from airflow_provider_ckpt.checks.inspect import is_text_log, read_text_logs, with_restart_set, with_state
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Where the object of a copy is: its store, and its name there.
SourceOf = Callable[[Copy], tuple[Store, str]]


def judge_start(
    plan: Plan,
    view: CheckpointView,
    checkpoint: Store,
    source_of: SourceOf | None = None,
    *,
    deploy: DeploySpec = ANY,
    state: bool = False,
    hint: str = "",
    marker: SinkMarker | None = None,
) -> Plan:
    """The plan with a warning for what stops Spark before it and after it.

    Args:
        plan: The change.
        view: The checkpoint as it is.
        checkpoint: The directory of the checkpoint.
        source_of: Where its copies come from.
        deploy: What is started afterwards.
        state: True to read the state that a restart loads; False to judge its files by the listing alone.
        hint: What helps where it is refused.
        marker: As for :func:`~airflow_provider_ckpt.change.added_errors.require_no_worse`.

    Raises:
        PlanError: As :func:`~airflow_provider_ckpt.change.added_errors.require_no_worse`.
    """
    now = _as_restart_sees(view, checkpoint, checkpoint.head, checkpoint.chunks, state=False)
    after = view_after(plan, view, checkpoint, source_of, state=state)
    return require_no_worse(plan, now, after, deploy=deploy, hint=hint, marker=marker)


def judge_present(plan: Plan, view: CheckpointView, checkpoint: Store) -> Plan:
    """The plan with a warning for what stops Spark on the present checkpoint: nobody knows what a running query adds.

    Args:
        plan: A change that waits for a query that runs.
        view: The checkpoint as it is.
        checkpoint: The directory of the checkpoint.
    """
    return with_present_stops(plan, _as_restart_sees(view, checkpoint, checkpoint.head, checkpoint.chunks, state=False))


def judge_written(plan: Plan, target: Store, source_of: SourceOf | None = None) -> Plan:
    """Judge a plan that writes to a new or empty location. Raises PlanError as :func:`judge_start`.

    A restore may bring the errors that its backup has; anything else that is written has none.
    """
    empty = CheckpointView(target.location, plan.planned_at_ms, {}, complete=True)
    after = view_after(plan, empty, target, source_of)
    return require_no_worse(plan, after if plan.rules.takes_from_backups else empty, after)


# --- what a change leaves ------------------------------------------------------------------------------------------


def view_after(
    plan: Plan,
    view: CheckpointView,
    checkpoint: Store,
    source_of: SourceOf | None = None,
    *,
    chosen: RestartSet | None = None,
    state: bool = False,
) -> CheckpointView:
    """The checkpoint as a plan would leave it, with what a restart reads.

    Args:
        plan: The change.
        view: The checkpoint as it is.
        checkpoint: The directory of the checkpoint.
        source_of: Where its copies come from.
        chosen: The restart set of the batch that it goes to, where that is known.
        state: As for :func:`judge_start`.
    """
    changed = {step.name for step in plan.actions if step.place == "checkpoint" and not isinstance(step, Close)}
    objects = _objects_after(plan.actions, "checkpoint", view.objects)
    written = {step.name: step for step in plan.actions if step.place == "checkpoint" and not isinstance(step, Delete)}

    def place_of(name: str) -> tuple[Store, str]:
        step = written.get(name)
        return source_of(step) if isinstance(step, Copy) and source_of is not None else (checkpoint, name)

    def text_of(name: str) -> bytes | None:
        step = written.get(name)
        return step.data.encode() if isinstance(step, Create | Replace) else None

    def read(name: str) -> bytes:
        store, at = place_of(name)
        text = text_of(name)
        return store.head(at) if text is None else text

    def chunks(name: str) -> Iterator[bytes]:
        store, at = place_of(name)
        text = text_of(name)
        return store.chunks(at) if text is None else iter([text])

    after = replace(
        view,
        objects=objects,
        entries={name: entry for name, entry in view.entries.items() if name not in changed},
        damaged={name: error for name, error in view.damaged.items() if name not in changed},
        folders=tuple(name for name in view.folders if name not in changed),
        stateful=view.stateful or has_state(objects),
        sink=None if view.sink is None else _sink_after(plan, view.sink),
    )
    return _as_restart_sees(after, checkpoint, read, chunks, chosen=chosen, state=state)


def _objects_after(
    actions: Iterable[Action], place: Place, objects: Mapping[str, StoredObject]
) -> dict[str, StoredObject]:
    after = dict(objects)
    for step in actions:
        if step.place != place or isinstance(step, Clear | Close):
            continue
        if isinstance(step, Delete | Open):
            after.pop(step.name, None)
        elif isinstance(step, Replace):
            after[step.name] = StoredObject(step.name, step.new_size, None, step.sha256)
        else:
            after[step.name] = StoredObject(step.name, step.size, None, step.sha256)
    return after


def _sink_after(plan: Plan, log: SinkLog) -> SinkLog:
    """The log of a file sink as a plan leaves it: what it writes is whole."""
    changed = {step.name for step in plan.actions if step.place == "sink"}
    return replace(
        log,
        objects=_objects_after(plan.actions, "sink", log.objects),
        damaged={name: error for name, error in log.damaged.items() if name not in changed},
        repeated={name: other for name, other in log.repeated.items() if not {name, other} & changed},
        stale=tuple(name for name in log.stale if name not in changed),
    )


def _as_restart_sees(
    view: CheckpointView,
    checkpoint: Store,
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    *,
    chosen: RestartSet | None = None,
    state: bool,
) -> CheckpointView:
    """A checkpoint with the small files that a restart reads, and with what its state lacks."""
    newest = [batch for batch in (view.in_flight, view.batch_before, view.latest_committed) if batch is not None]
    batches = [*newest, *(batch for each in newest if (batch := view.predecessor(each)) is not None)]
    logs = [name for batch in batches for name in (layout.offset_entry(batch), layout.commit_entry(batch))]
    known = {*view.entries, *view.damaged}
    entries, damaged = decode_entries(
        checkpoint, [name for name in (*logs, layout.METADATA) if name in view.objects and name not in known], read
    )
    view = replace(view, entries={**view.entries, **entries}, damaged={**view.damaged, **damaged})
    names = set(_small_files(view, logs) if chosen is None else filter(is_text_log, chosen.names))
    names = {each for name in names for each in (name, *layout.sidecars(name)) if each in view.objects}
    view = read_text_logs(checkpoint, view, sorted(names - view.entries.keys()), read, chunks)
    if chosen is not None:
        return with_restart_set(view, chosen)
    return with_state(view, read, chunks, state=state) if view.complete else view


def _small_files(view: CheckpointView, logs: Iterable[str]) -> Iterator[str]:
    """The names of what a restart reads beside state: log entries, logs of sources, and what operators say."""
    yield from (*logs, layout.METADATA)
    for batch in (view.in_flight, view.batch_before):
        entry = view.readable_offset_seq(batch)
        if entry is not None:
            yield from (name for name in source_files(view, entry).names if is_text_log(name))
    yield from (name for name in view.objects if isinstance(layout.parse(name), layout.OperatorMetadataFile))
