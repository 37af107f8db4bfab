"""Decompressors for state changelogs that need a library: zstd."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from airflow_provider_ckpt.codec.state_file import DECOMPRESSORS, Decompress


def decompressors() -> Mapping[str, Decompress]:
    """All that can be read here, by the name of the codec in ``stateStore.compression.codec``."""
    if importlib.util.find_spec("zstandard") is None:
        return DECOMPRESSORS
    return {**DECOMPRESSORS, "zstd": _zstd}


def _zstd(data: bytes, wanted: int) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().stream_reader(data).read(wanted)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
