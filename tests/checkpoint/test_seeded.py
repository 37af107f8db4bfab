"""The beginning of a checkpoint that a seed has written is told from entries that were copied."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.seeded import seeded_batch
from tests.log_entries import commit, entry
from tests.views import view_of

SEED = {"offsets/8": entry(), "offsets/9": entry(), "commits/9": commit(0)}


@pytest.mark.parametrize("later", [(), ("offsets/10",), ("offsets/10", "commits/10")])
def test_a_seed_has_two_equal_entries_and_the_later_commit(later):
    assert seeded_batch(view_of(*later, **SEED)) == 9


@pytest.mark.parametrize(
    ("names", "contents"),
    [
        (("commits/8",), SEED),
        (("offsets/7",), SEED),
        (("offsets/.8.crc",), SEED),
        (("commits/.9.crc",), SEED),
        ((), {**SEED, "offsets/9": entry(at_ms=2)}),
        ((), {**SEED, "commits/9": commit(5)}),
        (("offsets/8",), {name: data for name, data in SEED.items() if name != "offsets/8"}),
        ((), {name: data for name, data in SEED.items() if name != "commits/9"}),
        ((), {"offsets/7": entry(), "offsets/9": entry(), "commits/9": commit(0)}),
        ((), {}),
    ],
)
def test_anything_else_is_none(names, contents):
    assert seeded_batch(view_of(*names, **contents)) is None


def test_a_query_with_state_was_not_seeded():
    assert seeded_batch(replace(view_of(**SEED), stateful=True)) is None
