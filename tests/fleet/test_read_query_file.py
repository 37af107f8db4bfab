"""A query file is read from a disk or a store."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError
from airflow_provider_ckpt.fleet.read_query_file import read_deploy, read_query_file
from airflow_provider_ckpt.storage.store import Store
from tests.query.query_files import WHOLE


def test_it_is_read_from_a_path_and_from_a_url(tmp_path):
    (tmp_path / "queries.yaml").write_text(WHOLE)
    assert set(read_query_file(f"{tmp_path}/queries.yaml").queries) == {"orders", "totals"}
    Store.open("memory://etc").write("ckpt.yaml", WHOLE.encode())
    assert read_query_file("memory://etc/ckpt.yaml").place == "memory://etc/ckpt.yaml"


def test_confs_of_a_query_win_over_those_of_its_file(tmp_path):
    (tmp_path / "spark.conf").write_text("spark.a 1\nspark.b 2\n")
    (tmp_path / "ckpt.yaml").write_text(
        "format_version: 1\nqueries: {a: {checkpoint: c, confs: {spark.a: 3}, confs_file: spark.conf}, b: {checkpoint: d}}"
    )
    queries = read_query_file(f"{tmp_path}/ckpt.yaml").queries
    assert read_deploy(queries["a"]).confs == {"spark.a": "3", "spark.b": "2"}
    assert read_deploy(queries["b"]) is queries["b"].deploy
    (tmp_path / "spark.conf").write_text("[a]")
    with pytest.raises(ValueError, match="spark.conf: '.a.' is not a line"):
        read_deploy(queries["a"])


def test_one_that_is_too_large_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.fleet.read_query_file.MOST_BYTES", 10)
    (tmp_path / "ckpt.yaml").write_text("format_version: 1")
    with pytest.raises(StoreError, match="too large"):
        read_query_file(f"{tmp_path}/ckpt.yaml")


def test_one_that_is_missing_or_no_text_is_told(tmp_path):
    with pytest.raises(CheckpointNotFoundError):
        read_query_file(f"{tmp_path}/ckpt.yaml")
    (tmp_path / "ckpt.yaml").write_bytes(b"a: 1\nb: \xff")
    with pytest.raises(ValueError, match="line 2 is not a text in UTF-8: invalid start byte"):
        read_query_file(f"{tmp_path}/ckpt.yaml")
