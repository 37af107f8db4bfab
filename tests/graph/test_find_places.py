"""Tables and outputs are found level by level; what is no table is passed over, what cannot be read is a sentence."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.graph.find_places import find_places
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def lake(tmp_path):
    for name in ("out/_spark_metadata/0", "a/b/deep/_spark_metadata/3", "cp/q/offsets/0", "plain/data.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("v1")
    return tmp_path


def found(root, depth: int = 5) -> tuple[dict[str, list[int]], list[str]]:
    places, problems = find_places([Store.open(str(root))], (), paths=Paths(), depth=depth, threads=2)
    return {place.location.removeprefix(f"{root}/"): sorted(place.entries_ms) for place in places}, problems


def test_outputs_are_found_at_any_level(lake):
    assert found(lake) == ({"out": [0], "a/b/deep": [3]}, [])


def test_no_deeper_than_it_is_told(lake):
    assert found(lake, depth=1)[0] == {"out": [0]}
    assert found(lake / "out", depth=0)[0] == {str(lake / "out"): [0]}


@pytest.mark.parametrize(
    "name",
    [
        "cp/q/state/0/_spark_metadata/0",  # in a checkpoint
        "out/day=1/_spark_metadata/0",  # in an output
        "plain/day=1/_spark_metadata/0",  # in a partition
        "plain/_hidden/_spark_metadata/0",
        "plain/.hidden/_spark_metadata/0",
    ],
)
def test_where_no_table_is_nothing_is_searched(lake, name):
    before = found(lake)
    path = lake / name
    path.parent.mkdir(parents=True)
    path.write_text("v1")
    assert found(lake) == before


def test_a_directory_with_metadata_of_another_kind_is_no_table(lake):
    (lake / "plain" / "metadata").mkdir()
    (lake / "plain" / "metadata" / "a.json").write_text("{}")
    assert "plain" not in found(lake)[0]


def test_a_link_is_not_followed(lake):
    (lake / "link").symlink_to(lake / "out")
    (lake / "plain" / "up").symlink_to(lake)
    assert sorted(found(lake)[0]) == ["a/b/deep", "out"]


def test_what_is_not_there_is_a_sentence(lake):
    assert found(lake / "nowhere")[1] == [f"{lake}/nowhere: the location does not exist"]


def test_a_table_that_cannot_be_read_ends_nothing(lake):
    (lake / "broken" / "_delta_log").mkdir(parents=True)
    (lake / "broken" / "_delta_log" / "00000000000000000000.json").write_text("{")
    places, problems = found(lake)
    assert sorted(places) == ["a/b/deep", "out"]
    assert len(problems) == 1 and "broken" in problems[0]
