"""Rules over a view: what is damaged, and what will go wrong at the next restart. Codes are stable.

A rule is a function from a view to findings. The default rules need the two logs; the deep ones need everything listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.errors import IncompleteLogFileError, UnsupportedVersionError
from airflow_provider_ckpt.findings import Finding, worst_first
from airflow_provider_ckpt.view import CheckpointView

Rule = Callable[[CheckpointView], Iterable[Finding]]


def check(view: CheckpointView, missing: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    """Run every rule that the view has the data for; errors first.

    Args:
        view: What was seen.
        missing: What the restart set of the newest committed batch lacks, when that was looked into.
    """
    rules = _RULES + (_DEEP_RULES if view.complete else ())
    findings = [finding for rule in rules for finding in rule(view)]
    findings += [incomplete_restart_set(view, name) for name in missing]
    return worst_first(findings)


def damaged_entries(view: CheckpointView) -> Iterator[Finding]:
    """CKPT101 to CKPT103: files that Spark cannot read."""
    for name, error in view.damaged.items():
        place = layout.parse(name)
        batch_id = place.batch_id if isinstance(place, layout.LogEntry) else None
        code = "CKPT102"
        hint = error.hint or "Restore the file from a backup, or roll back to a batch before it."
        if isinstance(error, IncompleteLogFileError):
            code = "CKPT101"
            if batch_id is not None and batch_id == view.in_flight:
                hint = "The batch was never committed: roll back to the batch before it."
        elif isinstance(error, UnsupportedVersionError):
            code = "CKPT103"
        yield Finding(code, "error", error.message, batch_id, name, hint)


def missing_metadata(view: CheckpointView) -> Iterator[Finding]:
    """CKPT104: the query would get a new id, and idempotent sinks would not know it."""
    if layout.METADATA not in view.objects and (view.planned or view.committed):
        yield Finding(
            "CKPT104",
            "error",
            "the file metadata with the query id is missing",
            name=layout.METADATA,
            hint="Restore it from a backup. Spark before 4.2 would go on under a new id, which duplicates data in "
            "sinks that know queries by id; Spark 4.2 and later refuses to start.",
        )


def missing_predecessor(view: CheckpointView) -> Iterator[Finding]:
    """CKPT110: Spark reads the newest two offset entries and stops when the older one is not there."""
    newest = view.latest_planned
    if newest is None:
        return
    before = view.predecessor(newest)
    if before is not None and before not in view.planned:
        yield Finding(
            "CKPT110",
            "error",
            f"offsets/{before} is missing, and Spark needs it beside offsets/{newest}",
            newest,
            layout.offset_entry(before),
            "Restore it from a backup, or roll back to a batch with a complete predecessor.",
        )


def gaps(view: CheckpointView) -> Iterator[Finding]:
    """CKPT111: batches missing in between; normal with async progress tracking, harmless elsewhere."""
    planned = view.planned
    skipped = [batch for batch in range(planned[0], planned[-1]) if batch not in planned] if _is_short(planned) else []
    if skipped:
        listed = ", ".join(map(str, skipped[:5])) + (", …" if len(skipped) > 5 else "")
        yield Finding(
            "CKPT111",
            "note",
            f"the offset log has gaps (batches {listed})",
            hint="Normal with async progress tracking; such a query restarts in that mode alone.",
        )


def _is_short(batches: tuple[int, ...]) -> bool:
    """Whether the span is small enough to look for gaps; a stray name such as 9223372036854775807 makes it vast."""
    return bool(batches) and batches[-1] - batches[0] < 1_000_000


def commits_ahead(view: CheckpointView) -> Iterator[Finding]:
    """CKPT112: every restart would run the newest planned batch into the sink and then stop."""
    planned, committed = view.latest_planned, view.latest_committed
    if committed is None or (planned is not None and committed <= planned):
        return
    yield Finding(
        "CKPT112",
        "error",
        f"batch {committed} is committed, but the newest offset entry is {'none' if planned is None else planned}",
        committed,
        layout.commit_entry(committed),
        "A byte-level copy of a running query looks like this. Remove the commits past the newest offsets: "
        "ckpt rollback to the newest batch that is in both logs.",
    )


def commits_trail(view: CheckpointView) -> Iterator[Finding]:
    """CKPT113: Spark runs again the newest planned batch alone."""
    planned, committed = view.latest_planned, view.latest_committed
    if planned is None or committed is None or planned - committed <= 1:
        return
    between = [batch for batch in view.planned if committed < batch < planned]
    if between:
        yield Finding(
            "CKPT113",
            "warning",
            f"batches {between[0]} to {planned} are planned and not committed; Spark runs again batch {planned} alone",
            planned,
            hint=f"If the sink lacks the others, roll back to batch {committed}.",
        )


def odd_names(view: CheckpointView) -> Iterator[Finding]:
    """CKPT115: names that Spark counts as a batch and then cannot open."""
    for name in view.objects:
        place = layout.parse(name)
        if isinstance(place, layout.LogEntry) and not place.canonical:
            yield Finding(
                "CKPT115",
                "error",
                f"Spark counts this name as batch {place.batch_id} and then looks for {place.log}/{place.batch_id}",
                place.batch_id,
                name,
                "Move the file out of the checkpoint.",
            )


def null_confs(view: CheckpointView) -> Iterator[Finding]:
    """CKPT116: a conf without a value in the newest entry."""
    newest = view.latest_planned
    if newest is None or layout.offset_entry(newest) not in view.entries:
        return
    metadata = view.offset_seq(newest).metadata
    for key, value in (metadata.conf if metadata else {}).items():
        if value is None:
            yield Finding(
                "CKPT116",
                "error",
                f"the conf {key} is null, and Spark stops with 'value cannot be null'",
                newest,
                layout.offset_entry(newest),
                "Roll back to the batch before it.",
            )


def orphan_sidecars(view: CheckpointView) -> Iterator[Finding]:
    """CKPT120: a Hadoop checksum without its object makes the next write of that object fail."""
    for name in view.objects:
        place = layout.parse(name)
        if isinstance(place, layout.Sidecar) and place.hidden and place.of not in view.objects:
            main = layout.parse(place.of)
            newest = view.latest_planned if isinstance(main, layout.LogEntry) else None
            if newest is None or (isinstance(main, layout.LogEntry) and main.batch_id >= newest):
                yield Finding(
                    "CKPT120",
                    "error",
                    f"a checksum file without {place.of}; writing that again fails with "
                    "'Multiple streaming queries are concurrently using'",
                    main.batch_id if isinstance(main, layout.LogEntry) else None,
                    name,
                    "Remove the checksum file.",
                )


def state_without_log(view: CheckpointView) -> Iterator[Finding]:
    """CKPT131: Spark refuses to begin with batch 0 over state."""
    if view.stateful and not view.planned:
        yield Finding(
            "CKPT131",
            "error",
            "there is state, and the offset log is empty",
            name=layout.STATE,
            hint="Restore the logs from a backup, or use a new checkpoint location.",
        )


def incomplete_restart_set(view: CheckpointView, name: str) -> Finding:
    """CKPT130: a file that the restart after the newest committed batch reads is not there."""
    return Finding(
        "CKPT130",
        "error",
        f"{name} is missing, and the restart after batch {view.latest_committed} needs it",
        view.latest_committed,
        name,
        "Restore it from a backup, or roll back to a batch that can be restored.",
    )


def stale_checksums(view: CheckpointView) -> Iterator[Finding]:
    """CKPT121: a Hadoop checksum file that does not fit its object."""
    for name, entry in view.entries.items():
        place = layout.parse(name)
        if not isinstance(entry, HadoopChecksum) or not isinstance(place, layout.Sidecar):
            continue
        if place.of in view.entries and not entry.matches(view.entries[place.of].encode()):
            yield Finding(
                "CKPT121",
                "warning",
                f"the checksum file does not fit {place.of}: it was changed by something other than Hadoop",
                name=name,
                hint="Spark does not verify it for its logs, `hadoop fs` does. Remove the checksum file.",
            )


_RULES: tuple[Rule, ...] = (
    damaged_entries,
    missing_metadata,
    missing_predecessor,
    gaps,
    commits_ahead,
    commits_trail,
    odd_names,
    null_confs,
    state_without_log,
)
_DEEP_RULES: tuple[Rule, ...] = (orphan_sidecars, stale_checksums)
