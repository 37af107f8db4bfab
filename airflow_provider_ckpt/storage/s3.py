"""Features of S3 alone: copies on the server, removals of a certain object, lists and headers."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

#: What S3 copies by one request; of larger objects it has no SHA-256 of the whole.
S3_COPY_BYTES = 5 << 30
#: What an object has beside its bytes, and a write gives to another one. Encryption and storage class are left to the
#: bucket and to the options of the driver: who writes may not be allowed to choose them.
_HEADERS = ("CacheControl", "ContentDisposition", "ContentEncoding", "ContentLanguage", "ContentType", "Metadata")

#: Arguments of a write to S3, by their names there.
Headers = Mapping[str, Any]


def same_s3(fs: Any, other: Any) -> bool:
    """True if two file systems are one S3, reached in the same way."""
    return "s3" in fs.protocol and "s3" in other.protocol and fs.storage_options == other.storage_options


def copy_in_s3(fs: Any, source: str, target: str, *, is_free: bool, size: int | None = None) -> tuple[int, str] | None:
    """Let S3 copy an object to a name that is free, and tell the SHA-256 of what it wrote.

    Unless it is known to be free, that is asked first; and how large the object is, unless a listing has told. None
    when S3 does not tell the hash: stores that only resemble S3 may not. Nothing is at the target then.
    """
    (bucket, key, _), (to_bucket, to_key, _) = fs.split_path(source), fs.split_path(target)
    place, copy_source = {"Bucket": to_bucket, "Key": to_key}, {"Bucket": bucket, "Key": key}
    if size is None:
        size = int(fs.call_s3("head_object", **copy_source)["ContentLength"])
    if not is_free:
        with suppress(FileNotFoundError):
            fs.call_s3("head_object", **place)
            raise FileExistsError(target)
    if size > S3_COPY_BYTES:
        return None
    copied = fs.call_s3("copy_object", **place, CopySource=copy_source, ChecksumAlgorithm="SHA256")
    told = copied["CopyObjectResult"].get("ChecksumSHA256")
    if not told:
        fs.call_s3("delete_object", **place)
        return None
    return size, base64.b64decode(told).hex()


def headers_in_s3(fs: Any, path: str) -> Headers:
    """Headers of an object that another one can be given: content type, metadata and tags.

    Tags are asked for where S3 says that there are some; who may not read them gets none.
    """
    bucket, key, _ = fs.split_path(path)
    place = {"Bucket": bucket, "Key": key}
    told = fs.call_s3("head_object", **place)
    found = {name: told[name] for name in _HEADERS if told.get(name)}
    if told.get("TagCount"):
        with suppress(PermissionError):
            tags = fs.call_s3("get_object_tagging", **place)["TagSet"]
            found["Tagging"] = urlencode({tag["Key"]: tag["Value"] for tag in tags})
    return found


def delete_in_s3(fs: Any, path: str, etag: str) -> bool:
    """Let S3 remove an object as long as it has this ETag, or is gone; else return False.

    A store that only resembles S3 may not know the condition: it then removes what is there, or refuses the request,
    which is repeated without it. What an old botocore does not know is left out by s3fs.
    """
    bucket, key, _ = fs.split_path(path)
    place = {"Bucket": bucket, "Key": key}
    try:
        with suppress(FileNotFoundError):
            fs.call_s3("delete_object", **place, IfMatch=f'"{etag}"')
    except OSError as error:
        code = _code_of(error)
        if code in _FAILED:
            return False
        if code not in _UNKNOWN:
            raise
        fs.call_s3("delete_object", **place)
    return True


def find_at_once(fs: Any, path: str, see: Callable[[Iterable[Mapping[str, Any]]], object]) -> None:
    """Show all that is below a prefix, by as few requests as its driver can: of S3 a page at a time.

    What the driver of another storage lists is in memory as a whole, some 2 KB for each object.
    """
    if "s3" not in fs.protocol or not hasattr(fs, "_iterdir"):
        see(fs.find(path, detail=True).values())
        return
    from fsspec.asyn import sync

    bucket, key, _ = fs.split_path(path)
    sync(fs.loop, _see_pages, fs, bucket, f"{key}/" if key else "", see)


async def _see_pages(fs: Any, bucket: str, prefix: str, see: Callable[[Iterable[Mapping[str, Any]]], object]) -> None:
    from botocore.exceptions import ClientError
    from s3fs.errors import translate_boto_error  # type: ignore[import-untyped]  # it has no types

    page: list[Mapping[str, Any]] = []
    try:
        async for info in fs._iterdir(bucket, delimiter="", prefix=prefix):  # noqa: SLF001  # all else of it lists the whole
            page.append(info)
            if len(page) == _PAGE:
                see(page)
                page = []
    except ClientError as error:
        raise translate_boto_error(error) from error
    see(page)


_PAGE = 1_000
_FAILED = {"PreconditionFailed", "412"}
_UNKNOWN = {"NotImplemented", "501"}


def _code_of(error: OSError) -> str:
    response = getattr(error.__cause__, "response", None) or {}
    return str(response.get("Error", {}).get("Code"))
