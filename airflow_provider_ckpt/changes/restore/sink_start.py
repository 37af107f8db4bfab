"""Where the log of a file sink begins that a fork writes to a new directory.

Spark reads the entries of all batches since the last compaction, when it reads the directory and when it compacts the
log. A fork begins after the batch of its backup, so the log lacks those before. An entry of only the line ``v1`` says
that its batch wrote nothing here, which is so.
"""

from __future__ import annotations

from airflow_provider_ckpt.change.plan.actions import Create
from airflow_provider_ckpt.checkpoint.compaction import COMPACT_INTERVAL, Shape
from airflow_provider_ckpt.codec.source_log import FileSinkLog


def entries_before(batch_id: int) -> tuple[Create, ...]:
    """The steps that write the empty entries up to a batch (inclusive), the oldest first.

    Their names are those of Spark's own interval of compactions. With a compacted entry among them Spark finds another
    interval that fits the name, whatever the query sets.
    """
    shape, empty = Shape(COMPACT_INTERVAL, batch_id), FileSinkLog(()).encode().decode()
    return tuple(Create(shape.entry(batch), "sink", empty) for batch in shape.live)
