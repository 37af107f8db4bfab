"""The batch that a fork runs first: as long as some batches of the live query together.

Spark runs a batch that is planned and not committed again with the very offsets of its entry, whatever the source has
by then. So an entry that ends where a batch of the live query ended makes the two have read the same.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata


def planned_batch(first: OffsetSeq, last: OffsetSeq) -> OffsetSeq:
    """The entry of a batch that begins where the batch of ``first`` began, and ends where that of ``last`` ended.

    Of one batch it is the very entry of the live query, with its watermark, its time and its confs.

    Raises ValueError when the two are not of one plan: other sources, another log version or other confs.
    """
    if first == last:
        return first
    if first.version != last.version:
        raise ValueError(f"the offset log changed from version {first.version} to {last.version}")
    if {source_id for source_id, _ in first.offsets} != {source_id for source_id, _ in last.offsets}:
        raise ValueError("the sources of the query changed")
    if _conf(first.metadata) != _conf(last.metadata):
        raise ValueError("the confs in the offset log changed, for example by a repartition of the state")
    return OffsetSeq(first.version, first.metadata, last.offsets)


def same_end(one: OffsetSeq, other: OffsetSeq) -> bool:
    """True if two batches ended at the same offsets of the same sources."""
    return dict(one.offsets) == dict(other.offsets)


def _conf(metadata: OffsetSeqMetadata | None) -> OffsetSeqMetadata | None:
    return None if metadata is None else replace(metadata, batch_watermark_ms=0, batch_timestamp_ms=0)
