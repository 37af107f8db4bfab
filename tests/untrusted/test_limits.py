"""How large a file may be, by what its name can stand for."""

from __future__ import annotations

import sys

import pytest

from airflow_provider_ckpt.untrusted.limits import MIB, largest

GIB = 1024 * MIB


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("offsets/5", 4 * MIB),
        ("offsets/.5.crc", MIB),
        ("commits/.5.crc", MIB),
        ("metadata", 64 << 10),
        ("sources/0/5", 4 * GIB),
        ("sources/0/9.compact", 4 * GIB),
        ("sources/0/.5.crc", GIB),
        ("state/0/0/5.zip", 16 * MIB),
        ("state/0/0/5.delta", sys.maxsize),
        ("state/0/0/SSTs/5.sst", sys.maxsize),
        ("state/0/0/.5.delta.crc", GIB),
        ("state/0/0/5.delta.crc", GIB),
    ],
)
def test_a_backup_copies_files_up_to_a_size(name, most):
    assert largest(name) == most
