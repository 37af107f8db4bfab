"""The logs that real Spark wrote: each fits its own checkpoint, however both were copied, and no other one."""

from __future__ import annotations

import os
import shutil

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.sinks.batch_times import Fit
from airflow_provider_ckpt.sinks.read_batch_times import read_fit
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import CASES

#: A query with two partitions of state, and one without state.
ONE, OTHER = "4.3.0/agg-hdfs", "4.3.0/file-to-parquet-12"


def fit(checkpoint, output) -> Fit:
    store = Store.open(str(checkpoint / "checkpoint"))
    return read_fit(store, observe(store), Store.open(str(output / "output")), -1)


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES)
def test_what_spark_left_fits_also_where_it_was_copied(goldens, case, tmp_path):
    """Crashes, compactions, repartitions, batches without rows: of Spark 3.4 to 4.3."""
    if not (goldens[case] / "output" / "_spark_metadata").is_dir():
        return
    assert fit(goldens[case], goldens[case]) == Fit()
    copied = shutil.copytree(goldens[case], tmp_path / "copied", copy_function=shutil.copyfile)
    assert fit(copied, copied) == fit(copied, goldens[case]) == fit(goldens[case], copied) == Fit()


def test_the_log_of_another_query_does_not(goldens):
    later, earlier = sorted((ONE, OTHER), key=lambda case: -(goldens[case] / "checkpoint/commits/5").stat().st_mtime)
    assert fit(goldens[earlier], goldens[later]).is_proof
    assert fit(goldens[later], goldens[earlier]).misfit and not fit(goldens[later], goldens[earlier]).is_proof


def test_a_compacted_log_is_known_by_its_newest_file(goldens, tmp_path):
    """Spark deletes the entries that it has compacted."""
    home = shutil.copytree(goldens[OTHER], tmp_path / "home")
    log = home / "output" / "_spark_metadata"
    for path in log.iterdir():
        if path.name.lstrip(".").partition(".")[0] != "9" or "compact" not in path.name:
            path.unlink()
    for batch in (10, 11):
        for name in (f"offsets/{batch}", f"commits/{batch}"):
            (home / "checkpoint" / name).unlink()
    assert fit(home, home) == Fit()
    assert fit(goldens["3.5.9/file-to-parquet-12"], home).misfit


@pytest.mark.parametrize("content", [b"", b"v1", b"v9\n{}", b"v1\n{"])
def test_a_log_that_cannot_be_read_says_nothing(goldens, tmp_path, content):
    home = shutil.copytree(goldens[ONE], tmp_path / "home")
    for path in (home / "output" / "_spark_metadata").iterdir():
        path.write_bytes(content)
        os.utime(path, (1, 1))
    assert fit(home, home) == Fit()
