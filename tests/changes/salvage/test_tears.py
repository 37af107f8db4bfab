"""Random tears: the salvage finds the batch that brute force finds; ``make tears`` does 2,000 of them."""

from __future__ import annotations

import os

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.run import Bench, check
from tests.changes.salvage.tears import write_all

#: Tears that are compared, and those of them whose plan is carried out and undone.
COUNT, CARRIED_OUT = (2_000, 2_000) if os.environ.get("CKPT_EXHAUSTIVE") else (24, 6)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


def test_it_is_the_batch_that_brute_force_finds(bench, tmp_path):
    outcomes = [check(bench, tmp_path / str(seed), seed, carries_out=seed < CARRIED_OUT) for seed in range(COUNT)]
    assert [problem for _, problem in outcomes if problem] == []
    assert len({outcome for outcome, _ in outcomes}) > 1, "not all of them are the same"


def test_the_first_offset_of_a_source_is_taken_from_a_backup_for_a_later_batch(bench, tmp_path):
    """The file is one byte short, and batch 6 is whole but for it; the backup is of batch 4."""
    root, batch_id, _ = bench.backup("kafka")
    home = tmp_path / "torn"
    write_all(home, bench.files("kafka"))
    (home / "sources/0/0").write_bytes((home / "sources/0/0").read_bytes()[:-1])
    plan = make_salvage(Stores(Store.open(str(home)), backups=Store.open(str(root))))
    copied = [step.name for step in plan.actions if step.do == "copy"]
    assert (batch_id, plan.batch_id, copied) == (4, 6, ["sources/0/0"])


@pytest.mark.parametrize("seed", [6027])
def test_what_a_tear_of_another_seed_has_shown(seed, bench, tmp_path):
    """A temporary file that goes with its checksum file, where a backup of the batch comes in the place of all."""
    assert check(bench, tmp_path / "torn", seed, carries_out=True) == ("saved", None)
