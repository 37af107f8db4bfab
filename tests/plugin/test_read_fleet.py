"""What the fleet page may show."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.fleet.index import FleetIndex, IndexRow
from airflow_provider_ckpt.fleet.write_index import put_index
from airflow_provider_ckpt.plugin.read_fleet import FleetReader
from airflow_provider_ckpt.plugin.settings import Settings
from airflow_provider_ckpt.storage.roots import parse_roots
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "out").symlink_to(tmp_path / "secret")
    rows = [IndexRow(str(tmp_path / name)) for name in ("roots/a", "roots/out/q", "roots-evil/q", "secret/q")]
    index = FleetIndex(
        now_ms(), now_ms(), (), (*rows, IndexRow("s3a://lake/q"), IndexRow("\ud800"), IndexRow("relative"))
    )
    put_index(Store.open(str(tmp_path / "index")), index)
    return Settings(parse_roots(f"{tmp_path}/roots, s3://lake"), str(tmp_path / "index"))


def test_rows_outside_of_the_roots_are_left_out_also_behind_links(settings, tmp_path):
    _, rows = FleetReader().read(settings)
    assert [row.location for row in rows] == [f"{tmp_path}/roots/a", "s3a://lake/q"]


def test_there_may_be_none_yet(tmp_path):
    assert FleetReader().read(Settings(index=str(tmp_path))) is None


def test_a_connection_of_the_index_that_is_missing_is_named():
    with pytest.raises(StoreError, match="s3://lake/index: the Airflow connection 'misnamed' cannot open this: "):
        FleetReader().read(Settings(index="s3://lake/index", index_conn_id="misnamed"))
