"""Checks that a small text file of a checkpoint is whole: stricter than Spark.

Spark takes a commit that was cut after its version for one without a watermark, and it does not read the checksum files
of its logs. Whoever saves a checkpoint after damage must not take either for the truth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from airflow_provider_ckpt.checkpoint.seeded import seeded_batch
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import InitialOffset
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: What is said of an entry that differs from what was summed when it was written.
MISMATCH = "does not match its checksum file, so one of the two was changed"
#: What is said of an offset entry that another batch has as well.
COPY = "is the same as the entry of another batch"
_CUT = "is cut off: it has no content after the version"


def problem_of_entry(entry: Encodable) -> str | None:
    """Problem of an entry that could be decoded, in words that follow its name; None when it is whole."""
    if isinstance(entry, CommitMetadata) and not entry.encode().rstrip().endswith(b"}"):
        return _CUT
    if isinstance(entry, InitialOffset) and not _is_whole(entry.offset.json):
        return "is cut off: the offset has no end"
    if not isinstance(entry, OffsetSeq):
        return None
    if entry.empty_lines:
        return "has an empty line, which Spark takes for a source"
    if not entry.offsets:
        return "is cut off: it has no offset of any source"
    cut = next((source_id for source_id, offset in entry.offsets if offset and not _is_whole(offset.json)), None)
    return None if cut is None else f"is cut off: the offset of source {cut} has no end"


def _is_whole(text: str) -> bool:
    """True if the text of an offset ends as it begins; text that is not JSON is left to its source."""
    if text[:1] not in ("{", "["):
        return True
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def broken_entries(view: CheckpointView) -> dict[str, str]:
    """The text files of a checkpoint that are not whole, and what to say of each.

    Args:
        view: The whole checkpoint, with every text file and every checksum file of one read.
    """
    broken = {name: f"cannot be read ({error.message.rstrip('.')})" for name, error in view.damaged.items()}
    broken = {name: said for name, said in broken.items() if not name.endswith(".crc")}
    for name, entry in view.entries.items():
        if isinstance(entry, HadoopChecksum):
            place = layout.parse(name)
            if not isinstance(place, layout.Sidecar):
                continue
            main = view.entries.get(place.of)
            if main is not None and not _sums_beginning(entry, main.encode()):
                broken[place.of] = MISMATCH
        elif (problem := problem_of_entry(entry)) is not None:
            broken[name] = problem
    return {**_copies(view), **broken}


def _copies(view: CheckpointView) -> dict[str, str]:
    """Offset entries with the bytes of another one: each batch has a time of its own, so at most one is right.

    The two that a seed has written are both right. Of others the one that has a checksum file is; where none
    has, nobody knows which.
    """
    seeded = seeded_batch(view)
    of_seed = set() if seeded is None else {layout.offset_entry(seeded - 1), layout.offset_entry(seeded)}
    known: dict[bytes, list[str]] = {}
    for name, entry in view.entries.items():
        if isinstance(entry, OffsetSeq):
            known.setdefault(entry.encode(), []).append(name)
    found = {}
    for names in known.values():
        unsure = [name for name in names if layout.sidecars(name)[2] not in view.objects]
        if len(names) > 1 and set(names) != of_seed:
            found.update(dict.fromkeys(unsure, COPY))
    return found


def _sums_beginning(entry: HadoopChecksum, data: bytes) -> bool:
    """True if a checksum file fits some bytes; a file that was cut off is compared with the first of them."""
    step, count = entry.bytes_per_checksum, len(entry.checksums)
    whole = -(-len(data) // step)
    return count <= whole and entry.matches(data if count == whole else data[: count * step])


def sources_differ(entry: OffsetSeq, before: Encodable | None) -> str | None:
    """Problem if two entries beside each other have different sources, as when one was cut between two lines."""
    if not isinstance(before, OffsetSeq) or len(entry.offsets) == len(before.offsets):
        return None
    return f"has {len(entry.offsets)} sources, and the entry before it has {len(before.offsets)}"


def commit_again(batch_id: int, entries: Mapping[str, Encodable], is_plain: bool) -> str | None:
    """The commit entry of a batch that is lost, as Spark wrote it; None where the other entries do not tell.

    Spark plans a batch after it has committed the one before, and gives it the watermark that it has committed. Ids of
    state files and names of sinks are in no other file.

    Args:
        batch_id: The batch.
        entries: The entries of both logs that are whole, by name.
        is_plain: True if commits of the query hold a watermark alone.
    """
    own, following = (entries.get(layout.offset_entry(batch)) for batch in (batch_id, batch_id + 1))
    if not isinstance(own, OffsetSeq) or not isinstance(following, OffsetSeq) or not is_plain:
        return None
    if own.metadata is None or following.metadata is None:
        return None
    if following.metadata.fence or not 0 < own.metadata.batch_timestamp_ms < following.metadata.batch_timestamp_ms:
        return None  # written by hand, or by a fence: no batch was planned
    text = json.dumps({"nextBatchWatermarkMs": following.metadata.batch_watermark_ms}, separators=(",", ":"))
    return f"v1\n{text}"
