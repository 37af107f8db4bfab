"""State that is lost as a whole, a partition or a store of it, is told from state that never was."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.restart.judged import not_checked
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import ARCHIVES, unpack
from tests.oracle.mutations import mutate

SHUFFLE = "spark.sql.shuffle.partitions"


#: A golden whose operators have one partition or all of them, what is done to it, and what is said of its partitions.
PARTITIONS = {
    "an aggregation without keys has one": ("count-all-hdfs", (), {}),
    "also on RocksDB": ("count-all-rocksdb", (), {}),
    "also in format 2": ("count-all-rocksdb-v2", (), {}),
    "so has a limit": ("limit", (), {}),
    "beside an operator that has all": ("count-then-limit", (), {}),
    "whatever number the log says": ("count-all-hdfs", (f"conf offsets/{{N}} {SHUFFLE} '\"7\"'",), {}),
    "the name is enough": ("limit", ("drop state/0/0/_metadata",), {}),
    "the schema is enough": ("count-all-hdfs", ("drop state/0/_metadata",), {}),
    "the schema of a limit is enough": ("limit", ("drop state/0/_metadata",), {}),
    "neither: nobody can tell": (
        "count-all-hdfs",
        ("drop state/0/_metadata", "drop state/0/0/_metadata"),
        {"CKPT135": "state/0"},
    ),
    "ids in the commit are enough": (
        "count-all-rocksdb-v2",
        ("drop state/0/_metadata", "drop state/0/0/_metadata"),
        {},
    ),
    "the one that it has is lost": (
        "count-all-hdfs",
        ("drop state/0/0",),
        {"CKPT130": "state/0/0/1.delta", "CKPT135": "state/0"},
    ),
    "one of two is lost": ("agg-hdfs", ("drop state/0/1",), {"CKPT130": "state/0/1/1.delta"}),
    "the first of two is lost, and the schema with it": (
        "agg-hdfs",
        ("drop state/0/0",),
        {"CKPT130": "state/0/0/1.delta"},
    ),
    "one of the other operator is lost": (
        "count-then-limit",
        ("drop state/1/1",),
        {"CKPT130": "state/1/1/1.delta"},
    ),
    "one of a session window, without its schema": (
        "session-window",
        ("drop state/0/1", "drop state/0/0/_metadata"),
        {"CKPT130": "state/0/1/1.delta"},
    ),
    "one of a join with a store for everything": (
        "join-state-format-4",
        ("drop state/0/1",),
        {"CKPT130": "state/0/1/1.changelog"},
    ),
    "one of two is lost, and what would tell with it": (
        "agg-hdfs",
        ("drop state/0/1", "drop state/0/_metadata", "drop state/0/0/_metadata"),
        {"CKPT135": "state/0"},
    ),
    "one by an earlier Spark, which wrote no names": (
        "3.5.9/agg-hdfs",
        ("drop state/0/1",),
        {"CKPT130": "state/0/1/1.delta"},
    ),
}


@pytest.mark.parametrize("case", PARTITIONS)
def test_lost_partitions_are_told_from_those_that_never_were(case, tmp_path):
    golden, mutations, expected = PARTITIONS[case]
    home = unpack(ARCHIVES[golden if "/" in golden else f"4.3.0/{golden}"], tmp_path / "home")
    mutate(home / "checkpoint", mutations)
    store = Store.open(str(home / "checkpoint"))
    view = examine(store, deep=True)
    about = [(finding.code, finding.name) for finding in check(view) if finding.code.startswith("CKPT13")]
    assert {code for code, _ in about} == expected.keys()
    assert set(about) >= set(expected.items())
    told = forecast(view, DeploySpec())
    assert ("partitions of state/0" in told.unknown) == ("CKPT135" in expected)
    assert told.found == ("block" if "CKPT130" in expected else "warn" if expected else "pass")
    if "CKPT130" not in expected:
        taken = take_backup(store, Store.open(str(tmp_path / "backups")))
        assert {item.name for item in taken.objects} >= {"state/0/0/_metadata/schema"} & view.objects.keys()
        assert make_rollback(Stores(store), view.latest_committed - 1).actions


#: A store of a join that all partitions have lost; the operator metadata names it, or the other three do.
LOST_STORES = {
    "on HDFS": ("join-hdfs", "left-keyToNumValues", ()),
    "the other three tell": ("join-hdfs", "right-keyWithIndexToValue", ("drop state/0/_metadata",)),
    "on RocksDB, format 2": ("join-rocksdb-v2", "right-keyToNumValues", ()),
}


@pytest.mark.parametrize("case", LOST_STORES)
def test_a_store_that_every_partition_has_lost_is_missed(case, golden, tmp_path):
    name, lost, mutations = LOST_STORES[case]
    checkpoint = golden(name)
    mutate(checkpoint, (f"drop state/0/*/{lost}", *mutations))
    store = Store.open(str(checkpoint))
    view = examine(store, deep=True)
    errors = [finding for finding in check(view) if finding.severity == "error"]
    assert {finding.code for finding in errors} == {"CKPT130"}
    assert all(f"/{lost}/" in finding.name for finding in errors), "none that is there is named"
    assert forecast(view, DeploySpec()).decision == "block"
    with pytest.raises(BatchNotRestorableError, match=lost):
        take_backup(store, Store.open(str(tmp_path / "backups")))


@pytest.mark.parametrize(
    ("name", "mutations", "is_told"),
    [
        ("count-then-count", ("drop state/1",), False),
        ("count-then-count", (), False),
        ("join-rocksdb-v2", (), True),
        ("file-to-parquet-12", (), False),
    ],
)
def test_a_check_names_the_operators_whose_number_nothing_tells(golden, name, mutations, is_told):
    """The last operator is lost as a whole: no file is left that says so, nor of a query with none.

    Commits of format 2 name them all.
    """
    checkpoint = golden(name)
    mutate(checkpoint, mutations)
    view = examine(Store.open(str(checkpoint)), deep=True)
    assert not [finding for finding in check(view) if finding.severity == "error"]
    assert not_checked(view) == (() if is_told else ("number of operators",))
