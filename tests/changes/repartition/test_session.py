"""The confs of the Spark that repartitions: those of the checkpoint, whatever the user says."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repartition.session import request_of, session_confs, what_helps
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.state.reads import STATE_FORMAT
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store

PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def view_of(checkpoint):
    return observe(Store.open(str(checkpoint)), deep=True)


@pytest.mark.parametrize(("name", "state_format"), [("agg-rocksdb", "1"), ("agg-rocksdb-v2", "2")])
def test_the_format_of_the_state_is_that_of_the_newest_commit(golden, name, state_format):
    assert session_confs(view_of(golden(name)), 7, {})[STATE_FORMAT] == state_format


def test_every_conf_of_the_log_is_set_but_the_number_of_partitions(golden):
    view = view_of(golden("agg-rocksdb"))
    logged = dict(view.offset_seq(7).metadata.conf)
    del logged["spark.sql.shuffle.partitions"]
    assert logged.items() <= session_confs(view, 7, {"spark.driver.memory": "1g"}).items()


def test_what_a_user_adds_is_kept(golden):
    assert session_confs(view_of(golden("agg-rocksdb")), 7, {"spark.master": "yarn"})["spark.master"] == "yarn"


@pytest.mark.parametrize(
    ("confs", "said"),
    [
        ({STATE_FORMAT: "2"}, "not what the checkpoint was written with"),
        ({PROVIDER: "x.HDFSBackedStateStoreProvider"}, "not what the checkpoint was written with"),
        ({"spark.sql.adaptive.enabled": "true"}, "runs with spark.sql.adaptive.enabled = false"),
        ({"spark.speculation": "true"}, "runs with spark.speculation = false, and not with true"),
        ({"spark.remote": "sc://host"}, "Spark Connect"),
        ({"spark.api.mode": "connect"}, "Spark Connect"),
    ],
)
def test_what_would_poison_the_checkpoint_is_refused(golden, confs, said):
    with pytest.raises(PlanError, match=said):
        session_confs(view_of(golden("agg-rocksdb")), 7, confs)


def test_the_same_value_again_is_fine(golden):
    assert session_confs(view_of(golden("agg-rocksdb")), 7, {STATE_FORMAT: "1"})[STATE_FORMAT] == "1"


def test_a_location_in_the_way_of_hive_is_fine(golden, tmp_path):
    checkpoint = golden("agg-rocksdb").rename(tmp_path / "env=prod,team=a+b")
    assert request_of(view_of(checkpoint), 7, 5, {})["location"] == f"file:{checkpoint}"


@pytest.mark.parametrize("name", ["with a blank", "50%", "größe", "a#b", "a?b"])
def test_a_location_that_spark_cannot_open_is_refused(golden, tmp_path, name):
    checkpoint = golden("agg-rocksdb").rename(tmp_path / name)
    with pytest.raises(PlanError, match="signs in it"):
        request_of(view_of(checkpoint), 7, 5, {})


@pytest.mark.parametrize(
    ("said", "helps"),
    [
        ("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", True),
        ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "gs"', True),
        ("Spark sees batch 5 as the newest, and not batch 4", False),
    ],
)
def test_a_spark_without_a_driver_of_the_storage_is_told_what_it_needs(said, helps):
    assert ("spark.jars.packages=" in what_helps(said)) == helps
