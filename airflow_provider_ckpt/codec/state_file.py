"""What a state file says about the other files that it needs.

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
#: A block of a compressed stream; Spark writes blocks of 32 and 64 KiB.
MOST_BLOCK_BYTES = 4 << 20
_ZIP_ENTRY, _PIECE = b"PK\x01\x02", 1 << 20

#: Gives at least the wanted number of plain bytes from the start of a compressed stream, or all there are.
Decompress = Callable[[bytes, int], bytes]


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
        raise MalformedEntryError(f"no RocksDB snapshot: {error}", name=name) from error
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
        raise zipfile.BadZipFile(f"more than {MOST_ZIP_ENTRIES:,} entries")
    metadata, left = None, MOST_ZIP_BYTES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                head = file.read(MOST_METADATA_BYTES + 1)
                left -= len(head)
                while piece := file.read(_PIECE):
                    left -= len(piece)
                    if left < 0:
                        raise zipfile.BadZipFile(f"more than {MOST_ZIP_BYTES:,} bytes once it is unpacked")
            if entry.filename == "metadata":
                metadata = head
    if metadata is None:
        raise KeyError("there is no entry metadata")
    if len(metadata) > MOST_METADATA_BYTES:
        raise zipfile.BadZipFile(f"its metadata has more than {MOST_METADATA_BYTES:,} bytes")
    return metadata


def _table_ref(item: object, directory: str, key: str, name: str) -> StateTableRef:
    if not isinstance(item, dict):
        raise MalformedEntryError(f"{key} is in no object", name=name)
    fields = jvm_text.Fields(item, name, "RocksDB checkpoint metadata")
    base = fields.text(key)
    if "/" in base or base in ("", ".", ".."):
        raise MalformedEntryError(f"a file name that is none: {jvm_text.abbreviate(base)}", name=name)
    return StateTableRef(f"{directory}/{base}", fields.long("sizeBytes"))


def read_lineage(
    data: bytes, codec: str, name: str, decompressors: Mapping[str, Decompress]
) -> tuple[tuple[int, str], ...]:
    """The ``(version, unique id)`` of the predecessors that a changelog of state checkpoint format 2 names.

    Args:
        data: The whole changelog file.
        codec: ``spark.sql.streaming.stateStore.compression.codec`` of the offset log.
        name: Its name, for the error.
        decompressors: By codec; DECOMPRESSORS, and whatever optional libraries add.

    Raises:
        MalformedEntryError: No changelog with a lineage, or no decompressor for the codec.
    """
    if codec not in decompressors:
        known = ", ".join(sorted(decompressors))
        raise MalformedEntryError(
            f"the changelog is compressed with {codec!r}",
            name=name,
            hint=f"Readable here are {known}; for zstd: pip install 'ckpt-cli[spark]'.",
        )
    try:
        return _read_lineage(data, decompressors[codec], name)
    except CheckpointFormatError:
        raise
    except (ValueError, IndexError, struct.error, EOFError) as error:
        raise MalformedEntryError(f"no changelog of state checkpoint format 2: {error}", name=name) from error


def _read_lineage(data: bytes, decompress: Decompress, name: str) -> tuple[tuple[int, str], ...]:
    version, rest = _read_utf(data, decompress, 0)
    if version not in ("v3", "v4"):
        raise ValueError(f"version {jvm_text.abbreviate(version)}")
    text, _ = _read_utf(data, decompress, rest)
    items = jvm_text.read_json(text, name, "lineage")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError("the lineage is no list of objects")
    fields = [jvm_text.Fields(item, name, "lineage") for item in items]
    return tuple((item.long("version"), item.text("checkpointUniqueId")) for item in fields)


def _read_utf(data: bytes, decompress: Decompress, at: int) -> tuple[str, int]:
    """``DataInputStream.readUTF``: two bytes of length, then text."""
    (size,) = struct.unpack(">H", decompress(data, at + 2)[at : at + 2])
    end = at + 2 + size
    plain = decompress(data, end)
    if len(plain) < end:
        raise EOFError("the stream ends early")
    return plain[at + 2 : end].decode("utf-8"), end


def _lz4(data: bytes, wanted: int) -> bytes:
    """``net.jpountz.lz4.LZ4BlockOutputStream``: a 21 byte header before each block."""
    plain, at = bytearray(), 0
    while at + 21 <= len(data) and len(plain) < wanted:
        magic, token, size, plain_size, _ = struct.unpack("<8sBiii", data[at : at + 21])
        if magic != b"LZ4Block" or not 0 <= size <= MOST_BLOCK_BYTES or not 0 <= plain_size <= MOST_BLOCK_BYTES:
            raise ValueError("no LZ4 block")
        block = data[at + 21 : at + 21 + size]
        if plain_size == 0:
            break
        plain += block if token & 0xF0 == 0x10 else _lz4_block(block, plain_size)
        at += 21 + size
    return bytes(plain)


def _lz4_block(block: bytes, plain_size: int) -> bytes:
    plain, at = bytearray(), 0
    while at < len(block):
        token = block[at]
        size, at = _lz4_length(block, at + 1, token >> 4)
        if len(plain) + size > plain_size:
            raise ValueError("an LZ4 block of another size than its header says")
        plain += block[at : at + size]
        at += size
        if at >= len(block):
            break
        distance = block[at] | block[at + 1] << 8
        size, at = _lz4_length(block, at + 2, token & 15)
        _repeat(plain, distance, size + 4, plain_size)
    if len(plain) != plain_size:
        raise ValueError("an LZ4 block of another size than its header says")
    return bytes(plain)


def _lz4_length(block: bytes, at: int, nibble: int) -> tuple[int, int]:
    if nibble < 15:
        return nibble, at
    size = nibble
    while True:
        size += block[at]
        at += 1
        if block[at - 1] != 255:
            return size, at


def _snappy(data: bytes, wanted: int) -> bytes:
    """``org.xerial.snappy.SnappyOutputStream``: a 16 byte header, then chunks with their size before them."""
    if data[:8] != b"\x82SNAPPY\0":
        raise ValueError("no snappy stream")
    plain, at = bytearray(), 16
    while at + 4 <= len(data) and len(plain) < wanted:
        (size,) = struct.unpack(">I", data[at : at + 4])
        if size > MOST_BLOCK_BYTES:
            raise ValueError("no snappy block")
        plain += _snappy_block(data[at + 4 : at + 4 + size])
        at += 4 + size
    return bytes(plain)


def _snappy_block(block: bytes) -> bytes:
    plain_size, at = _snappy_varint(block)
    plain = bytearray()
    while at < len(block) and len(plain) <= plain_size <= MOST_BLOCK_BYTES:
        tag = block[at]
        kind = tag & 3
        if kind == 0:
            size = tag >> 2
            extra = max(0, size - 59)
            if extra:
                size = int.from_bytes(block[at + 1 : at + 1 + extra], "little")
            plain += block[at + 1 + extra : at + 2 + extra + size]
            at += 2 + extra + size
        elif kind == 1:
            _repeat(plain, (tag >> 5) << 8 | block[at + 1], (tag >> 2 & 7) + 4, plain_size)
            at += 2
        else:
            width = 2 if kind == 2 else 4
            distance = int.from_bytes(block[at + 1 : at + 1 + width], "little")
            _repeat(plain, distance, (tag >> 2) + 1, plain_size)
            at += 1 + width
    if len(plain) != plain_size:
        raise ValueError("a snappy block of another size than it says")
    return bytes(plain)


def _snappy_varint(block: bytes) -> tuple[int, int]:
    value = shift = at = 0
    while True:
        value |= (block[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not block[at - 1] & 0x80:
            return value, at
        if at == 5:
            raise ValueError("no snappy block")


def _repeat(plain: bytearray, distance: int, size: int, limit: int) -> None:
    """Append ``size`` bytes that stand ``distance`` back; the two may overlap."""
    start = len(plain) - distance
    if distance == 0 or start < 0 or len(plain) + size > limit:
        raise ValueError("a copy from outside the block")
    piece = bytes(plain[start : start + size])
    plain += (piece * (size // len(piece) + 1))[:size]


#: What plain Python can read; Spark's default is lz4.
DECOMPRESSORS: Mapping[str, Decompress] = {"lz4": _lz4, "snappy": _snappy}
