"""What an object of S3 has beside its bytes, after each change and its undo: type, encoding, metadata and tags."""

from __future__ import annotations

import os
import uuid

import pytest

from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.cli import run
from tests.change.bucket import DECIDED, GIVEN, IN_BUCKET, PLAIN, Bucket
from tests.change.modes import UNDO, directory_with_modes, make_tree

pytestmark = pytest.mark.s3

#: Of each way to write one: put back, copied under another name, replaced. Spark itself writes a repartition.
TAKEN = IN_BUCKET if os.environ.get("CKPT_EXHAUSTIVE") else ("rollback", "sources", "reset-offsets")


@pytest.fixture
def bucket(s3_driver) -> Bucket:
    name = f"test-{uuid.uuid4()}"
    s3_driver.mkdir(name)
    return Bucket(s3_driver, name)


@pytest.fixture
def ckpt(s3_server, capsys):
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    words = [word for name, value in options.items() for word in ("--storage-option", f"{name}={value}")]

    def call(*given: str) -> None:
        assert run([*given, *words]) == 0, capsys.readouterr()

    return call


@pytest.mark.parametrize("change", TAKEN)
def test_an_object_keeps_what_it_has_beside_its_bytes(change, tmp_path, goldens, monkeypatch, bucket, ckpt):
    with directory_with_modes() as place:
        tree = make_tree(change, place, goldens, monkeypatch)
        words = bucket.fill(tree)
    before = bucket.held()
    ckpt(*words, *DECIDED.get(change, ()))
    after = bucket.held()
    assert after != before
    assert {after[name][:-1] for name in after.keys() & before.keys()} == {GIVEN}, "replaced ones as well"
    assert {after[name][:-1] for name in after.keys() - before.keys()} <= {GIVEN, PLAIN}, "a copy has what it is of"
    ckpt("undo", bucket.of(tree, str(tree.checkpoint)), *UNDO)
    assert bucket.held() == before


def test_who_writes_decides_what_a_new_object_gets(tmp_path, goldens, monkeypatch, bucket, ckpt):
    """Such as the access control list by which the account of the query may read it."""
    monkeypatch.setattr(put_fence, "SETTLE_S", 0.0)
    with directory_with_modes() as place:
        tree = make_tree("fence", place, goldens, monkeypatch)
        words = bucket.fill(tree)
    ckpt(
        *words, "--storage-option", 's3_additional_kwargs={"ContentType": "text/x", "ACL": "bucket-owner-full-control"}'
    )
    assert bucket.held()["checkpoint/offsets/8"][0] == "text/x"
