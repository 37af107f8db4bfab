"""Windows become partitions exactly once: read from the real database what a look has left there."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import airflow
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, Asset
from airflow.utils.db_cleanup import run_cleanup
from packaging.version import Version

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.checkpoint import CheckpointWindowsOperator
from airflow_provider_ckpt.times import parse_time_ms
from airflow_provider_ckpt.waiting.windows import Windows
from tests.streams import Stream

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("ignore")]  # those of Airflow's own API server
needs_partitions = pytest.mark.skipif(Version(airflow.__version__) < Version("3.3"), reason="add_partitions is of 3.3")

DAGS = Path(__file__).parent / "dags" / "windows.py"


class Story:
    """A stream, and the DAG that emits its windows, in the database of this process."""

    def __init__(self, dags: object, stream: Stream) -> None:
        self.dags, self.stream = dags, stream

    def look(self, name: str, watermark: str | None = None, **conf: str) -> dict | None:
        """Commit a batch that ran with a watermark, then run the DAG; what its task returned, None when it failed."""
        if watermark:
            self.stream.commit(watermark)
        conf = {"checkpoint": self.stream.location, **conf}
        run = self.dags.get_dag(f"windows_{name}").test(run_conf=conf, logical_date=None)
        [ti] = run.get_task_instances()
        return ti.xcom_pull(task_ids="windows") if ti.state == "success" else None

    @staticmethod
    def events(story: str) -> list[tuple[str | None, dict]]:
        """Key and extra of the asset's events, oldest first."""
        from airflow.utils.session import create_session

        with create_session() as session:
            return [(event.partition_key, event.extra) for event in Story.query(session, story)]

    @staticmethod
    def query(session: Any, story: str) -> Any:
        from airflow.models.asset import AssetEvent, AssetModel

        of_asset = session.query(AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        return of_asset.filter(AssetModel.name == f"windows_of_{story}").order_by(AssetEvent.id)

    def keys(self, story: str) -> list[str | None]:
        return sorted(key for key, _ in self.events(story))


@pytest.fixture(scope="session")
def dags(airflow_database) -> object:
    """The DAGs of the stories, in the database of the process's own AIRFLOW_HOME."""
    airflow_database(Path(os.environ["AIRFLOW_HOME"]))
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(DAGS, bundle_name="dags-folder")
    assert not bag.import_errors
    sync_bag_to_db(bag, "dags-folder", None)
    return bag


@pytest.fixture
def story(dags, tmp_path) -> Story:
    return Story(dags, Stream(tmp_path / "checkpoint"))


@needs_partitions
def test_every_hour_once_and_none_is_skipped(story):
    assert story.look("hours")["windows"] == [], "nothing is committed"
    assert story.look("hours", "2026-01-01T05:30")["windows"] == ["2026-01-01T04:00:00"], "the newest that is closed"
    assert story.look("hours", "2026-01-01T05:59")["count"] == 0
    assert story.look("hours")["count"] == 0, "a run that looks again"
    jump = story.look("hours", "2026-01-01T09:00")
    assert jump["count"] == 4 and jump["windows"][-1] == "2026-01-01T08:00:00"
    assert story.look("hours", "2026-01-01T06:00")["count"] == 0, "a watermark that goes back"
    assert story.keys("hours") == [f"2026-01-01T0{hour}:00:00" for hour in (4, 5, 6, 7, 8)], "and no other event"
    assert story.look("hours_as_days", "2026-01-05T00:00") is None, "an asset keeps its windows"
    assert len(story.events("hours")) == 5


@needs_partitions
def test_an_event_says_how_far_its_asset_has_come(story):
    story.look("days", "2026-03-30T00:00")
    [(key, extra)] = story.events("days")
    assert key == "2026-03-29T00:00:00"
    assert {name: extra[name] for name in ("window", "timezone", "batch_id", "watermark_ms", "watermark")} == {
        "window": "P1D",
        "timezone": "Europe/Berlin",
        "batch_id": 0,
        "watermark_ms": parse_time_ms("2026-03-30T00:00:00Z"),
        "watermark": "2026-03-30T00:00:00.000Z",
    }
    assert extra["text"].startswith("Windows are complete of /") and extra["link"].startswith("plugin/checkpoints?at=")


@needs_partitions
def test_the_first_run_begins_where_it_is_told_and_later_ones_where_it_ended(story):
    assert story.look("start", "2026-01-01T03:00", start="2026-01-01T00:00")["count"] == 3
    assert story.look("start", "2026-01-01T04:00", start="2026-01-01T00:00")["count"] == 1
    assert len(set(story.keys("start"))) == len(story.keys("start")) == 4
    assert story.look("start", start="tomorrow or so")["count"] == 0, "it is not asked for any more"


@needs_partitions
def test_a_watermark_far_ahead_starts_no_flood_of_runs(story):
    assert story.look("flood", "2026-01-01T00:00")["count"] == 1
    assert story.look("flood", "2026-01-02T00:00")["count"] == 24
    assert story.look("flood", "2100-01-01T00:00") is None
    assert len(story.keys("flood")) == 25


@needs_partitions
def test_runs_that_its_partitions_have_started_do_not_stand_in_the_way(story):
    """A queued run has no start, and Airflow up to 3.3.2 then cannot read the events that have started it."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    story.look("queued", "2026-01-01T05:00")
    with create_session() as session:
        [event] = story.query(session, "queued")
        event.created_dagruns.append(DagRun("windows_queued", run_id="downstream", run_type="manual", state="queued"))
    assert story.look("queued", "2026-01-01T06:00")["windows"] == ["2026-01-01T05:00:00"]


@needs_partitions
def test_when_all_events_are_purged_nothing_is_skipped(story):
    story.look("purged", "2026-01-01T05:00")
    story.look("purged", "2026-01-01T05:10")
    run_cleanup(clean_before_timestamp=datetime.now(UTC), table_names=["asset_event"], skip_archive=True, confirm=False)
    assert story.events("purged") == []
    assert story.look("purged", "2026-01-01T08:00")["count"] == 3


def test_a_length_of_no_windows_is_found_when_the_dag_is_read():
    with pytest.raises(CheckpointError, match="mixes units"):
        CheckpointWindowsOperator(task_id="windows", checkpoint="orders", asset=Asset("hours"), window="P1DT1H")


def test_airflow_before_partitions_is_an_error_that_says_so(golden):
    operator = CheckpointWindowsOperator(
        task_id="windows", checkpoint=str(golden("agg-hdfs")), asset=Asset("hours"), window="PT1H"
    )
    outlet_events = mock.MagicMock()  # of an Airflow that is not installed here
    outlet_events.__getitem__.return_value = object()
    with pytest.raises(AirflowFailException, match="needs Airflow 3.3"):
        operator.execute({"outlet_events": outlet_events})


@needs_partitions
def test_airflow_reads_the_keys_as_they_are():
    from airflow.partition_mappers.temporal import StartOfDayMapper, StartOfHourMapper

    since, until = parse_time_ms("2026-01-01"), parse_time_ms("2027-01-01")
    for hour in Windows("PT1H").closed(since, until):
        assert StartOfHourMapper().to_downstream(hour.key) == hour.key[:13]
    for day in Windows("P1D", "America/Havana").closed(since, until):
        assert StartOfDayMapper(timezone="America/Havana").to_downstream(day.key) == day.key[:10]
