"""The hook opens storage with another connection: as truthful and as cheap as a store that is opened by its URL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.hooks import checkpoint
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.storage.store import Store

pytestmark = [pytest.mark.airflow, pytest.mark.s3]


@pytest.fixture
def hook(s3_server, s3_store, monkeypatch) -> CheckpointHook:
    """A hook whose storage is opened as Airflow's Amazon provider does it: with a new session each time."""
    import s3fs
    from aiobotocore.session import AioSession

    def get_fs(scheme: str, conn_id: str, options: object) -> s3fs.S3FileSystem:
        assert (scheme, conn_id, options) == ("s3", "aws_lake", None)
        session = AioSession()
        session.set_credentials("test", "test")
        return s3fs.S3FileSystem(session=session, config_kwargs={}, endpoint_url=s3_server, anon=False)

    monkeypatch.setattr(checkpoint, "get_fs", get_fs)
    monkeypatch.setattr(checkpoint, "has_fs", lambda scheme: scheme == "s3")
    bucket = s3_store("lake").root.partition("/")[0]
    lake = {"conn_type": "checkpoint", "host": f"s3://{bucket}/lake", "extra": {"storage_conn_id": "aws_lake"}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(lake))
    return CheckpointHook("lake")


def test_each_call_is_one_request_and_no_listing_is_remembered(hook, s3_requests):
    store, other = hook.store("orders"), hook.store("orders")
    store.create("commits/0", b"v1")
    for operation, expected in (
        (lambda: store.read("commits/0"), {"GetObject": 1}),
        (lambda: store.ls("commits"), {"ListObjectsV2": 1}),
        (lambda: other.ls("commits"), {"ListObjectsV2": 1}),
    ):
        with s3_requests(store) as counted:
            operation()
        assert dict(counted) == expected


def test_a_backup_from_one_location_to_another_is_copied_by_s3(hook, s3_requests, goldens):
    golden: Path = goldens["4.3.0/agg-hdfs"] / "checkpoint"
    orders, root = hook.store("orders"), hook.store("backups")
    for path in golden.rglob("*"):
        if path.is_file():
            orders.create(path.relative_to(golden).as_posix(), path.read_bytes())
    with s3_requests(orders) as counted:
        taken = take_backup(orders, root)
    assert counted["CopyObject"] == len(taken.objects)
    assert counted["GetObject"] <= len(taken.objects), "what was copied is read once, to be judged"
    with s3_requests(orders) as counted:
        again = take_backup(orders, root)
    assert counted["GetObject"] <= 16, "what is referred to was judged when it was copied"
    for backup in (taken, again):
        verify_backup(root, backup)


def test_locations_of_one_connection_share_a_file_system(hook):
    assert isinstance(hook.store("orders"), Store)
    assert hook.store("orders").fs is hook.store("backups").fs is hook.store("s3://elsewhere/x").fs
