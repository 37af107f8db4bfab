"""When two files are open to the same users."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.storage.access import Access


@pytest.mark.parametrize(
    ("mine", "other", "serves"),
    [
        (Access(0, 0, 0o644), Access(0, 0, 0o644), True),
        (Access(0, 0, 0o600), Access(1000, 1000, 0o644), False),  # nobody else can read it
        (Access(0, 0, 0o644), Access(1000, 1000, 0o644), False),  # its owner could write
        (Access(0, 1000, 0o664), Access(1000, 1000, 0o664), True),  # by the group
        (Access(0, 0, 0o664), Access(1000, 1000, 0o664), False),  # another group
        (Access(0, 0, 0o666), Access(1000, 1000, 0o666), True),
        (Access(1000, 0, 0o640), Access(1000, 1000, 0o640), False),  # the group could read
        (Access(1000, 0, 0o600), Access(1000, 1000, 0o600), True),
    ],
)
def test_a_file_serves_those_whom_another_one_serves(mine, other, serves):
    assert mine.serves(other) is serves


@pytest.mark.parametrize(
    ("file", "readable"),
    [
        (Access(0, 0, 0o600), False),
        (Access(0, 0, 0o644), True),
        (Access(0, 1000, 0o640), True),
        (Access(1000, 0, 0o400), True),
        (Access(1000, 0, 0o044), False),
    ],
)
def test_who_owns_the_files_beside_it_may_read_a_file_or_not(file, readable):
    assert file.can_be_read_by(Access(1000, 1000, 0o644)) is readable


def test_it_is_told_in_words():
    assert str(Access("spark", "hadoop", 0o640)) == "owner spark, group hadoop, mode 0640"
