"""A small text file that a program has written again in another form: what it was before.

An editor adds an empty line or a byte order mark, a transfer compresses or changes line ends, a file system fills a
file up with zero bytes. None of this changes what the file says, so it can be undone; where there is a checksum file,
the result must have that checksum.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator, Mapping

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.changes.salvage.entries import problem_of_entry
from airflow_provider_ckpt.changes.salvage.neighbours import problem_beside
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.codec.empty_lines import without_empty_lines
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.untrusted.limits import most_bytes

_GZIP = b"\x1f\x8b"
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", b"v\0": "utf-16-le", b"\0v": "utf-16-be"}
_AT_THE_END = b" \t\r\n\0\x1a"


def as_it_was(name: str, data: bytes, checksum: HadoopChecksum | None, whole: Mapping[str, Encodable]) -> str | None:
    """The text that a file had before a program changed its form; None where that is not sure, or nothing was changed.

    Args:
        name: The name of the file: of a log entry, or the query id.
        data: Its present content.
        checksum: The checksum file beside it, where there is one: of the file as it was, or as it is now.
        whole: The entries of the checkpoint that are whole, by name.
    """
    if checksum is not None and checksum.matches(data):
        checksum = None  # it was written with the new form
    for text in _forms(data, most_bytes(name)):
        before = text.encode()
        if before == data or (checksum is not None and not checksum.matches(before)):
            continue
        try:
            entry = codec.decode(name, before)
        except CheckpointFormatError:
            continue
        if problem_of_entry(entry) is None and problem_beside(name, entry, whole) is None:
            return text
    return None


def is_text_of_spark(name: str) -> bool:
    """True if a name belongs to a text file whose change of form can be undone."""
    return isinstance(layout.parse(name), layout.LogEntry | layout.QueryMetadataFile | layout.SourceLogEntry)


def _forms(data: bytes, most: int) -> Iterator[str]:
    """Yield possible original texts, the least changed first."""
    plain = _unzipped(data, most)
    try:
        text = _decoded(plain.rstrip(_AT_THE_END) if plain[:2] not in _UTF_16 else plain)
    except UnicodeDecodeError:
        return
    text = text.rstrip(_AT_THE_END.decode())
    version, newline, rest = text.replace("\r\n", "\n").replace("\r", "\n").partition("\n")
    forms = (text, f"{version}{newline}{rest}", f"{version.strip()}{newline}{rest}")
    yield from dict.fromkeys((*forms, *(plain for form in forms for plain in without_empty_lines(form))))


def _unzipped(data: bytes, most: int) -> bytes:
    if not data.startswith(_GZIP):
        return data
    reader = zlib.decompressobj(wbits=31)
    try:
        plain = reader.decompress(data, most)
    except zlib.error:
        return data
    return plain if reader.eof and not reader.unused_data else data


def _decoded(data: bytes) -> str:
    encoding = next((encoding for mark, encoding in _UTF_16.items() if data.startswith(mark)), "utf-8-sig")
    return data.decode(encoding)
