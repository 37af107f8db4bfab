"""References of a state file to the other files that it needs.

* A RocksDB ``V.zip`` names the SST and log files that it refers to (``RocksDBCheckpointMetadata``).
* A RocksDB ``V_<id>.changelog`` of state checkpoint format 2 begins with its lineage: version and id of the state files
  before it, back to the last snapshot (``StateStoreChangelogWriterV3``). The stream is compressed.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.versions import parse_version
from airflow_provider_ckpt.errors import CheckpointFormatError, MalformedEntryError

#: What is said of a table of RocksDB between its size and the one that the zip gives it.
OTHER_SIZE = "bytes long instead of"
#: What a RocksDB zip holds at most: its list of files, its manifest, its options.
MOST_ZIP_ENTRIES, MOST_METADATA_BYTES, MOST_ZIP_BYTES = 1_000, 4 << 20, 64 << 20
_ZIP_ENTRY, _PIECE = b"PK\x01\x02", 1 << 20

#: Gives at least the wanted number of plain bytes from the start of a compressed stream, or all there are.
Decompress = Callable[[bytes, int], bytes | bytearray]


@dataclass(frozen=True, slots=True)
class StateTableRef:
    """A file that a RocksDB zip refers to; ``name`` is relative to the store's directory, ``size`` in bytes."""

    name: str
    size: int


def read_zip(data: bytes, name: str) -> tuple[StateTableRef, ...]:
    """The files that a RocksDB ``V.zip`` refers to. Raises MalformedEntryError."""
    try:
        text = jvm_text.decode_utf8(_zip_metadata(data), name)
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise MalformedEntryError(f"not a RocksDB snapshot: {error}", name=name) from error
    version, _, body = text.partition("\n")
    parse_version(version, 1, "RocksDB checkpoint metadata", name)
    what = "RocksDB checkpoint metadata"
    fields = jvm_text.Fields(jvm_text.read_json_object(body, name, what), name, what)
    tables = [_table_ref(item, "SSTs", "dfsSstFileName", name) for item in fields.array("sstFiles")]
    logs = [_table_ref(item, "logs", "dfsLogFileName", name) for item in fields.array("logFiles")]
    return tuple(tables + logs)


def _zip_metadata(data: bytes) -> bytes:
    """The entry ``metadata`` of a zip whose entries fit their checksums. Raises BadZipFile and what zipfile raises."""
    if data.count(_ZIP_ENTRY) > MOST_ZIP_ENTRIES:
        raise zipfile.BadZipFile(f"it has more than {MOST_ZIP_ENTRIES:,} entries")
    metadata, left = None, MOST_ZIP_BYTES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                head = file.read(MOST_METADATA_BYTES + 1)
                left -= len(head)
                while piece := file.read(_PIECE):
                    left -= len(piece)
                    if left < 0:
                        raise zipfile.BadZipFile(f"it has more than {MOST_ZIP_BYTES:,} bytes when it is unpacked")
            if entry.filename == "metadata":
                metadata = head
    if metadata is None:
        raise KeyError("it has no entry metadata")
    if len(metadata) > MOST_METADATA_BYTES:
        raise zipfile.BadZipFile(f"its metadata has more than {MOST_METADATA_BYTES:,} bytes")
    return metadata


def _table_ref(item: object, directory: str, key: str, name: str) -> StateTableRef:
    if not isinstance(item, dict):
        raise MalformedEntryError(f"{key} is not in an object", name=name)
    fields = jvm_text.Fields(item, name, "RocksDB checkpoint metadata")
    base = fields.text(key)
    if "/" in base or base in ("", ".", ".."):
        raise MalformedEntryError(
            f"its metadata has a file name that is not valid: {jvm_text.abbreviate(base)}", name=name
        )
    return StateTableRef(f"{directory}/{base}", fields.long("sizeBytes"))


def read_lineage(
    data: bytes, codec: str, name: str, decompressors: Mapping[str, Decompress]
) -> tuple[tuple[int, str], ...]:
    """The ``(version, unique id)`` of the predecessors that a changelog of state checkpoint format 2 names.

    Args:
        data: The whole changelog file.
        codec: ``spark.sql.streaming.stateStore.compression.codec`` of the offset log.
        name: Its name, for the error.
        decompressors: By codec; see :func:`~airflow_provider_ckpt.checkpoint.state.decompressors.decompressors`.

    Raises:
        MalformedEntryError: No changelog with a lineage, or no decompressor for the codec.
    """
    if codec not in decompressors:
        known = ", ".join(sorted(decompressors))
        raise MalformedEntryError(
            f"the changelog is compressed with {codec!r}",
            name=name,
            hint=f"This installation reads {known}; spark-ckpt as pip installs it also reads lz4, snappy and zstd.",
        )
    try:
        return _read_lineage(data, decompressors[codec], name)
    except CheckpointFormatError:
        raise
    except (ValueError, IndexError, struct.error, EOFError) as error:
        raise MalformedEntryError(f"not a changelog of state checkpoint format 2: {error}", name=name) from error


def _read_lineage(data: bytes, decompress: Decompress, name: str) -> tuple[tuple[int, str], ...]:
    version, rest = _read_utf(data, decompress, 0)
    if version not in ("v3", "v4"):
        raise ValueError(f"version {jvm_text.abbreviate(version)}")
    text, _ = _read_utf(data, decompress, rest)
    items = jvm_text.read_json(text, name, "lineage")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError("the lineage is not a list of objects")
    fields = [jvm_text.Fields(item, name, "lineage") for item in items]
    return tuple((item.long("version"), item.text("checkpointUniqueId")) for item in fields)


def _read_utf(data: bytes, decompress: Decompress, at: int) -> tuple[str, int]:
    """``DataInputStream.readUTF``: two bytes of length, then text."""
    (size,) = struct.unpack(">H", decompress(data, at + 2)[at : at + 2])
    end = at + 2 + size
    plain = decompress(data, end)
    if len(plain) < end:
        raise EOFError("the stream is cut off")
    return plain[at + 2 : end].decode("utf-8"), end
