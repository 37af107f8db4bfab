"""Copies inside one storage that are cheaper than reading here and writing there."""

from __future__ import annotations

import base64
import hashlib
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 20
#: What S3 copies by one request; of larger objects it has no SHA-256 of the whole.
S3_COPY_BYTES = 5 << 30


def copy_file(source: str, target: str) -> tuple[int, str]:
    """Copy a local file to a name that is free; the copy appears whole. Size and SHA-256, taken while copying."""
    directory, _, name = target.rpartition("/")
    temporary = f"{directory}/.{name}.{uuid.uuid4()}.tmp"
    with open(source, "rb", buffering=0) as file:  # noqa: PTH123  # pathlib costs a third of a small copy
        try:
            return _fill(temporary, target, file)
        except FileNotFoundError:
            Path(directory).mkdir(parents=True, exist_ok=True)
        return _fill(temporary, target, file)


def _fill(temporary: str, target: str, source: Any) -> tuple[int, str]:
    sha256, size = hashlib.sha256(), 0
    with open(temporary, "xb") as copy:  # noqa: PTH123
        try:
            while data := source.read(CHUNK_BYTES):
                copy.write(data)
                sha256.update(data)
                size += len(data)
            copy.flush()
            os.link(temporary, target)
        finally:
            os.unlink(temporary)  # noqa: PTH108
    return size, sha256.hexdigest()


def same_s3(fs: Any, other: Any) -> bool:
    """Whether two file systems are one S3, reached in the same way."""
    return "s3" in fs.protocol and "s3" in other.protocol and fs.storage_options == other.storage_options


def copy_in_s3(fs: Any, source: str, target: str) -> tuple[int, str] | None:
    """Let S3 copy an object to a name that is free, and tell the SHA-256 of what it wrote.

    None when it does not tell: stores that only resemble S3 may not. Nothing is at the target then.
    """
    (bucket, key, _), (to_bucket, to_key, _) = fs.split_path(source), fs.split_path(target)
    size = fs.call_s3("head_object", Bucket=bucket, Key=key)["ContentLength"]
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
