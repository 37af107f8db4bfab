"""Random tears: the salvage finds the batch that brute force finds; ``make tears`` does 2,000 of them."""

from __future__ import annotations

import os

import pytest

from tests.salvage.run import Bench, check

#: Tears that are compared, and those of them whose plan is carried out and undone.
COUNT, CARRIED_OUT = (2_000, 2_000) if os.environ.get("CKPT_EXHAUSTIVE") else (24, 6)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


def test_it_is_the_batch_that_brute_force_finds(bench, tmp_path):
    outcomes = [check(bench, tmp_path / str(seed), seed, carries_out=seed < CARRIED_OUT) for seed in range(COUNT)]
    assert [problem for _, problem in outcomes if problem] == []
    assert len({outcome for outcome, _ in outcomes}) > 1, "not all of them are the same"
