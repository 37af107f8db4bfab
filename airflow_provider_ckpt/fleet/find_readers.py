"""Finding the checkpoints of queries that have read what a change drops: they keep those rows.

A file source names the files that it took, a position in a Delta table the id of the table, one in an Iceberg table a
snapshot. Of other sinks nobody can tell who has read them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.catalog import survey_backups
from airflow_provider_ckpt.change.make_plan import Planner
from airflow_provider_ckpt.change.open_sinks import open_sink
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Copy, Create
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.listing import list_checkpoint
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import find_newest_restorable
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import FileSinkLog, FileSourceLog, key_of
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.dropped_output import DroppedOutput, Reader, Searched
from airflow_provider_ckpt.fleet.find import Found, find_checkpoints
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.file import MOST_BYTES, read_file_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.sources.find_first_batch import find_first_batch
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.delta import open_table
from airflow_provider_ckpt.untrusted.limits import size_text

#: So many checkpoints are read beside the one that goes back, and so many below a root.
MOST_BESIDE, MOST_BELOW = 300, 2_000
#: So many readers are named.
MOST_NAMED = 10
#: So far may the clocks of a driver and of the storage be apart, milliseconds.
_SLACK_MS = 3_600_000
_KEEPING_NOTHING = ("console", "noop", "memory")


def plan_with_readers(
    asked: Planner, stores: Stores, open_store: Callable[[str], Store], *, fenced: bool = False
) -> Plan:
    """The plan of what is asked for, as every face shows it: with who has read what it drops.

    Args:
        asked: The request.
        stores: The checkpoint and the other places of the change.
        open_store: Opens the sink, further places that the record of a change names, and checkpoints beside this one.
        fenced: Make it behind the fence that is there.

    Raises what :meth:`Planner.plan` raises.
    """
    plan = replace(asked, fenced=fenced).plan(stores, open_store)
    return with_readers(plan, stores, asked.sink or plan.declared_sink, open_store, asked.downstream)


def with_readers(
    plan: Plan,
    stores: Stores,
    sink: Sink | None,
    open_store: Callable[[str], Store],
    roots: Sequence[str] = (),
) -> Plan:
    """A plan that drops batches with a warning of who has read what it drops, or that nobody knows.

    A plan that moves a source gets one of who reads the sink, which then gets rows again or never.

    Args:
        plan: The plan; one that does neither, or was begun already, stays as it is.
        stores: The checkpoint that goes back, and a root of backups, whose checkpoints are read as well.
        sink: The sink of the query; None when it was not declared.
        open_store: Opens the sink, roots and checkpoints.
        roots: Where checkpoints are searched for, beside those in the directory of this one.
    """
    checkpoint = stores.checkpoint
    sink = sink if sink is not None and sink.kind else None
    keeps_nothing = sink is not None and sink.kind in _KEEPING_NOTHING
    if plan.kind not in ("rollback", "undo", "salvage", "reset") or not plan.actions or keeps_nothing:
        return plan
    try:
        if any(record.plan.plan_id == plan.plan_id for record in history(checkpoint, stores.undo)):
            return plan
        if plan.kind == "reset":
            return replace(plan, warnings=(*plan.warnings, *_told_of_moved(plan, checkpoint, sink, open_store, roots)))
        dropped = _dropped(plan, checkpoint, sink, open_store)
    except CheckpointError as error:
        return replace(plan, warnings=(*plan.warnings, f"Who has read what is dropped is not known: {error}"))
    if dropped is None:
        return plan
    found, searched = (
        find_readers(dropped, checkpoint, open_store, roots, stores.backups) if dropped.known else ([], Searched())
    )
    return replace(plan, warnings=(*plan.warnings, *_told(dropped, found, searched)))


#: What a reader of a sink gets of each effect on it.
_GETS = {
    "duplicated": "it gets rows a second time",
    "skipped": "it never gets the rows that are left out",
    "unknown": "it may get rows a second time, or never",
}


def _told_of_moved(
    plan: Plan, checkpoint: Store, sink: Sink | None, open_store: Callable[[str], Store], roots: Sequence[str]
) -> Iterator[str]:
    """Warnings of who reads the sink of a query whose source is moved."""
    gets = [_GETS[effect] for effect in plan.to_accept if effect in _GETS]
    if not gets or sink is None:
        return
    name, found, searched = sink.at(None).name, list[Reader](), Searched()
    try:
        store = open_sink(sink, open_store)
        if store is not None and sink.kind in ("file", "delta", "iceberg"):
            output = _all_output(observe(checkpoint), sink, store)
            name, (found, searched) = output.sink, find_readers(output, checkpoint, open_store, roots)
    except CheckpointError as error:
        yield f"Who reads {name} is not known: {error}"
        return
    for reader in found[:MOST_NAMED]:
        yield f"{reader.location} reads {name}, which this query writes: {', and '.join(gets)}, as the sink does."
    if len(found) > MOST_NAMED:
        yield f"{len(found) - MOST_NAMED} more checkpoints read {name}."
    failed = f" Not searched whole: {'; '.join(list(searched.problems)[:MOST_NAMED])}." if searched.problems else ""
    if not found:
        where = f": no checkpoint {', '.join(searched.places)} does" if searched.places else ""
        yield f"Who reads {name} is not known{where}. If a query reads it, {', and '.join(gets)}.{failed}"
    elif failed:
        yield f"Other queries may read {name} as well.{failed}"


def _all_output(view: CheckpointView, sink: Sink, store: Store) -> DroppedOutput:
    """All that a query has written to a sink. Raises CheckpointError."""
    output = DroppedOutput(0, view.latest_planned or 0, sink.at(store).name)
    if sink.kind == "file":
        return replace(output, files=_files_after(store, -1))
    if sink.kind == "delta":
        return replace(output, table_id=str(open_table(store, without_files=True).metadata().id))
    commits = read_marker(sink, store, view.query_id, -1).commits
    return replace(output, snapshots=frozenset(int(commit.version) for commit in commits))


def find_readers(
    dropped: DroppedOutput,
    checkpoint: Store,
    open_store: Callable[[str], Store],
    roots: Sequence[str] = (),
    backups: Store | None = None,
) -> tuple[list[Reader], Searched]:
    """The checkpoints that have read it, of those beside one, below some roots, and in a root of backups."""
    found, seen, places, problems = list[Reader](), {checkpoint.location}, list[str](), list[str]()
    for place, candidates in _candidates(checkpoint, open_store, roots, backups):
        try:
            places.append(place)
            for store in candidates:
                if store.location in seen:
                    continue
                seen.add(store.location)
                try:
                    reader = _reader(store, dropped)
                except CheckpointError as error:
                    problems.append(f"{store.location}: {error.message}")
                else:
                    found += [] if reader is None else [reader]
        except CheckpointError as error:
            problems.append(f"{place}: {error.message}")
    return found, Searched(len(seen) - 1, places, problems)


def _dropped(
    plan: Plan, checkpoint: Store, sink: Sink | None, open_store: Callable[[str], Store]
) -> DroppedOutput | None:
    """Output that a plan drops; None when no batch that may have written is dropped."""
    view = observe(checkpoint)
    kept, store = _last_kept(plan, view), open_sink(sink, open_store)
    last = _newest(plan, view, sink, store)
    if last is None or kept is None or last <= kept:
        return None
    name = "a sink that was not declared" if sink is None else sink.at(None).name
    dropped = DroppedOutput(kept + 1, last, name, _began_ms(checkpoint, view, kept))
    if sink is None or store is None or sink.kind not in ("file", "delta", "iceberg"):
        return replace(dropped, known=False)
    dropped = replace(dropped, sink=sink.at(store).name)
    if sink.kind == "file":
        return replace(dropped, files=_files_after(store, kept))
    commits = read_marker(sink, store, view.query_id, kept).commits
    later = [at for at, commit in enumerate(commits) if (commit.batch_id or 0) > kept]
    if not later:
        return None
    if sink.kind == "iceberg":
        return replace(dropped, snapshots=frozenset(int(commit.version) for commit in commits[later[0] :]))
    table_id = str(open_table(store, without_files=True).metadata().id)
    return replace(dropped, table_id=table_id, version=int(commits[later[0]].version))


def _newest(plan: Plan, view: CheckpointView, sink: Sink | None, store: Store | None) -> int | None:
    """The newest batch that may have written; of what is salvaged the logs may have lost it."""
    if plan.kind != "salvage":
        return view.latest_planned
    has_log = sink is not None and sink.kind == "file" and store is not None
    logged = read_file_sink(store).latest if has_log and store is not None else None
    known = (view.latest_planned, view.latest_committed, logged)
    return max((batch_id for batch_id in known if batch_id is not None), default=None)


def _last_kept(plan: Plan, view: CheckpointView) -> int | None:
    """The last batch that a plan keeps: an undo drops what was written since, and may put others there.

    A salvage may keep the batch that was in flight, which then reads the same again.
    """
    if plan.kind == "rollback":
        return plan.batch_id
    if plan.kind == "salvage":
        deleted = plan.deletes()
        kept = [batch_id for batch_id in view.planned if layout.offset_entry(batch_id) not in deleted]
        come = (layout.parse(action.name) for action in plan.actions if isinstance(action, Copy | Create))
        kept += [at.batch_id for at in come if isinstance(at, layout.LogEntry) and at.log == layout.OFFSETS]
        return max(kept, default=plan.batch_id)
    entries = [layout.parse(name) for name in plan.deletes() | plan.writes()]
    gone = [entry.batch_id for entry in entries if isinstance(entry, layout.LogEntry) and entry.log == layout.OFFSETS]
    return min(gone) - 1 if gone else None


def _began_ms(checkpoint: Store, view: CheckpointView, batch_id: int) -> int:
    """Time at which the batch after one began; 0 where its entry does not tell."""
    later = next((planned for planned in view.planned if planned > batch_id), None)
    if later is None:
        return 0
    try:
        entry = codec.decode(layout.offset_entry(later), checkpoint.read(layout.offset_entry(later)))
    except CheckpointError:
        return 0
    metadata = entry.metadata if isinstance(entry, OffsetSeq) else None
    return 0 if metadata is None else metadata.batch_timestamp_ms


def _files_after(sink: Store, batch_id: int) -> frozenset[str]:
    """The files that the log of a file sink names now, and does not name without the batches after one."""
    log = read_file_sink(sink)
    kept = {entry: name for entry, name in log.entries.items() if entry.batch_id <= batch_id}
    trimmed = replace(log, objects={name: log.objects[name] for name in kept.values()})
    return _named_in(sink, log.live.values()) - _named_in(sink, trimmed.live.values())


def _named_in(sink: Store, names: Iterable[str]) -> frozenset[str]:
    entries = (codec.decode(name, sink.read(name)) for name in names)
    return frozenset(
        key_of(status.path) for entry in entries if isinstance(entry, FileSinkLog) for status in entry.entries
    )


def _candidates(
    checkpoint: Store, open_store: Callable[[str], Store], roots: Sequence[str], backups: Store | None
) -> Iterator[tuple[str, Iterator[Store]]]:
    """Places, each with the checkpoints there."""
    yield f"beside {checkpoint.location}", _beside(checkpoint, open_store)
    if others := sorted({*checkpoint.ls()[1]} - layout.TOP_DIRECTORIES):
        stores = (checkpoint.child(name) for name in others[:MOST_BESIDE])
        yield f"inside {checkpoint.location}", (store for store in stores if list_checkpoint(store).is_checkpoint)
    for root in roots:
        yield f"below {root}", _below(open_store, root)
    if backups is not None:
        yield f"in the backups {backups.location}", _backed_up(backups, open_store)


def _beside(checkpoint: Store, open_store: Callable[[str], Store]) -> Iterator[Store]:
    parent = open_store(checkpoint.sibling("x").location.rpartition("/")[0])
    names = sorted(parent.ls()[1])
    for name in names[:MOST_BESIDE]:
        store = parent.child(name)
        if store.root != checkpoint.real_root and list_checkpoint(store).is_checkpoint:
            yield store
    if len(names) > MOST_BESIDE:
        raise CheckpointError(f"only {MOST_BESIDE} of {len(names)} directories were searched")


def _below(open_store: Callable[[str], Store], root: str) -> Iterator[Store]:
    for number, found in enumerate(find_checkpoints([open_store(root)])):
        if number >= MOST_BELOW:
            raise CheckpointError(f"only the first {MOST_BELOW} checkpoints were searched")
        if isinstance(found, Found):
            yield found.store


def _backed_up(backups: Store, open_store: Callable[[str], Store]) -> Iterator[Store]:
    for location in sorted({backup.location for backup in survey_backups(backups).backups}):
        store = open_store(location)
        if store.exists():
            yield store


def _reader(store: Store, dropped: DroppedOutput) -> Reader | None:
    """A checkpoint when it has read some of it. Raises CheckpointError for one that cannot be read."""
    taken = _taken(store, dropped)
    if dropped.files and not taken:
        return None
    view = observe(store)
    newest = view.readable_offset_seq(view.latest_planned)
    if newest is None or not _has_read(dropped, newest.offsets, taken):
        return None
    batch_id = find_first_batch(store, view, lambda offsets: _has_read(dropped, offsets, taken))
    return Reader(store.location, batch_id, find_newest_restorable(store, observe(store, deep=True), batch_id - 1))


def _taken(store: Store, dropped: DroppedOutput) -> dict[str, int]:
    """The first entry for each source of its log that took one of the files."""
    found: dict[str, int] = {}
    if not dropped.files:
        return found
    for directory in store.ls(layout.SOURCES)[1]:
        objects, source_id = store.ls(directory)[0], directory.rpartition("/")[2]
        names = [
            name
            for name, stored in objects.items()
            if isinstance(layout.parse(name), layout.SourceLogEntry)
            and (stored.modified_ms is None or stored.modified_ms >= dropped.since_ms - _SLACK_MS)
        ]
        if sum(objects[name].size for name in names) > MOST_BYTES:
            raise CheckpointError(f"the log of source {source_id} is larger than {size_text(MOST_BYTES)}")
        logs = (codec.decode(name, store.read(name)) for name in names)
        if (first := dropped.took(log for log in logs if isinstance(log, FileSourceLog))) is not None:
            found[source_id] = first
    return found


def _has_read(
    dropped: DroppedOutput, offsets: Iterable[tuple[str, SourceOffset | None]], taken: dict[str, int]
) -> bool:
    return any(dropped.is_read_at(offset, taken.get(source_id)) for source_id, offset in offsets)


def _told(dropped: DroppedOutput, found: Sequence[Reader], searched: Searched) -> Iterator[str]:
    for reader in found[:MOST_NAMED]:
        keeps = (
            f"{reader.location} has read {dropped.text}, from its batch {reader.batch_id} on: it keeps those rows, and "
            "reads what is written anew beside them."
        )
        if reader.back_to is None:
            yield f"{keeps} It has no batch from before that to go back to."
        else:
            command = f"ckpt rollback {shlex.quote(reader.location)} --to-batch {reader.back_to} --sink TYPE[:URI]"
            yield f"{keeps} Roll it back as well: {command}"
    if len(found) > MOST_NAMED:
        yield f"{len(found) - MOST_NAMED} more checkpoints have read {dropped.text}."
    where = f"{', '.join(searched.places)} ({searched.count} checkpoints)" if searched.places else ""
    more = len(searched.problems) - MOST_NAMED
    problems = [*list(searched.problems)[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    failed = f" Not searched whole: {'; '.join(problems)}." if problems else ""
    if not found:
        searched_text = f"no checkpoint {where} has" if where else "the sink does not tell"
        yield (
            f"Who has read {dropped.text} is not known: {searched_text}. A query that has read it keeps those rows; "
            f"--downstream ROOT (downstream= in a DAG) searches for it.{failed}"
        )
    elif failed:
        yield f"Other queries may have read {dropped.text} as well.{failed}"
