"""Each task has its buttons: one for its checkpoint, or one for each of a list."""

from __future__ import annotations

import inspect

import pytest
from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ckpt.lineage.page_link import MOST, CheckpointLink, CheckpointsLink, links_of
from airflow_provider_ckpt.operators import checkpoint as operators
from airflow_provider_ckpt.sensors import checkpoint as sensors
from airflow_provider_ckpt.sensors.checkpoint import CheckpointLagSensor

pytestmark = pytest.mark.airflow

TASKS = [getattr(module, name) for module in (operators, sensors) for name in module.__all__]


class OfTwo:
    """A task that looks after two checkpoints."""

    def linked_checkpoints(self):
        return ["s3://lake/orders", "s3://key:topsecret@lake/or ders&at=x"]


@pytest.mark.parametrize("task", [kind for kind in TASKS if inspect.isclass(kind) and issubclass(kind, BaseOperator)])
def test_every_operator_and_sensor_has_a_link(task):
    [link] = task.operator_extra_links
    names = ("CheckpointPruneOperator", "CheckpointIndexOperator", "CheckpointQueriesOperator")
    of_many = task.__name__ in names
    expected = CheckpointsLink if of_many else CheckpointLink
    assert isinstance(link, expected)
    assert task.does and not task.has_done.endswith((".", ":"))


def test_the_links_of_several_have_names_and_keys_of_their_own():
    links = links_of(["a", "b", "c"])
    assert [link.name for link in links] == ["Checkpoint", "Checkpoint 2", "Checkpoint 3"]
    assert len({link.xcom_key for link in links}) == 3
    assert len(links_of(["a"] * 1000)) == MOST and len(links_of("{{ params.all }}")) == len(links_of([])) == 1


def test_a_link_is_relative_quoted_and_without_secrets():
    assert [CheckpointLink(number).get_link(OfTwo(), ti_key=None) for number in range(3)] == [
        "plugin/checkpoints?at=s3%3A%2F%2Flake%2Forders",
        "plugin/checkpoints?at=s3%3A%2F%2Fkey%40lake%2For%20ders%26at%3Dx",
        "",
    ]
    assert CheckpointsLink().get_link(None, ti_key=None) == "plugin/checkpoints"


def test_a_list_in_the_dag_has_a_link_for_each():
    sensor = CheckpointLagSensor(task_id="t", checkpoint=["/a", "/b"], sources={"0": "file:/in"}, most=0)
    assert [link.get_link(sensor, ti_key=None) for link in sensor.operator_extra_links] == [
        "plugin/checkpoints?at=%2Fa",
        "plugin/checkpoints?at=%2Fb",
    ]
    assert len(CheckpointLagSensor.operator_extra_links) == 1
