"""The two kinds of checksum files beside an object ``N``.

* ``.N.crc``, hidden, by Hadoop's ``ChecksumFs`` on local disks: a plain CRC-32 of every 512-byte chunk.
* ``N.crc``, by Spark's ``ChecksumCheckpointFileManager`` for state files: JSON with one CRC-32C of the whole file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.verbatim import Verbatim, remember
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError

BYTES_PER_CHECKSUM = 512
_MAGIC = b"crc\0"


@dataclass(frozen=True, slots=True)
class HadoopChecksum:
    """A hidden ``.N.crc`` (Hadoop ``ChecksumFs``): one CRC-32 for each chunk of ``bytes_per_checksum`` bytes."""

    checksums: tuple[int, ...]
    bytes_per_checksum: int = BYTES_PER_CHECKSUM

    @classmethod
    def of(cls, data: bytes) -> HadoopChecksum:
        """The checksum file that Hadoop would write beside these bytes."""
        chunks = range(0, len(data), BYTES_PER_CHECKSUM)
        return cls(tuple(zlib.crc32(data[at : at + BYTES_PER_CHECKSUM]) for at in chunks))

    def fits_size(self, size: int) -> bool:
        """True if a file of this size has this number of checksums."""
        return len(self.checksums) == -(-size // self.bytes_per_checksum)

    def matches_chunks(self, chunks: Iterable[bytes]) -> bool:
        """As :meth:`matches`, of bytes that come in pieces."""
        step, at, rest = self.bytes_per_checksum, 0, b""
        for piece in chunks:
            data = rest + piece
            whole = len(data) // step * step
            sums = tuple(zlib.crc32(data[start : start + step]) for start in range(0, whole, step))
            if sums != self.checksums[at : at + len(sums)]:
                return False
            at, rest = at + len(sums), data[whole:]
        return self.checksums[at:] == ((zlib.crc32(rest),) if rest else ())

    def matches(self, data: bytes) -> bool:
        """True if these bytes have the recorded checksums."""
        step = self.bytes_per_checksum
        return self.checksums == tuple(zlib.crc32(data[at : at + step]) for at in range(0, len(data), step))

    def encode(self) -> bytes:
        """The bytes that Hadoop writes."""
        count = len(self.checksums)
        return _MAGIC + struct.pack(f">I{count}I", self.bytes_per_checksum, *self.checksums)


def is_hadoop(data: bytes) -> bool:
    """True if Hadoop takes these bytes for a checksum file, which it does even if they end after the header."""
    return len(data) >= 8 and data.startswith(_MAGIC)


def decode_hadoop(data: bytes, name: str) -> HadoopChecksum:
    """Read a hidden ``.N.crc``. Raises IncompleteLogFileError when empty, MalformedEntryError otherwise."""
    if not data:
        raise IncompleteLogFileError("the checksum file is empty", name=name)
    if len(data) % 4 or not is_hadoop(data):
        raise MalformedEntryError("not a checksum file of Hadoop", name=name)
    step, *checksums = struct.unpack(f">{len(data) // 4 - 1}I", data[4:])
    if not step:
        raise MalformedEntryError("the checksum file says that a chunk has 0 bytes", name=name)
    return HadoopChecksum(tuple(checksums), step)


@dataclass(frozen=True, slots=True)
class SparkChecksum(Verbatim):
    """A visible ``N.crc`` (Spark's ``ChecksumFile``).

    Args:
        algorithm: Spark writes ``CRC32C``, and sums so whatever it reads here.
        value: The checksum as a signed 32 bit integer.
        main_file_size: Bytes.
        timestamp_ms: When it was written, epoch milliseconds.
        creator: Who wrote it; for people.
    """

    algorithm: str
    value: int
    main_file_size: int
    timestamp_ms: int
    creator: Any = None

    def fits_size(self, size: int) -> bool:
        """True if the file that was summed can have this size."""
        return size == self.main_file_size

    def matches_chunks(self, chunks: Iterable[bytes]) -> bool:
        """As :meth:`matches`, of bytes that come in pieces."""
        size = crc = 0
        for piece in chunks:
            crc, size = crc32c(piece, crc), size + len(piece)
        return size == self.main_file_size and crc == self.value % 2**32

    def matches(self, data: bytes) -> bool:
        """True if these bytes have the recorded checksum."""
        return self.matches_chunks([data])

    def _serialise(self) -> bytes:
        fields = {
            "algorithm": self.algorithm,
            "value": self.value,
            "mainFileSize": self.main_file_size,
            "timestampMs": self.timestamp_ms,
            "creator": self.creator,
        }
        return jvm_text.encode_utf8(jvm_text.write_json(fields))


def decode_spark(data: bytes, name: str) -> SparkChecksum:
    """Read a visible ``N.crc``. Raises IncompleteLogFileError when empty, MalformedEntryError otherwise."""
    if not data:
        raise IncompleteLogFileError("the checksum file is empty", name=name)
    value = jvm_text.read_json_object(jvm_text.decode_utf8(data, name), name, "checksum file")
    fields = jvm_text.Fields(value, name, "checksum file")
    checksum = SparkChecksum(
        fields.text("algorithm"),
        fields.long("value"),
        fields.long("mainFileSize"),
        fields.long("timestampMs"),
        value.get("creator"),
    )
    return remember(checksum, data)


def crc32c(data: bytes, before: int = 0) -> int:
    """CRC-32C (Castagnoli) as an unsigned integer, continued from the CRC of the bytes before."""
    import google_crc32c  # needed for state files alone, so that the logs can be read without it

    return int(google_crc32c.extend(before, data))
