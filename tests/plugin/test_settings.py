"""The section [ckpt] of Airflow's configuration."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.get_provider_info import OPTIONS
from airflow_provider_ckpt.plugin.settings import SECTION, Settings, read_settings
from airflow_provider_ckpt.storage.roots import Root
from tests.package import PACKAGE


def test_nothing_is_configured_by_default():
    assert read_settings() == Settings()


def test_every_option_is_described_and_read(configure):
    assert SECTION == "ckpt"
    configure(
        roots="s3://lake/checkpoints conn=lake,\n/data/checkpoints",
        index="s3://lake/ckpt/index.json conn=lake",
        backup_roots="/data/backups",
        rollback_dag="checkpoint_rollback",
        reset_dag=" ",
        data_roots="/data/tables",
        brokers="a:9092, b:9092\nconn=kafka",
    )
    settings = read_settings()
    assert list(settings.roots) == [Root("s3://lake/checkpoints", "lake"), Root("/data/checkpoints")]
    assert (settings.index, settings.index_conn_id) == ("s3://lake/ckpt/index.json", "lake")
    assert list(settings.backup_roots) == [Root("/data/backups")]
    assert (settings.rollback_dag, settings.reset_dag) == ("checkpoint_rollback", None)
    assert list(settings.data_roots) == [Root("/data/tables")]
    assert settings.brokers == {"a:9092", "b:9092", "conn=kafka"}
    known = {"file", "roots", "index", "backup_roots", "rollback_dag", "reset_dag", "data_roots", "brokers"}
    assert known == OPTIONS.keys()


def test_the_index_is_a_directory_in_its_description_as_in_the_docs():
    """``ckpt fleet --index`` takes a directory."""
    described, example = OPTIONS["index"]
    assert described.startswith("Directory ")
    assert f"index = {example}\n" in (PACKAGE.parent / "docs" / "how-to" / "airflow-pages.md").read_text()


@pytest.mark.parametrize("option", ["roots", "backup_roots", "data_roots"])
def test_a_root_that_makes_no_sense_is_no_empty_page(configure, option):
    configure(**{option: "checkpoints"})
    with pytest.raises(
        CheckpointError, match=f"the option {option} of the section .* 'checkpoints' is no root: give an"
    ):
        read_settings()
