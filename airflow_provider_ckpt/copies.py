"""Copies inside one storage that are cheaper than reading here and writing there."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 20
#: What S3 copies by one request; of larger objects it has no SHA-256 of the whole.
S3_COPY_BYTES = 5 << 30


class _OfThread(threading.local):
    """What each thread copies with: a buffer and a random name for each file would cost more than the copy."""

    def __init__(self) -> None:
        self.buffer = memoryview(bytearray(CHUNK_BYTES))
        self.suffix = f"{uuid.uuid4()}.tmp"


_of_thread = _OfThread()


def copy_file(source: str, target: str) -> tuple[int, str]:
    """Copy a local file to a name that is free; the copy appears whole. Size and SHA-256, taken while copying."""
    directory, _, name = target.rpartition("/")
    temporary = f"{directory}/.{name}.{_of_thread.suffix}"
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        writing = _create(temporary, directory)
        try:
            try:
                copied = _pour(reading, writing)
            finally:
                os.close(writing)
            os.link(temporary, target)
        finally:
            os.unlink(temporary)  # noqa: PTH108  # pathlib costs a third of a small copy
    finally:
        os.close(reading)
    return copied


def _create(path: str, directory: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        Path(directory).mkdir(parents=True, exist_ok=True)
    return os.open(path, flags, 0o666)


def _pour(reading: int, writing: int) -> tuple[int, str]:
    buffer, sha256, size = _of_thread.buffer, hashlib.sha256(), 0
    while count := os.readv(reading, [buffer]):
        sha256.update(buffer[:count])
        written = 0
        while written < count:
            written += os.write(writing, buffer[written:count])
        size += count
    return size, sha256.hexdigest()


def same_s3(fs: Any, other: Any) -> bool:
    """Whether two file systems are one S3, reached in the same way."""
    return "s3" in fs.protocol and "s3" in other.protocol and fs.storage_options == other.storage_options


def copy_in_s3(fs: Any, source: str, target: str, *, is_free: bool) -> tuple[int, str] | None:
    """Let S3 copy an object to a name that is free, and tell the SHA-256 of what it wrote.

    Unless it is known to be free, that is asked first. None when S3 does not tell the hash: stores that only resemble
    S3 may not. Nothing is at the target then.
    """
    (bucket, key, _), (to_bucket, to_key, _) = fs.split_path(source), fs.split_path(target)
    size = fs.call_s3("head_object", Bucket=bucket, Key=key)["ContentLength"]
    if not is_free:
        with suppress(FileNotFoundError):
            fs.call_s3("head_object", Bucket=to_bucket, Key=to_key)
            raise FileExistsError(target)
    if size > S3_COPY_BYTES:
        return None
    place = {"Bucket": to_bucket, "Key": to_key}
    copied = fs.call_s3("copy_object", **place, CopySource={"Bucket": bucket, "Key": key}, ChecksumAlgorithm="SHA256")
    told = copied["CopyObjectResult"].get("ChecksumSHA256")
    if not told:
        fs.call_s3("delete_object", **place)
        return None
    return size, base64.b64decode(told).hex()
