"""Rules about state: it must fit the log, and its chain must be whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.operator_files import NOT_OPENED, OTHER_PLACE, OTHER_STORE
from airflow_provider_ckpt.checkpoint.view import CheckpointView, newest_before
from airflow_provider_ckpt.checks.findings import Finding, Severity, a_warning, an_error
from airflow_provider_ckpt.checks.logs import newest_commit, newest_entry
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import (
    NEW_LOCATION,
    Remedy,
    back_to,
    from_backup,
    from_backup_or_before,
    or_salvage,
)
from airflow_provider_ckpt.codec import layout, state_file, state_schema
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import IncompleteLogFileError, UnreadableError

_SCHEMA = "/_metadata/schema"
#: So many files of one damage are named beside the first.
_NAMED = 4
_CANNOT_LOAD = "CANNOT_LOAD_STATE_STORE"
_NO_STATE = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
#: What is said of a state file that is not what its checksum file says.
MISMATCH = "not what its checksum file says"
#: After that, where Spark loads the file all the same.
NOT_VERIFIED = ", which Spark does not verify"


@rule("CKPT131")
def state_without_log(view: CheckpointView) -> Iterator[Finding]:
    """CKPT131: Spark refuses to begin with batch 0 over state."""
    if view.stateful and not view.planned:
        yield an_error(
            "CKPT131",
            "there is state, but the offset log is empty",
            name=layout.STATE,
            spark_error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
            **from_backup(view, "the logs", otherwise=NEW_LOCATION),
        )


@rule("CKPT132")
def missing_state_directory(view: CheckpointView) -> Iterator[Finding]:
    """CKPT132: the logs show that there was state, and there is none."""
    if view.stateful:
        return
    commit, newest = newest_commit(view), newest_entry(view)
    if commit is not None and commit.state_unique_ids:
        yield _lost_state(view, "error", "the newest commit names state files", view.latest_committed)
    elif (batch_id := _batch_without_data(view)) is not None:
        reason = f"batch {batch_id} read nothing and moved the watermark, which only a stateful query does"
        yield _lost_state(view, "error", reason, batch_id)
    elif newest is not None and newest.metadata is not None and newest.metadata.batch_watermark_ms > 0:
        yield _lost_state(
            view, "warning", "the query has a watermark, as most stateful queries do", view.latest_planned
        )


def state_that_is_told(view: CheckpointView) -> Finding | None:
    """CKPT132 of a query that is known to have state, whatever its logs show; None before its first commit."""
    if not view.complete or view.latest_committed is None or any(view.names_below(layout.STATE)):
        return None
    lost = _lost_state(view, "error", "Spark says that the query has state", view.latest_committed)
    before = f"{NEW_LOCATION}; a query that had no state before this deploy can also run without the new operator"
    return replace(lost, hint=from_backup(view, "it", otherwise=before)["hint"])


def _lost_state(view: CheckpointView, severity: Severity, reason: str, batch_id: int | None) -> Finding:
    message = f"{reason}, but the directory state is missing"
    if severity == "error":
        error, remedy = _NO_STATE, from_backup(view, "it", otherwise=NEW_LOCATION)
    else:
        why = "A query without state does not need the directory; ckpt gate --operator NAME says what Spark will do."
        error, remedy = None, from_backup(view, "it", why=why)
    return Finding("CKPT132", severity, message, batch_id, layout.STATE, spark_error=error, **remedy)


def _batch_without_data(view: CheckpointView) -> int | None:
    """A batch with the offsets of the one before it and a later watermark: Spark runs it to drop old state alone."""
    entries = {batch: entry for batch in view.planned if (entry := _offsets(view, batch)) is not None}
    for batch_id, entry in entries.items():
        before = entries.get(batch_id - 1)
        if before is None or entry.metadata is None or before.metadata is None or entry.offsets != before.offsets:
            continue
        if entry.metadata.batch_watermark_ms > before.metadata.batch_watermark_ms:
            return batch_id
    return None


def _offsets(view: CheckpointView, batch_id: int) -> OffsetSeq | None:
    entry = view.entries.get(layout.offset_entry(batch_id))
    return entry if isinstance(entry, OffsetSeq) else None


@rule("CKPT133")
def ids_of_rerun(view: CheckpointView) -> Iterator[Finding]:
    """CKPT133: format 2, and the batch before the one in flight is not committed, so nobody knows its state files."""
    yield from _no_commit_at_all(view)
    commit = newest_commit(view)
    if commit is None or not commit.state_unique_ids or view.in_flight is None or view.latest_committed is None:
        return
    before = view.in_flight - 1
    if view.latest_committed < before and before in view.planned:
        yield an_error(
            "CKPT133",
            f"batch {view.in_flight} will run again on the state of batch {before}, which is not committed",
            before,
            layout.commit_entry(before),
            spark_error=f"{_CANNOT_LOAD}.CANNOT_READ_STREAMING_STATE_FILE",
            **from_backup_or_before(view, "the commit", before),
        )


def _no_commit_at_all(view: CheckpointView) -> Iterator[Finding]:
    """A later batch than the first one runs on state whose ids were in a commit that is gone."""
    if view.latest_committed is None and view.in_flight and has_state_ids(view):
        yield an_error(
            "CKPT133",
            f"the state files have unique ids, and batch {view.in_flight} has no commit entry that says which of "
            "them are valid",
            view.in_flight,
            layout.COMMITS,
            spark_error=f"{_CANNOT_LOAD}.UNCATEGORIZED",
            **from_backup(view, "the commits"),
        )


def has_state_ids(view: CheckpointView) -> bool:
    """True if state files carry unique ids (state checkpoint format 2), as far as they were listed.

    All do, or none does; what is otherwise, such as ``8_old.changelog``, was laid there by somebody.
    """
    places = (layout.parse(name) for name in view.names_below(layout.STATE))
    with_id = [place.unique_id is not None for place in places if isinstance(place, layout.StateFile)]
    return sum(with_id) * 2 > len(with_id)


@rule("CKPT133")
def commit_without_ids(view: CheckpointView) -> Iterator[Finding]:
    """CKPT133: state checkpoint format 2, and a newest commit that does not say which files are valid."""
    commit = newest_commit(view)
    if commit is not None and not commit.state_unique_ids and view.stateful and has_state_ids(view):
        yield an_error(
            "CKPT133",
            "the state files have unique ids, but the newest commit entry does not say which of them are valid",
            view.latest_committed,
            layout.commit_entry(view.latest_committed or 0),
            spark_error=f"{_CANNOT_LOAD}.UNCATEGORIZED",
            **from_backup_or_before(view, "the commit", view.latest_committed),
        )


@rule("CKPT122", "CKPT130")
def incomplete_chain(view: CheckpointView) -> Iterator[Finding]:
    """CKPT130, CKPT122: a file that a restart reads of the state that it goes on from is not there, or damaged."""
    before = view.batch_before
    needs = (
        f"a restart after batch {before} needs it"
        if before == view.latest_committed
        else f"batch {view.in_flight}, which Spark will run again, needs it: its state is that of batch {before}"
    )
    damages: dict[tuple[str, bool], list[tuple[str, str]]] = {}
    for problem in view.missing or ():
        name, _, reason = problem.partition(": ")
        if name.startswith(f"{layout.STATE}/"):  # the logs have rules of their own
            code = "CKPT122" if reason.startswith(MISMATCH) else "CKPT130"
            damages.setdefault((code, name.endswith(_SCHEMA)), []).append((name, reason))
    for (code, _), files in damages.items():  # what lacks for one restart is one damage, with one remedy
        name, reason = files[0]
        also = _also(view, reason, files[1:])
        yield an_error(
            code,
            f"{_shown(view, name)} is {reason or 'missing'}{also}, and {needs}",
            before,
            name,
            spark_error=_error_of_operator(view, name, reason) if "/_" in name else _load_error(view, name, reason),
            **_remedy_of_chain(view, [name for name, _ in files]),
        )


def _also(view: CheckpointView, like: str, others: Sequence[tuple[str, str]]) -> str:
    """The other files of one damage, the first of them by their names, with their reason when it is another one."""
    if not others:
        return ""
    told = [f" ({reason or 'missing'})" if reason != like else "" for _, reason in others]
    named = ", ".join(f"{_shown(view, name)}{why}" for (name, _), why in zip(others[:_NAMED], told, strict=False))
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    return f", as {'is' if len(others) == 1 else 'are'} {named}{more}"


def _remedy_of_chain(view: CheckpointView, names: Sequence[str]) -> Remedy:
    """Go back to a batch that does without the files: one before those that wrote them does not read them."""
    if names[0].endswith(_SCHEMA):
        return Remedy(hint="Delete the file; Spark then writes it again.", commands=())
    places = [layout.parse(name) for name in names]
    versions = [place.version for place in places if isinstance(place, layout.StateFile)]
    before = min(versions) - 1 if versions else None
    if view.batch_before is not None and newest_before(view.whole, view.batch_before) in view.restorable:
        before = view.batch_before
    return or_salvage(view, from_backup_or_before(view, "it" if len(names) == 1 else "them", before))


def _shown(view: CheckpointView, name: str) -> str:
    """The file that is missing; the zip where this store has never had a changelog."""
    directory, _, file = name.rpartition("/")
    if not file.endswith(".changelog") or any(item.endswith(".changelog") for item in view.names_below(directory)):
        return name
    return f"{name.removesuffix('changelog')}zip (or {file} with an older zip)"


@rule("CKPT102")
def damaged_operator_metadata(view: CheckpointView) -> Iterator[Finding]:
    """CKPT102: operator metadata that no restart reads, and nobody who wants to know the operator's name."""
    needed = {problem.partition(": ")[0] for problem in view.missing or ()}
    for name, error in view.damaged.items():
        is_told = name in needed or isinstance(error, UnreadableError)
        if isinstance(layout.parse(name), layout.OperatorMetadataFile) and not is_told:
            yield a_warning(
                "CKPT102",
                f"{error.message}; Spark does not read this file, but ckpt needs it to judge the state",
                name=name,
                **from_backup(view, "it"),
            )


_UNFINISHED = (
    "Roll back to the newest committed batch, with --sink and --trim-sink-log. If the sink does not have the batch, "
    "Spark writes the file again; ckpt gate with --sink says which case it is."
)


@rule("CKPT137")
def unfinished_state(view: CheckpointView) -> Iterator[Finding]:
    """CKPT137: a state file of the batch in flight that is broken, which stays when the sink skips the batch."""
    for problem in view.unfinished:
        name, _, reason = problem.partition(": ")
        yield an_error(
            "CKPT137",
            f"{name} is {reason}; if the sink already has batch {view.in_flight}, Spark does not compute it "
            "again, and the batch after it stops at this file",
            view.in_flight,
            name,
            **or_salvage(view, Remedy(hint=_UNFINISHED, commands=())),
        )


@rule("CKPT138")
def state_ahead(view: CheckpointView) -> Iterator[Finding]:
    """CKPT138: state of batches that the offset log does not have: what a rollback by hand leaves behind.

    Where every version is a file of its own that is written anew (RocksDB without changelogs), or names its own files
    (format 2), Spark does not mix the two.
    """
    if view.latest_planned is None:
        return
    ahead: layout.StateFile | None = None
    mixed = False
    for name in view.names_below(layout.STATE):
        place = layout.parse(name)
        if isinstance(place, layout.StateFile) and place.unique_id is None:
            mixed = mixed or place.kind != "zip"
            if place.version > view.latest_planned + 1 and (ahead is None or place.version > ahead.version):
                ahead = place
    if ahead is not None and mixed:
        yield a_warning(
            "CKPT138",
            f"there is state of batch {ahead.version - 1}, but the newest batch of the offset log is "
            f"{view.latest_planned}: if batch {view.latest_planned + 1} reads other rows this time, Spark mixes "
            "old and new state",
            view.latest_planned,
            ahead.store_id.directory,
            **back_to(
                view,
                view.latest_planned if view.latest_committed is None else view.latest_committed,
                why="A rollback to the newest committed batch removes it.",
            ),
        )


@rule("CKPT134")
def repaired_snapshot(view: CheckpointView) -> Iterator[Finding]:
    """CKPT134: a broken snapshot that older files make up for; Spark before 4.1 does not try them.

    Where they do not, what they lack is an error of its own (CKPT130), and this says why it is asked for.
    """
    missing = [problem.partition(": ")[0] for problem in view.missing or ()]
    lost = {_store_of(name) for name in missing}
    for problem in view.repaired:
        name, _, reason = problem.partition(": ")
        if name in missing:
            continue
        made_up = "Spark 4.1 and later uses older files instead, earlier versions stop"
        yield a_warning(
            "CKPT134",
            f"{name} is {reason or 'missing'}; "
            + ("older files cannot replace it" if _store_of(name) in lost else made_up),
            view.latest_committed,
            name,
            **from_backup(view, "the file", otherwise="run the query until it has written a new snapshot"),
        )


def _store_of(name: str) -> object:
    """The state store that a file belongs to, or None."""
    place = layout.parse(name)
    return place.store_id if isinstance(place, layout.StateFile | layout.StateTable) else None


@rule("CKPT135")
def unknown_partitions(view: CheckpointView) -> Iterator[Finding]:
    """CKPT135: nothing shows whether partitions are lost, or never were."""
    for problem in view.unjudged:
        place, _, reason = problem.partition(": ")
        yield a_warning(
            "CKPT135",
            f"{place}: {reason}",
            view.latest_committed,
            place,
            "Compare the partitions with a backup, or with numStateStoreInstances in the progress of the query.",
        )


def _error_of_operator(view: CheckpointView, name: str, reason: str) -> str | None:
    """Error with which Spark stops at a schema, or at operator metadata of version 2."""
    if name.endswith("/_metadata/v2"):
        is_folder = any(folder.startswith(f"{name}/") for folder in view.folders)
        return "FileNotFoundException" if is_folder else "STDS_FAILED_TO_READ_OPERATOR_METADATA"
    if reason.startswith(NOT_OPENED) or isinstance(view.damaged.get(name), UnreadableError):
        return None
    if name in view.damaged:
        error = view.damaged[name]
        return "INTERNAL_ERROR" if isinstance(error, IncompleteLogFileError) else error.spark_error
    if not reason:
        return "FileNotFoundException"
    return next((error for said, error in _SCHEMA_ERRORS.items() if said in reason), "EOFException")


#: What Spark stops with, by what is said of a schema.
_SCHEMA_ERRORS = {
    "not UTF-8": "UTFDataFormatException",
    state_schema.DATA_TYPE: state_schema.NO_TYPE,
    "is not JSON": state_schema.NO_TYPE,
    "is not a log version": "MALFORMED_LOG_FILE",
    "the latest known version": "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
    OTHER_STORE: "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    OTHER_PLACE: "FileNotFoundException",
}


def _load_error(view: CheckpointView, name: str, reason: str) -> str | None:
    if reason.startswith(NOT_OPENED):
        return None
    if not reason and name.count("/") == 1:
        return "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
    if "." not in name:
        return None  # a directory, after some of its files
    return f"{_CANNOT_LOAD}.{_load_condition(view, name, reason)}"


def _load_condition(view: CheckpointView, name: str, reason: str) -> str:
    is_table, stem = "/SSTs/" in name, name.rpartition(".")[0]
    if is_table and (state_file.OTHER_SIZE in reason or name in view.folders):
        families = any(
            view.names_below(f"{'/'.join(name.split('/')[:2])}/_stateSchema")
        )  # Spark tries the changelogs alone
        return "UNCATEGORIZED" if families else "UNEXPECTED_FILE_SIZE"
    if reason or is_table or "_?." in name or f"{stem}.zip" in view.folders:
        return "UNCATEGORIZED"
    if name.endswith((".delta", ".snapshot")):
        return "CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    return "CANNOT_READ_STREAMING_STATE_FILE"


@rule("CKPT115")
def folders(view: CheckpointView) -> Iterator[Finding]:
    """CKPT115: a directory where state goes: Spark takes one for a snapshot, and cannot write over one."""
    loaded = (view.latest_planned or 0) + 1
    for name in view.folders:
        place = layout.parse(name)
        if isinstance(place, layout.StateSchemaFile):
            yield an_error(
                "CKPT115",
                "there is a directory where a state schema should be",
                None,
                name,
                spark_error="FileNotFoundException",
                **from_backup(view, "the file", why="Move the directory out of the checkpoint."),
            )
        if not isinstance(place, layout.StateFile):
            continue
        snapshot = place.kind == "snapshot" and place.version <= loaded
        if snapshot or place.version > view.next_batch:
            yield an_error(
                "CKPT115",
                f"there is a directory where a state file of version {place.version} belongs"
                + (", and Spark takes it for a snapshot" if snapshot else ""),
                None,
                name,
                "Move the directory out of the checkpoint.",
                f"{_CANNOT_LOAD}.UNCATEGORIZED" if snapshot else _write_error(view, place),
            )


def _write_error(view: CheckpointView, place: layout.StateFile) -> str | None:
    """Error with which the next batch stops where a directory is in the way of what it commits."""
    store = (layout.parse(name) for name in view.names_below(place.store_id.directory))
    has_changes = any(isinstance(file, layout.StateFile) and file.kind in ("delta", "changelog") for file in store)
    in_background = place.kind in ("snapshot", "zip") and has_changes
    return None if in_background or place.version != view.next_batch + 1 else "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"
