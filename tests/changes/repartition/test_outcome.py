"""What a repartition has to leave behind: a real one is right, and each of these changes of it is told."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_ckpt.changes.repartition.outcome import problem_after
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repartition.forged_spark import BATCH, KEPT, PARTITIONS


@pytest.fixture
def after(case):
    """The checkpoint right after the repartition."""
    for name, data in case.batch.items():
        (case.checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
        (case.checkpoint / name).write_bytes(data)
    return case.checkpoint


def problem(checkpoint, partitions=PARTITIONS):
    return problem_after(examine(Store.open(str(checkpoint)), deep=True), BATCH, partitions)


def rewrite(name, old, new):
    def change(checkpoint):
        path = checkpoint / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    return change


WRONG = {
    "not committed": (lambda root: (root / "commits/5").unlink(), "should be the newest in both logs"),
    "a later batch": (lambda root: shutil.copy(root / "offsets/5", root / "offsets/6"), "should be the newest"),
    "other offsets": (rewrite("offsets/5", '"logOffset":', '"logOffset":1'), "other offsets of the sources"),
    "another conf": (rewrite("offsets/5", '"lz4"', '"zstd"'), "other confs"),
    "a partition without state": (lambda root: shutil.rmtree(root / "state/0/3"), "CKPT"),
}


def test_a_real_one_is_right(after):
    assert problem(after) is None


def test_another_number_than_was_asked_for_is_told(after):
    assert problem(after, 5) == f"offsets/{BATCH} says {PARTITIONS} partitions"


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told(after, what):
    change, said = WRONG[what]
    change(after)
    assert said in (problem(after) or "")
    assert KEPT + 1 == BATCH
