"""What the rows of a checkpoint are, from its files: paths and the codec, nothing of the room under test."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.source_kinds import KINDS, kind_of_provider


def declared_types(checkpoint: Path) -> dict[str, str]:
    """What somebody who knows the query of a golden declares: the sources that are directories of files."""
    lines = next((checkpoint / "offsets").glob("[0-9]*")).read_text().split("\n")[2:]
    return {str(number): "file" for number, line in enumerate(lines) if "logOffset" in line}


def rows_by_hand(checkpoint: Path, declared: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """One row for each batch and source, by column; times are epoch milliseconds. The checkpoint must be whole."""
    logs = {log: _entries(checkpoint, log) for log in ("offsets", "commits")}
    ids = sorted({*logs["offsets"], *logs["commits"]})
    for before, batch_id in zip([None, *ids], ids, strict=False):
        offsets, commit = logs["offsets"].get(batch_id), logs["commits"].get(batch_id)
        metadata = offsets.metadata if offsets else None
        committed = checkpoint / "commits" / str(batch_id)
        batch = {
            "location": str(checkpoint),
            "query_id": json.loads((checkpoint / "metadata").read_text())["id"],
            "timeline": None,
            "batch_id": batch_id,
            "offset_log_version": offsets.version if offsets else None,
            "commit_log_version": commit.version if commit else None,
            "planned": offsets is not None,
            "committed": commit is not None,
            "batch_time": metadata.batch_timestamp_ms if metadata else None,
            "committed_at": int(committed.stat().st_mtime * 1000) if commit else None,
            "watermark": metadata.batch_watermark_ms or None if metadata else None,
            "next_watermark": commit.next_batch_watermark_ms or None if commit else None,
            "confs": dict(metadata.conf) if metadata else None,
            "confs_digest": _digest(metadata.conf) if metadata else None,
            "control": metadata.control.operation_type if metadata and metadata.control else None,
            "problem": None,
        }
        earlier = logs["offsets"].get(before) if before is not None else _initial(checkpoint, offsets)
        for source_id, offset in offsets.offsets if offsets else ((None, None),):
            start = dict(earlier.offsets if hasattr(earlier, "offsets") else earlier or {}).get(source_id)
            info = metadata.sources.get(source_id) if metadata else None
            kind = (kind_of_provider(info.provider_name) if info else None) or (declared or {}).get(source_id)
            yield {
                **batch,
                "source_id": source_id,
                "source_type": kind,
                "start_offset": start.json if start else None,
                "end_offset": offset.json if offset else None,
                "unit": KINDS[kind].unit if kind else None,
                "advanced": _advanced(start, offset, kind, batch_id),
            }


def _entries(checkpoint: Path, log: str) -> dict[int, Any]:
    paths = [path for path in (checkpoint / log).iterdir() if path.name.isdecimal()]
    return {int(path.name): codec.decode(f"{log}/{path.name}", path.read_bytes()) for path in paths}


def _initial(checkpoint: Path, first: Any) -> dict[str, Any]:
    files = {source_id: checkpoint / "sources" / source_id / "0" for source_id, _ in (first.offsets if first else ())}
    decoded = {key: codec.decode(f"sources/{key}/0", path.read_bytes()) for key, path in files.items() if path.exists()}
    return {key: value.offset for key, value in decoded.items() if hasattr(value, "offset")}


def _digest(confs: Mapping[str, str | None]) -> str:
    return hashlib.sha256(json.dumps(sorted(confs.items())).encode()).hexdigest()[:16]


def _advanced(start: Any, end: Any, kind: str | None, batch_id: int) -> int | None:
    """Units of what the sources of the goldens read; one that counts in another way has a test of its own."""
    if start == end and end is not None:
        return 0
    if kind is None or end is None or KINDS[kind].unit is None or (start is None and batch_id > 0):
        return None
    if start is None and KINDS[kind].origin is None:
        return None
    now, before = (
        sum(place[0] for place in value.view(kind).positions.values()) if value else 0 for value in (end, start)
    )
    return now - (before if start else KINDS[kind].origin or 0)
