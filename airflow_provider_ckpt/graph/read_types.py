"""Reading what proves the types of the sources of a checkpoint: the beginning of one file for a source at most."""

from __future__ import annotations

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import Encodable
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.graph.proven_types import ProvenType, proven_type, proving_files
from airflow_provider_ckpt.storage.store import Store

#: So much is read of a log, whose first lines prove as much as all of them.
_HEAD_BYTES = 1 << 16
#: More sources than a person looks at.
MOST_SOURCES = 100


def read_types(store: Store, view: CheckpointView) -> dict[str, ProvenType]:
    """The types of the sources that the checkpoint proves, by source id; what cannot be read proves nothing."""
    batch_id = view.latest_planned
    offsets = view.readable_offset_seq(batch_id)
    if offsets is None or batch_id is None:
        return {}
    found = {}
    for source_id, offset in offsets.offsets[:MOST_SOURCES]:
        proven = proven_type(source_id, offsets, batch_id, _own_files(store, source_id, offset))
        if proven is not None:
            found[source_id] = proven
    return found


def _own_files(store: Store, source_id: str, offset: SourceOffset | None) -> dict[str, Encodable]:
    for name in proving_files(source_id, offset):
        try:
            data = store.read_up_to(name, _HEAD_BYTES)
            if len(data) == _HEAD_BYTES:
                data = data[: data.rindex(b"\n")]
            return {name: codec.decode(name, data)}
        except (CheckpointError, ValueError):
            continue
    return {}
