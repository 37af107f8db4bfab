"""Under which name a temporary file belongs, by its own name alone."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.salvage.temporary import checksum_of, target_of, temporaries

UUID = "3f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
TARGETS = {
    f"offsets/.7.{UUID}.tmp": "offsets/7",
    f".metadata.{UUID}.tmp": "metadata",
    f"state/0/1/.8.delta.{UUID}.TID9.tmp": "state/0/1/8.delta",
    f"state/0/1/left/.8_{UUID}.zip.{UUID}.TID9.tmp": f"state/0/1/left/8_{UUID}.zip",
    f"sources/0/.9.compact.{UUID}.tmp": "sources/0/9.compact",
    f"offsets/..7.{UUID}.tmp.crc": None,
    f"offsets/..7.crc.{UUID}.tmp": None,
    f"offsets/.notes.{UUID}.tmp": None,
    f"7.{UUID}.tmp": None,
    "offsets/.7.tmp": None,
    "state/0/1/8.delta": None,
}


@pytest.mark.parametrize(("name", "target"), TARGETS.items())
def test_the_name_that_it_would_have_got(name, target):
    assert target_of(name) == target


def test_several_may_be_of_one_name():
    names = [f"offsets/.7.{UUID}.tmp", f"offsets/.7.{UUID.replace('3', '4')}.tmp", "offsets/7"]
    assert temporaries(names) == {"offsets/7": names[:2]}


def test_the_checksum_file_is_beside():
    assert (checksum_of("offsets/7"), checksum_of("metadata")) == ("offsets/.7.crc", ".metadata.crc")
