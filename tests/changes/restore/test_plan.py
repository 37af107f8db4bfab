"""The planner of restores alone: which steps, in which order, and what the plan requires."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.change.plan.actions import Copy, Create
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.changes.restore.plan import entries_before, interval_warning, plan_restore
from airflow_provider_ckpt.sinks.effects import SinkEffect

FORK = "00000000-0000-4000-8000-000000000001"


def restored(*names: str, batch_id: int = 7, new_query_id: str | None = None, **options: object) -> Plan:
    """The plan to restore a backup that holds these objects."""
    objects = tuple(ManifestObject(name, len(name), "ab" * 32, f"b/checkpoint/{name}") for name in names)
    manifest = Manifest("b", "s3://lake/orders", "q", batch_id, 1, None, objects)
    return plan_restore(manifest, "s3://lake/backups", "s3://lake/new", 5, new_query_id, **options)


def steps_of(plan: Plan) -> list[str]:
    return [f"{action.do} {action.name}" for action in plan.actions]


STEPS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "the newest offsets first, what tells that they are valid last": (
        ("offsets/6", "offsets/7", "commits/7", "metadata", "state/0/0/8.delta"),
        ["copy offsets/7", "copy metadata", "copy state/0/0/8.delta", "copy commits/7", "copy offsets/6"],
    ),
    "a checksum file comes with its object": (
        ("offsets/6", "offsets/.6.crc", "offsets/7", "offsets/.7.crc", "commits/7", "commits/.7.crc", "metadata"),
        [
            "copy offsets/7",
            "copy offsets/.7.crc",
            "copy metadata",
            "copy commits/7",
            "copy commits/.7.crc",
            "copy offsets/6",
            "copy offsets/.6.crc",
        ],
    ),
    "what lies between keeps the order in which it was copied": (
        ("offsets/6", "offsets/7", "commits/7", "sources/0/7", "state/0/0/8.delta", "state/0/0/3.delta", "notes.txt"),
        [
            "copy offsets/7",
            "copy sources/0/7",
            "copy state/0/0/8.delta",
            "copy state/0/0/3.delta",
            "copy notes.txt",
            "copy commits/7",
            "copy offsets/6",
        ],
    ),
    "over a gap of async progress tracking the entry before it": (
        ("offsets/3", "offsets/7", "commits/7"),
        ["copy offsets/7", "copy commits/7", "copy offsets/3"],
    ),
}


@pytest.mark.parametrize(("objects", "steps"), STEPS.values(), ids=STEPS)
def test_the_steps_and_their_order(objects, steps):
    assert steps_of(restored(*objects)) == steps


def test_the_first_batch_has_none_before_it():
    plan = restored("offsets/0", "commits/0", "metadata", batch_id=0)
    assert steps_of(plan) == ["copy offsets/0", "copy metadata", "copy commits/0"]


def test_each_copy_says_where_from_and_what_it_must_be():
    (copy,) = restored("offsets/7").actions
    assert copy == Copy("offsets/7", size=9, sha256="ab" * 32, source="b/checkpoint/offsets/7")


def test_a_fork_gets_an_id_of_its_own_and_no_checksum_of_the_old_one():
    plan = restored("offsets/7", "commits/7", "metadata", ".metadata.crc", new_query_id=FORK)
    assert plan.query_id == FORK
    assert steps_of(plan) == ["copy offsets/7", "create metadata", "copy commits/7"]
    (made,) = [action for action in plan.actions if isinstance(action, Create)]
    assert json.loads(made.data) == {"id": FORK}


def test_what_is_rewritten_comes_in_its_place_without_its_checksum_file():
    rewritten = {"offsets/6": b"v1\nsix", "sources/0/7": b"v1\nseven"}
    names = ("offsets/6", "offsets/.6.crc", "offsets/7", "commits/7", "sources/0/7", "sources/0/.7.crc")
    plan = restored(*names, rewritten=rewritten)
    assert steps_of(plan) == ["copy offsets/7", "create sources/0/7", "copy commits/7", "create offsets/6"]
    assert {action.name: action.data for action in plan.actions if isinstance(action, Create)} == {
        "offsets/6": "v1\nsix",
        "sources/0/7": "v1\nseven",
    }


def test_what_the_plan_says_beside_its_steps():
    effect = SinkEffect("file:s3://lake/out", "skipped", "why")
    plan = restored("offsets/7", "commits/7", warnings=iter(["a warning"]), effects=iter([effect]))
    assert (plan.kind, plan.location, plan.source) == ("restore", "s3://lake/new", "s3://lake/backups")
    assert (plan.query_id, plan.batch_id, plan.planned_at_ms) == ("q", 7, 5)
    assert [(item.kind, item.expected) for item in plan.requirements] == [("location", "empty"), ("backup", "b")]
    assert (plan.warnings, plan.effects) == (("a warning",), (effect,))
    assert plan_from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


@pytest.mark.parametrize(
    ("batch_id", "names"),
    [
        (0, "0"),
        (4, "0 1 2 3 4"),
        (8, "0 1 2 3 4 5 6 7 8"),
        (9, "9.compact"),
        (12, "9.compact 10 11 12"),
        (1_000_000, "999999.compact 1000000"),
    ],
)
def test_the_log_of_a_sink_begins_with_what_spark_reads_before_the_next_batch(batch_id, names):
    entries = entries_before(batch_id)
    assert [entry.name.removeprefix("_spark_metadata/") for entry in entries] == names.split()
    assert {(entry.place, entry.data) for entry in entries} == {("sink", "v1")}


@pytest.mark.parametrize(("batch_id", "is_told"), [(0, True), (8, True), (9, False), (12, False)])
def test_a_log_without_a_compaction_is_of_the_default_interval_which_is_said(batch_id, is_told):
    assert any("compact" in entry.name for entry in entries_before(batch_id)) != is_told
    told = interval_warning(batch_id)
    assert (told is not None) == is_told and (told is None or f"compactInterval to {batch_id + 1} or less" in told)
