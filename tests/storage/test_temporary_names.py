"""Which temporary files are of this package."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage.temporary_names import is_own_temporary, own_suffix
from tests.changes.salvage.damage import UUID


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        (f"offsets/.6.{own_suffix(UUID)}", True),
        (f".lock.json.{own_suffix(UUID)}", True),
        (f"offsets/.6.{UUID}.tmp", False),
        (f"offsets/6.{own_suffix(UUID)}", False),
        (f"offsets/.6.{own_suffix(UUID)}.crc", False),
    ],
)
def test_it_is_known_by_its_name(name, is_own):
    assert is_own_temporary(name) is is_own


def test_it_is_a_temporary_file_to_who_reads_checkpoints():
    assert layout.parse(f"offsets/.6.{own_suffix(UUID)}") == layout.Temporary()
