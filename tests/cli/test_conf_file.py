"""``--conf-file``: one file and one name in each command that takes one."""

from __future__ import annotations

import click
import pytest

from airflow_provider_ckpt.cli.positions.source_options import read_conf_file
from airflow_provider_ckpt.query.deploy import DeploySpec


def test_a_file_declares_one_query_or_many(tmp_path):
    file = tmp_path / "deploy.yaml"
    file.write_text("sources: [Kafka]\ncheckpoints: {orders: {sources: [delta]}}")
    deploys = read_conf_file(file)
    types = [deploys.of(place).sources[0].type for place in ("/c/orders", "/c/other")]
    assert types == ["delta", "kafka"]


def test_no_file_declares_nothing():
    assert read_conf_file(None).of("/c/orders") == DeploySpec()


def test_a_file_that_makes_no_sense_is_named(tmp_path):
    (tmp_path / "deploy.yaml").write_text("source: kafka")
    with pytest.raises(click.BadParameter, match="deploy.yaml: unknown key 'source'"):
        read_conf_file(tmp_path / "deploy.yaml")
