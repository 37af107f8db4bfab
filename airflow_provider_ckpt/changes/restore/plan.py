"""The plan of a restore: write a backup to an empty location."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.change.plan.actions import Action, Copy, Create
from airflow_provider_ckpt.change.plan.facts import kept_objects
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import EmptyLocation, FromBackup, KeptSinkLog, Requirement
from airflow_provider_ckpt.checkpoint.compaction import COMPACT_INTERVAL, Shape
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import is_offset_entry, main_name
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.codec.source_log import FileSinkLog
from airflow_provider_ckpt.sinks.effects import SinkEffect


def plan_restore(
    manifest: Manifest,
    root: str,
    location: str,
    planned_at_ms: int,
    new_query_id: str | None = None,
    *,
    rewritten: Mapping[str, bytes] | None = None,
    warnings: Iterable[str] = (),
    effects: Iterable[SinkEffect] = (),
    trigger: str = "",
    sink: str = "",
) -> Plan:
    """Write a backup to an empty location.

    The newest offset entry comes first and its predecessor last: in between Spark refuses to start
    (``batch N-1 doesn't exist``) instead of beginning from scratch.

    Args:
        manifest: The backup.
        root: Location of the backup root.
        location: The location to write to.
        planned_at_ms: Now, epoch milliseconds.
        new_query_id: A fork gets an id of its own; None moves the query with its id.
        rewritten: Objects that get another content, by name; their checksum files are left out.
        warnings: Warnings for the person who approves the plan.
        effects: One for each sink.
        trigger: The trigger of the query, or empty.
        sink: The new and empty directory of a file sink, whose log then begins with the batches of the backup; or
            empty.
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
    begins = entries_before(manifest.batch_id) if sink else ()
    requirements: list[Requirement] = [EmptyLocation(), FromBackup(manifest.backup_id)]
    if sink:
        requirements.append(KeptSinkLog(kept_objects({}, ())))
    return Plan(
        kind="restore",
        location=location,
        query_id=new_query_id or manifest.query_id,
        batch_id=manifest.batch_id,
        planned_at_ms=planned_at_ms,
        requirements=tuple(requirements),
        actions=(*begins, *actions),
        warnings=tuple(warnings),
        effects=tuple(effects),
        source=root,
        sink=sink,
        trigger=trigger,
    )


def entries_before(batch_id: int) -> tuple[Create, ...]:
    """The steps that begin the log of a fork's file sink: empty entries up to a batch (inclusive), the oldest first.

    Spark reads the entries of all batches since the last compaction, when it reads the directory and when it compacts
    the log. A fork begins after the batch of its backup, so the log lacks those before. An entry of only the line
    ``v1`` says that its batch wrote nothing here, which is so.

    Their names are those of Spark's own interval of compactions. With a compacted entry among them Spark finds another
    interval that fits the name, whatever the query sets.
    """
    shape, empty = Shape(COMPACT_INTERVAL, batch_id), FileSinkLog(()).encode().decode()
    return tuple(Create(shape.entry(batch), "sink", empty) for batch in shape.live)


def interval_warning(batch_id: int) -> str | None:
    """A warning where the log shows no compaction yet, so that Spark goes by the interval that the query sets."""
    if batch_id >= COMPACT_INTERVAL - 1:
        return None
    return (
        f"The log of the new directory begins with the compactInterval that is Spark's default, {COMPACT_INTERVAL}. If "
        f"the query sets spark.sql.streaming.fileSink.log.compactInterval to {batch_id + 1} or less, it stops at the "
        "batch that compacts this log, and so do readers: restore without --sink then, and begin the log by "
        "ckpt repair with --compact-interval."
    )
