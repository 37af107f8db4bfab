"""Checking a checkpoint: what is read for which rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from airflow_provider_ckpt.checkpoint.find_flows import find_surroundings
from airflow_provider_ckpt.checkpoint.find_inputs import find_inputs
from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checkpoint.input_files import files_in_flight
from airflow_provider_ckpt.checkpoint.listing import DirectoryListing
from airflow_provider_ckpt.checkpoint.observe import decode_entries, observe
from airflow_provider_ckpt.checkpoint.operator_files import NOT_OPENED
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet, log_entries, restart_set
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView, newest_before
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.read_state_files import broken_state_files, is_judged, is_loaded
from airflow_provider_ckpt.checks.remedies import targets_of
from airflow_provider_ckpt.checks.restorable import Restorable
from airflow_provider_ckpt.checks.state import has_state_ids
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import newest_entry_in
from airflow_provider_ckpt.errors import CheckpointFormatError, TooLargeError, UnreadableError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.memory import memory_of
from airflow_provider_ckpt.storage.concurrency import THREADS, OnStep, no_step
from airflow_provider_ckpt.storage.each_file import EachFile
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import SOURCE_LOG_BYTES
from airflow_provider_ckpt.untrusted.lines import lines_in

#: So many batches are tried at most for one that a rollback can go to.
MOST_TRIED = 200
#: Of so many, where all are listed, the state is read to the end.
MOST_READ = 5


def inspect(store: Store, *, deep: bool = False) -> tuple[Finding, ...]:
    """Check a checkpoint as it is; see :func:`examine` for what is read."""
    return check(examine(store, deep=deep, each=True))


def examine(
    store: Store,
    *,
    deep: bool = False,
    listing: DirectoryListing | None = None,
    sink: Store | None = None,
    each: bool = False,
    strict: bool = False,
) -> CheckpointView:
    """See of a checkpoint what the rules and the forecast judge.

    Args:
        store: The directory of the checkpoint.
        deep: Read every log entry and checksum file, and the state that a restart after the newest commit loads;
            otherwise a listing and a few reads.
        listing: A first listing that was just taken.
        sink: The output directory of the file sink.
        each: Tell of a file that cannot be opened as of a damaged one, and judge the others.
        strict: Take state that is not what was written for broken, although Spark loads it.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        CheckpointMovedError: Spark purged what had just been listed, at every try.
        StoreError: The storage refused or did not answer.
    """
    files = EachFile(store) if each else store
    if deep:
        view = read_unmoved(lambda: _examine_all(store, files, strict=strict), store)
    else:
        view = observe(store, listing=listing, read=files.read)
    unread = [error for error in view.damaged.values() if isinstance(error, UnreadableError)]
    if unread and not view.entries:
        raise unread[0]
    view = replace(view, surroundings=find_surroundings(store, table=sink is None))
    if sink is None:
        return view
    memory = memory_of(store, view.query_id)
    other = None if memory is None or memory.knows(sink) else (" and ".join(memory.sinks), memory.location)
    return replace(view, sink=read_file_sink(sink, deep=deep, each=each), first_sink=other)


def _examine_all(store: Store, files: Store | EachFile, *, strict: bool) -> CheckpointView:
    view = observe(store, deep=True, read=files.read)
    view = read_deep(store, view, files.head, files.chunks, strict=strict)
    view = replace(view, gone_inputs=find_inputs(store, files_in_flight(view)).gone)
    return replace(view, restorable=find_targets(store, view, files))


def find_targets(store: Store, view: CheckpointView, files: Store | EachFile | None = None) -> dict[int, int | None]:
    """Where a rollback can really go to, at or before each batch that the findings on a checkpoint advise."""
    wanted = set(targets_of(check(view)))
    if wanted or view.missing:
        ends = (view.latest_planned, view.latest_committed)
        before = (newest_before(view.whole, batch_id) for batch_id in ends if batch_id is not None)
        wanted |= {batch_id for batch_id in before if batch_id is not None}
    judged = _Judged(files=files)
    return {batch_id: find_newest_restorable(store, view, batch_id, judged) for batch_id in sorted(wanted)}


@dataclass
class _Judged:
    """State files that were read: those that are whole, those that are not and why; and the batches they make.

    ``files`` is how they are read, where that is not as the store does.
    """

    files: Store | EachFile | None = None
    whole: set[str] = field(default_factory=set)
    broken: dict[str, str] = field(default_factory=dict)
    restorable: dict[int, bool] = field(default_factory=dict)


def find_newest_restorable(
    store: Store, view: CheckpointView, at_most: int, judged: _Judged | None = None
) -> int | None:
    """The newest batch, at or before one, that a rollback can go to; None when none is found among MOST_TRIED.

    Args:
        store: The checkpoint.
        view: The whole checkpoint.
        at_most: A batch id.
        judged: Earlier results for the same view.
    """
    known = judged or _Judged()
    tried = islice((batch for batch in reversed(view.committed) if batch <= at_most), MOST_TRIED)
    return next((batch for batch in tried if _is_restorable(store, view, batch, known)), None)


def find_restorable(store: Store, view: CheckpointView, near: int) -> Restorable:
    """Find the committed batches that a rollback can go to: the nearest MOST_TRIED, and the state of MOST_READ of them.

    Args:
        store: The checkpoint.
        view: The whole checkpoint.
        near: The batch near which they are wanted.
    """
    tried = sorted(view.committed, key=lambda batch_id: abs(batch_id - near))
    known, whole, unread, lacking = _Judged(), list[int](), list[int](), list[int]()
    for batch_id in tried[:MOST_TRIED]:
        is_read = not view.stateful or len(whole) < MOST_READ
        is_fit = _is_restorable(store, view, batch_id, known, is_read=is_read)
        (lacking if not is_fit else whole if is_read else unread).append(batch_id)
    return Restorable(whole, unread, lacking, tried[MOST_TRIED:])


def _is_restorable(store: Store, view: CheckpointView, batch_id: int, known: _Judged, *, is_read: bool = True) -> bool:
    """True if a batch has all of its files; where the state is read, also if each of them is whole."""
    if batch_id in known.restorable:
        return known.restorable[batch_id]
    files = known.files or store
    seen = {**view.entries, **view.damaged}
    names = [name for name in log_entries(view, batch_id) if name in view.objects and name not in seen]
    entries, damaged = decode_entries(store, names, files.read)
    view = replace(view, entries={**view.entries, **entries}, damaged={**view.damaged, **damaged})
    chosen = _chosen(view, batch_id, files.head, known.broken)
    while is_read and not chosen.missing:
        unread = [name for name in chosen.names if name not in known.whole]
        found = broken_state_files(view, unread, files.head, files.chunks)
        known.whole.update(set(unread) - found.keys())
        known.broken.update(found)
        if not found:
            break
        chosen = _chosen(view, batch_id, files.head, known.broken)
    known.restorable[batch_id] = not chosen.missing
    return not chosen.missing


def _chosen(
    view: CheckpointView,
    batch_id: int,
    read: Callable[[str], bytes],
    broken: dict[str, str],
    *,
    committed: bool = True,
) -> RestartSet:
    """The restart set of a batch; a file of it that cannot be opened becomes one of the broken ones."""
    while True:
        try:
            return drive(restart_set(view, batch_id, decompressors(), broken, committed=committed), read)
        except UnreadableError as error:
            if error.name is None or error.name in broken:
                raise
            broken[error.name] = f"{NOT_OPENED} ({error.message})"


def find_whole_set(store: Store, view: CheckpointView, batch_id: int) -> RestartSet:
    """The files that a restart after a batch needs, none of them broken, and what is missing of them.

    Args:
        store: The checkpoint.
        view: The whole checkpoint, with the entries of that batch.
        batch_id: A committed batch.
    """
    return without_broken_files(view, find_restart_set(store, view, batch_id), store.head, store.chunks)


def read_deep(
    store: Store,
    view: CheckpointView,
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    *,
    state: bool = True,
    strict: bool = True,
) -> CheckpointView:
    """Add to a complete listing what its log entries say and what the state of the newest commit lacks.

    ``read`` gives the bytes of a listed object, of a large changelog the beginning, and ``chunks`` all of any object a
    piece at a time: of a checkpoint in the store, or of one that a backup there holds. Without ``state`` its files are
    judged by the listing, and only those are read that name others. Unless it is ``strict``, state that is not what was
    written, and that Spark loads all the same, is used.
    """
    logs = [name for name in view.objects if is_text_log(name) and store.can_name(name)]
    view = read_text_logs(store, view, logs, read, chunks)
    view = replace(view, unfinished=unfinished_state(view, read, chunks, strict=strict) if state else ())
    return with_state(view, read, chunks, state=state, strict=strict)


def with_state(
    view: CheckpointView,
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    *,
    state: bool = True,
    strict: bool = True,
) -> CheckpointView:
    """The view with what the state of its newest commit lacks; arguments as for :func:`read_deep`."""
    newest = view.batch_before
    if newest is None or {layout.offset_entry(newest), layout.commit_entry(newest)} & view.damaged.keys():
        return view
    committed = newest == view.latest_committed
    if not committed and has_state_ids(view):  # nobody knows which files are valid
        return view
    try:
        broken, loaded = dict[str, str](), dict[str, str]()
        needed = _chosen(view, newest, read, broken, committed=committed)
        if state:
            used = None if strict else loaded
            needed = without_broken_files(view, needed, read, chunks, broken=broken, loaded=used)
    except CheckpointFormatError as error:
        return replace(view, missing=(f"{error.name}: {error.message}",))
    altered = tuple(f"{name}: {loaded[name]}" for name in needed.names if name in loaded)
    return with_restart_set(replace(view, altered=altered), needed)


def read_text_logs(
    store: Store,
    view: CheckpointView,
    names: Sequence[str],
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
) -> CheckpointView:
    """The view with what some log entries say; ``read`` and ``chunks`` as for :func:`read_deep`."""
    entries, damaged = decode_entries(store, names, read)
    long_logs, damaged = _long_source_logs(view.location, damaged, chunks)
    return replace(
        view, entries={**view.entries, **entries}, damaged={**view.damaged, **damaged}, long_source_logs=long_logs
    )


def without_broken_files(
    view: CheckpointView,
    chosen: RestartSet,
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    threads: int = THREADS,
    *,
    judged: Collection[str] = (),
    on_step: OnStep = no_step,
    broken: Mapping[str, str] | None = None,
    loaded: dict[str, str] | None = None,
) -> RestartSet:
    """Judge the state files of a restart set, and choose anew without those that are broken until no more are.

    Args:
        view: The whole checkpoint.
        chosen: The set as the listing gave it.
        read: As for :func:`read_deep`; ``chunks`` likewise.
        chunks: The bytes of an object.
        threads: Reads under way at once.
        judged: What is known to be whole, and is not read.
        on_step: Called after each file.
        broken: What is known to be of no use, and why.
        loaded: Takes the files that are not what was written and that Spark loads all the same, which are then used.
            Without it they are broken: no change and no backup rests on them.

    Returns:
        The same set when everything is whole; else one of what makes up for the broken files, or that lacks them.
    """
    done, useless = set(judged), dict(broken or {})
    while True:
        unread = [name for name in chosen.names if name not in done]
        found = broken_state_files(view, unread, read, chunks, threads, on_step)
        if loaded is not None:
            loaded.update((name, problem) for name, problem in found.items() if is_loaded(problem))
            found = {name: problem for name, problem in found.items() if name not in loaded}
        if not found:
            return chosen
        done.update(chosen.names)
        useless.update(found)
        chosen = _chosen(view, chosen.batch_id, read, useless, committed=chosen.committed)


def with_restart_set(view: CheckpointView, needed: RestartSet) -> CheckpointView:
    """The view with what the rules judge of the restart set of its newest commit."""
    return replace(
        view,
        missing=needed.missing,
        repaired=needed.repaired,
        unjudged=needed.unknown,
        unread_tables=any(
            isinstance(layout.parse(name), layout.StateTable) and not is_judged(view, name) for name in needed.names
        ),
        single_partition=needed.single,
    )


def _long_source_logs(
    location: str, damaged: Mapping[str, CheckpointFormatError], chunks: Callable[[str], Iterator[bytes]]
) -> tuple[dict[str, int | None], dict[str, CheckpointFormatError]]:
    """Judge the logs of file sources that are too large to hold, line by line; what is still damaged then."""
    long_logs, still = dict[str, int | None](), dict(damaged)
    for name, error in damaged.items():
        if not isinstance(error, TooLargeError) or not isinstance(layout.parse(name), layout.SourceLogEntry):
            continue
        with suppress(ValueError):  # larger than that; it stays not judged
            try:
                long_logs[name] = newest_entry_in(lines_in(chunks(name), SOURCE_LOG_BYTES), name)
                del still[name]
            except CheckpointFormatError as problem:
                problem.at(location)
                still[name] = problem
    return long_logs, still


def is_text_log(name: str) -> bool:
    """True if a name belongs to a small text file that a restart reads, or to its checksum file."""
    place = layout.parse(name)
    main = layout.parse(place.of) if isinstance(place, layout.Sidecar) else place
    return isinstance(
        main, layout.LogEntry | layout.QueryMetadataFile | layout.SourceFile | layout.OperatorMetadataFile
    )


def unfinished_state(
    view: CheckpointView,
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    *,
    strict: bool = True,
) -> tuple[str, ...]:
    """State files that the batch in flight has written and Spark will not write again, as far as they are broken."""
    if view.in_flight is None:
        return ()
    names = []
    for name in view.names_below(layout.STATE):
        place = layout.parse(name)
        if isinstance(place, layout.StateFile) and place.unique_id is None and place.version == view.in_flight + 1:
            names.append((place, name))
    changes = {place.store_id for place, _ in names if place.kind in ("delta", "changelog")}
    left = [name for place, name in names if place.kind in ("delta", "changelog") or place.store_id not in changes]
    found = broken_state_files(view, left, read, chunks)
    return tuple(f"{name}: {problem}" for name, problem in found.items() if strict or not is_loaded(problem))
