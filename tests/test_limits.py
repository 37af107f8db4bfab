"""Which files are larger than anything that their name can stand for."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.limits import MIB, is_too_large

GIB = 1024 * MIB


@pytest.mark.parametrize(
    ("name", "size", "too_large"),
    [
        ("offsets/5", 4 * MIB, False),
        ("offsets/5", 10 * GIB, True),
        ("offsets/.5.crc", MIB, False),
        ("offsets/.5.crc", 10 * GIB, True),
        ("commits/.5.crc", MIB + 1, True),
        ("state/0/0/5.delta", 10 * GIB, False),
        ("state/0/0/.5.delta.crc", 80 * MIB, False),
        ("state/0/0/.5.delta.crc", 10 * GIB, True),
        ("state/0/0/5.delta.crc", 10 * GIB, True),
        ("sources/0/5", 10 * GIB, False),
        ("sources/0/.5.crc", 10 * GIB, True),
        ("metadata", 65 << 10, True),
    ],
)
def test_what_a_backup_does_not_copy(name, size, too_large):
    assert is_too_large(name, size) is too_large
