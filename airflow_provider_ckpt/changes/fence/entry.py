"""The offset entry of a fence: that of a batch that reads nothing, as Spark itself would plan it.

It has the offsets and the confs of the batch before it, and its time, which must not go backwards. Its watermark is the
one that the commit of that batch says for the next one: with that of the offset entry, the query would forget how far
its event time has come [measured on Spark 4.3], and its last windows would wait for further rows. It says that it is a
fence, in a field that Spark ignores.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata


def empty_entry(entry: OffsetSeq, commit: CommitMetadata) -> bytes:
    """The entry of a batch that reads nothing after another one, as bytes.

    Args:
        entry: The offset entry of the batch before it.
        commit: The commit entry of that batch.
    """
    metadata = entry.metadata or OffsetSeqMetadata()
    watermark_ms = max(metadata.batch_watermark_ms, commit.next_batch_watermark_ms)
    own = replace(metadata, batch_watermark_ms=watermark_ms, control=None, fence=True)
    return replace(entry, metadata=own).encode()
