"""The version line that opens every log file (Spark's ``MetadataVersionUtil``)."""

from __future__ import annotations

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.errors import MalformedEntryError, UnsupportedVersionError


def parse_version(line: str, max_version: int, log: str, name: str) -> int:
    """Read ``v1``, ``v2``, … as ``MetadataVersionUtil.validateVersion`` does.

    Raises:
        UnsupportedVersionError: Later than ``max_version``; the message names both.
        MalformedEntryError: No version at all.
    """
    version = jvm_text.parse_int(line[1:]) if line.startswith("v") else None
    if version is None or version < 1:
        raise MalformedEntryError(
            f"the first line is not a log version but {jvm_text.abbreviate(line)}",
            name=name,
            spark_error="MALFORMED_LOG_FILE",
            hint="Spark would stop here with MALFORMED_LOG_FILE.",
        )
    if version > max_version:
        raise UnsupportedVersionError(
            f"the {log} entry has version v{version}; the latest known version is v{max_version}",
            name=name,
            hint="A later Spark wrote it; use a release of ckpt that supports that Spark.",
        )
    return version
