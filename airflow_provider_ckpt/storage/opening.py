"""Why a location cannot be opened, in one sentence, and what to install or to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_provider_ckpt.errors import (
    CheckpointError,
    CheckpointNotFoundError,
    StorageOptionError,
    StoreError,
    StoreUnavailableError,
)
from airflow_provider_ckpt.untrusted.secrets import scrub, secrets_of

#: Extras of this package, by the scheme that they open.
_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}
_HDFS = (
    "hdfs:// needs pyarrow (pip install pyarrow), Java (JAVA_HOME) and Hadoop (HADOOP_HOME and CLASSPATH=$(hadoop "
    "classpath --glob)); webhdfs://HOST:PORT/PATH needs none of them."
)
_HINTS = {
    **{scheme: f"pip install 'spark-ckpt[{extra}]'" for scheme, extra in _EXTRAS.items()},
    "hdfs": _HDFS,
    "viewfs": "Give the location as hdfs://…, or webhdfs://….",
    **dict.fromkeys(("wasb", "wasbs"), "Give the location as abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH."),
    "dbfs": "Give the cloud URI behind it (s3://, abfss://, gs://), or on a Databricks cluster the path /dbfs/….",
    "s3n": "Give the location as s3://….",
}
#: ``dbfs:/x``: a scheme with one slash, which would be taken for a directory of this machine.
_ONE_SLASH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: Schemes of locations that have another name here.
_NOT_OPENED = frozenset({"viewfs", "wasb", "wasbs", "dbfs", "s3n"})
_LONGEST = 300

_NO_BUCKET = re.compile(r"(?:s3[an]?|gcs?|gs|az|adl|abfss?)://+", re.IGNORECASE)


#: Texts that are made of no value.
_NOTHING = frozenset({"none", "null", "nan", "undefined"})


def require_location(location: str) -> None:
    """Raise StoreError for a text that only resembles the name of a local directory."""
    if not location.strip():
        raise StoreError("the location is empty", hint="Give a path, or a URI such as s3://lake/checkpoints/orders.")
    if location.strip().lower() in _NOTHING or "None" in re.split(r"[/\\]", location):
        raise StoreError(
            "the location is what a template or a program makes of a value that is not there",
            location=scrub(location),
            hint="Check the variable, parameter or XCom that it comes from. Nothing was done.",
        )
    if "\0" in location:
        raise StoreError("the location has a zero byte", location=scrub(location.replace("\0", "\\0")))
    if _NO_BUCKET.fullmatch(location):
        raise StoreError(
            "the location does not have a bucket", location=location, hint="Write s3://bucket/path, for example."
        )
    scheme = _ONE_SLASH.match(location)
    if scheme and scheme[1].lower() not in ("file", "local"):
        name = scheme[1].lower()
        hint = _HINTS["dbfs"] if name == "dbfs" else f"Write {name}://…, or ./{name}:/… for a local directory."
        raise StoreError(
            f"{name}:/ is not the beginning of a URI that ckpt can open", location=scrub(location), hint=hint
        )


def other_name(location: str) -> str | None:
    """Name to write instead of a location that this package does not open under its name; None for any other."""
    scheme = (_ONE_SLASH.match(location) or _SCHEME.match(location) or ("", "file"))[1].lower()
    if scheme in _NOT_OPENED:
        return _HINTS[scheme]
    try:
        require_location(location)
    except StoreError as error:
        return error.hint or error.message
    return None


def opening_error(error: Exception, location: str, options: Mapping[str, Any]) -> CheckpointError:
    """Return our error for a driver that could not be made."""
    scheme = location.partition("://")[0].lower() if "://" in location else "file"
    said = scrub(" ".join(str(error).split())[:_LONGEST], secrets_of(location, options))
    place: dict[str, Any] = {"location": scrub(location), "hint": _HINTS.get(scheme)}
    if scheme in ("hdfs", "viewfs") and isinstance(error, ImportError | OSError):
        return StoreError(f"{scheme}:// cannot be opened here: {said.partition(' dlopen(')[0]}", **place)
    match error:
        case ImportError():
            return StoreError(said, **place)
        case ValueError():
            unknown = "not known" in said
            return StoreError(f"no fsspec driver is known for {scheme}://" if unknown else said, **place)
        case TypeError():
            return options_refused(said, place)
        case FileNotFoundError():
            return CheckpointNotFoundError(f"not found: {said}", **place)
        case PermissionError():
            return StoreError(f"permission denied: {said}", **place)
        case OSError():
            return StoreUnavailableError(f"the storage does not answer: {said}", **place)
    return StoreError(f"the driver failed: {type(error).__name__}: {said}", **place)


def options_refused(said: str, place: Mapping[str, Any]) -> StorageOptionError:
    """The error for options that a driver does not take, or lacks."""
    return StorageOptionError(
        f"the driver refuses these storage options, or needs others: {said}",
        **{**place, "hint": "Give the options of the fsspec driver with --storage-option KEY=VALUE."},
    )
