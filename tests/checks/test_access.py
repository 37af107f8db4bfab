"""The rule about who may read the files."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checks.access import closed_to_the_query
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.storage.access import Access
from airflow_provider_ckpt.storage.drivers import stored_object
from airflow_provider_ckpt.storage.store import Store
from tests.views import listed, view_of

SPARK, ROOT = Access(1000, 1000, 0o644), Access(0, 0, 0o600)


def view(special: dict[str, Access] | None = None, usual: Access = SPARK, **more):
    names = [f"{log}/{batch}" for log in ("offsets", "commits") for batch in range(4)]
    objects = {
        name: replace(stored, access=(special or {}).get(name, usual))
        for name, stored in listed(*names, "metadata", *(special or {})).items()
    }
    return replace(view_of(*names), objects=objects, **more)


@pytest.mark.parametrize(
    ("special", "says"),
    [
        ({}, None),
        ({"offsets/3": ROOT}, "offsets/3 (owner 0, group 0, mode 0600)"),
        ({"offsets/3": ROOT, "commits/3": ROOT}, "commits/3 (owner 0, group 0, mode 0600), offsets/3"),
        ({"offsets/3": Access(0, 0, 0o644)}, None),  # all may read it
        ({"offsets/3": Access(0, 1000, 0o640)}, None),  # the group may
        ({"offsets/3": Access(1000, 1000, 0o600)}, None),
        ({"offsets/3": Access(1000, 1000, 0o044)}, "mode 0044"),  # but its owner
        ({".offsets-note": ROOT, "notes.txt": ROOT}, None),  # nothing that Spark reads
        ({"offsets/.4.3f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10.tmp": ROOT}, None),
        ({"offsets/.3.crc": ROOT}, "offsets/.3.crc"),
        ({"sources/0/3": ROOT}, "sources/0/3"),
    ],
    ids=str,
)
def test_what_the_owner_of_most_files_may_not_read_is_named(special, says):
    found = list(closed_to_the_query(view(special)))
    assert [says in item.message for item in found] == [True] * (says is not None)


def test_root_reads_all_and_what_has_no_modes_is_not_judged():
    assert list(closed_to_the_query(view({"offsets/3": Access(1000, 1000, 0o600)}, Access(0, 0, 0o600)))) == []
    assert list(closed_to_the_query(view_of("offsets/0", "commits/0"))) == []


def test_a_directory_that_cannot_be_entered_and_an_entry_of_the_sink_log_are_named():
    seen = view(directories={"": Access(1000, 1000, 0o755), "sources": Access(0, 0, 0o700)})
    (found,) = closed_to_the_query(seen)
    assert (found.name, "sources/ (owner 0, group 0, mode 0700)" in found.message) == ("sources", True)
    entry = {name: replace(stored, access=ROOT) for name, stored in listed("_spark_metadata/3").items()}
    (found,) = closed_to_the_query(view(sink=SinkLog("/out", entry)))
    assert found.name == "_spark_metadata/3"


def test_the_files_of_a_disk_are_judged(golden):
    checkpoint = golden("file-to-parquet-5")
    for path in (checkpoint, *checkpoint.rglob("*")):
        os.chown(path, 1000, 1000)
    assert "CKPT152" not in {finding.code for finding in inspect(Store.open(str(checkpoint)))}
    os.chown(checkpoint / "sources", 0, 0)
    (checkpoint / "sources").chmod(0o700)
    for deep in (False, True):
        (found,) = [item for item in inspect(Store.open(str(checkpoint)), deep=deep) if item.code == "CKPT152"]
        assert found.name == "sources"


def test_the_gate_warns_and_names_it(golden):
    checkpoint = golden("agg-hdfs")
    for path in (checkpoint, *checkpoint.rglob("*")):
        os.chown(path, 1000, 1000)
    (checkpoint / "offsets/7").chmod(0o600)
    os.chown(checkpoint / "offsets/7", 0, 0)
    for quick in (False, True):
        _, told = forecast_restart(Store.open(str(checkpoint)), DeploySpec(), Store.open, quick=quick)
        assert told.found == "warn"
        assert [item.name for item in told.findings if item.code == "CKPT152"] == ["offsets/7"]


def test_what_hdfs_tells_of_a_file_is_used():
    told = {"name": "/ck/offsets/3", "size": 1, "owner": "etl", "group": "hadoop", "permission": "600"}
    assert stored_object("offsets/3", told).access == Access("etl", "hadoop", 0o600)
    assert stored_object("offsets/3", {**told, "permission": "rw-"}).access is None
    special = {"offsets/3": Access("airflow", "hadoop", 0o600)}
    (found,) = closed_to_the_query(view(special, Access("spark", "hadoop", 0o644)))
    assert "offsets/3 (owner airflow, group hadoop, mode 0600)" in found.message
