"""Schemes of URLs that mean the same storage: the one table of them."""

from __future__ import annotations

#: By scheme, the one that names its storage: that of OpenLineage, and the encrypted one where there is a choice.
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}


def storage_scheme(scheme: str) -> str:
    """The scheme that names a storage, such as ``s3`` for ``s3a``, in lower case; another one stays what it is."""
    lower = scheme.lower()
    return _SAME.get(lower, lower)
