"""Where the log of a file sink begins that a fork writes to a new directory.

Spark reads the entries of all batches since the last compaction, when it reads the directory and when it compacts the
log. A fork begins after the batch of its backup, so the log lacks those before. An entry of only the line ``v1`` says
that its batch wrote nothing here, which is so.
"""

from __future__ import annotations

from airflow_provider_ckpt.change.plan.actions import Create
from airflow_provider_ckpt.checkpoint.compaction import COMPACT_INTERVAL, Shape
from airflow_provider_ckpt.codec.source_log import FileSinkLog


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


def entries_before(batch_id: int) -> tuple[Create, ...]:
    """The steps that write the empty entries up to a batch (inclusive), the oldest first.

    Their names are those of Spark's own interval of compactions. With a compacted entry among them Spark finds another
    interval that fits the name, whatever the query sets.
    """
    shape, empty = Shape(COMPACT_INTERVAL, batch_id), FileSinkLog(()).encode().decode()
    return tuple(Create(shape.entry(batch), "sink", empty) for batch in shape.live)
