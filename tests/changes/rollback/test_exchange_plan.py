"""The planner of rollbacks to a backup alone: what gives way, what comes, in which order, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.change.plan.actions import Copy
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.changes.rollback.exchange_plan import EXCHANGE_WARNING, plan_exchange, require_left_behind
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import BatchNotRestorableError
from tests.views import offset_entry, sink_of, view_of

#: The batch of the backup.
BATCH = 7
SHA256_OF = {"offsets/5": "cd" * 32, "offsets/.5.crc": "ef" * 32}.__getitem__
BACKUP = ("offsets/6", "offsets/7", "commits/7", "metadata", "sources/0/7", "state/0/0/7.delta", "state/0/0/8.delta")


def manifest(*names: str, batch_id: int = BATCH) -> Manifest:
    objects = tuple(ManifestObject(name, len(name), "ab" * 32, f"b/checkpoint/{name}") for name in names)
    return Manifest("b", "c", "q", batch_id, 1, None, objects)


def checkpoint(*names: str, batch_id: int = BATCH) -> CheckpointView:
    """A checkpoint of these files; the offsets of the batch are read, from the backup where they are not here."""
    own = view_of(*names)
    read = view_of(**{f"offsets/{batch_id}": offset_entry(log_offset=batch_id)})
    return CheckpointView(own.location, 0, own.objects, {**own.entries, **read.entries}, complete=True)


def steps_of(plan: Plan) -> list[str]:
    sign = {"delete": "-", "copy": "+"}
    return [f"{sign[act.do]} {'sink: ' if act.place == 'sink' else ''}{act.name}" for act in plan.actions]


@dataclass(frozen=True)
class Case:
    """What the checkpoint has, what of the backup differs from it, and the steps."""

    here: tuple[str, ...]
    steps: list[str]
    replaced: tuple[str, ...] = ()
    backup: tuple[str, ...] = BACKUP


def without(*names: str) -> tuple[str, ...]:
    return tuple(name for name in BACKUP if name not in names)


PLANNED = {
    "nothing differs and nothing is later": Case(BACKUP, []),
    "later batches are peeled as in any rollback": Case(
        (*BACKUP, "offsets/8", "commits/8", "state/0/0/9.delta", "sources/0/8"),
        ["- commits/8", "- state/0/0/9.delta", "- offsets/8", "- sources/0/8"],
    ),
    "lost state comes": Case(without("state/0/0/7.delta"), ["+ state/0/0/7.delta"]),
    "damaged state gives way first": Case(
        BACKUP, ["- state/0/0/8.delta", "+ state/0/0/8.delta"], ("state/0/0/8.delta",)
    ),
    "a checksum file goes with its object, also one that the backup does not have": Case(
        (*BACKUP, "state/0/0/.8.delta.crc"),
        ["- state/0/0/.8.delta.crc", "- state/0/0/8.delta", "+ state/0/0/8.delta"],
        ("state/0/0/8.delta",),
    ),
    "state between the versions of the backup that it does not have goes, newest first": Case(
        (*BACKUP, "state/0/0/7.snapshot", "state/0/0/8.snapshot", "state/0/0/6.snapshot", "state/0/0/6.delta"),
        ["- state/0/0/8.snapshot", "- state/0/0/7.snapshot"],
    ),
    "a source log changes only while Spark refuses: the offsets before go first and come last": Case(
        BACKUP, ["- offsets/6", "- sources/0/7", "+ sources/0/7", "+ offsets/6"], ("sources/0/7",)
    ),
    "the metadata of the query as well": Case(
        without("metadata"), ["- offsets/6", "+ metadata", "+ offsets/6"], ("metadata",)
    ),
    "damaged offsets of the batch: the two entries before it are the fence, and the whole one comes back": Case(
        ("offsets/5", *BACKUP), ["- offsets/5", "- offsets/7", "+ offsets/7", "+ offsets/5"], ("offsets/7",)
    ),
    "damaged offsets of the batch, and state with them": Case(
        ("offsets/5", *BACKUP),
        ["- offsets/5", "- state/0/0/8.delta", "+ state/0/0/8.delta", "- offsets/7", "+ offsets/7", "+ offsets/5"],
        ("offsets/7", "state/0/0/8.delta"),
    ),
    "the checksum file of the entry that comes back comes back after it": Case(
        ("offsets/5", "offsets/.5.crc", *without("offsets/7")),
        ["- offsets/.5.crc", "- offsets/5", "+ offsets/7", "+ offsets/5", "+ offsets/.5.crc"],
    ),
    "damaged offsets of the batch, and the entry before the one before them is purged: Spark refuses as it is": Case(
        BACKUP, ["- offsets/7", "+ offsets/7"], ("offsets/7",)
    ),
    "the newest entry is lost, and none is older: nothing is removed before it comes": Case(
        without("offsets/7"), ["+ offsets/7"]
    ),
    "damaged offsets of the batch before it give way last": Case(
        BACKUP,
        ["- state/0/0/8.delta", "+ state/0/0/8.delta", "- offsets/6", "+ offsets/6"],
        ("offsets/6", "state/0/0/8.delta"),
    ),
}


@pytest.mark.parametrize("case", PLANNED.values(), ids=PLANNED)
def test_the_steps_where_the_batch_is_planned_here_or_was_the_newest(case):
    plan = plan_exchange(
        checkpoint(*case.here), manifest(*case.backup), "root", 5, replaced=case.replaced, sha256_of=SHA256_OF
    )
    assert steps_of(plan) == case.steps


PURGED = {
    "what the backup has comes, its offsets last; then later commits go, and the last offsets": Case(
        ("metadata", "offsets/9", "commits/9"),
        [
            "+ commits/7",
            "+ sources/0/7",
            "+ state/0/0/7.delta",
            "+ state/0/0/8.delta",
            "+ offsets/6",
            "+ offsets/7",
            "- commits/9",
            "- offsets/9",
        ],
    ),
    "all batches are peeled but the oldest later one": Case(
        ("metadata", "offsets/8", "commits/8", "offsets/9", "commits/9", "offsets/10"),
        [
            "- offsets/10",
            "- commits/9",
            "- offsets/9",
            "+ commits/7",
            "+ sources/0/7",
            "+ state/0/0/7.delta",
            "+ state/0/0/8.delta",
            "+ offsets/6",
            "+ offsets/7",
            "- commits/8",
            "- offsets/8",
        ],
    ),
    "state and source logs that the backup does not have go first, newest first": Case(
        (
            *("metadata", "offsets/9", "commits/9", "state/0/0/9.snapshot", "state/0/0/10.delta"),
            *("sources/0/8", "sources/0/9", "state/0/_metadata/v2/9", "state/0/_stateSchema/default/9_a"),
        ),
        [
            "- state/0/_stateSchema/default/9_a",
            "- state/0/_metadata/v2/9",
            "- state/0/0/10.delta",
            "- state/0/0/9.snapshot",
            "- sources/0/9",
            "- sources/0/8",
            "+ commits/7",
            "+ sources/0/7",
            "+ state/0/0/7.delta",
            "+ state/0/0/8.delta",
            "+ offsets/6",
            "+ offsets/7",
            "- commits/9",
            "- offsets/9",
        ],
    ),
    "what is not known stays": Case(
        (*without("offsets/6", "offsets/7"), "offsets/9", "_schemas/3", "notes.txt"),
        ["+ offsets/6", "+ offsets/7", "- offsets/9"],
    ),
}


@pytest.mark.parametrize("case", PURGED.values(), ids=PURGED)
def test_the_steps_where_the_batch_was_purged(case):
    plan = plan_exchange(
        checkpoint(*case.here), manifest(*case.backup), "root", 5, replaced=case.replaced, sha256_of=SHA256_OF
    )
    assert steps_of(plan) == case.steps


def test_the_log_of_a_file_sink_is_trimmed_before_the_last_offsets():
    view = checkpoint("metadata", "offsets/9", "commits/9", "offsets/10", "commits/10")
    plan = plan_exchange(
        view,
        manifest("offsets/6", "offsets/7", "commits/7", "metadata"),
        "root",
        5,
        (),
        sink_of(*"789"),
        sha256_of=SHA256_OF,
    )
    assert steps_of(plan) == [
        "- commits/10",
        "- offsets/10",
        "+ commits/7",
        "+ offsets/6",
        "+ offsets/7",
        "- commits/9",
        "- sink: _spark_metadata/9",
        "- sink: _spark_metadata/8",
        "- offsets/9",
    ]


def test_each_copy_says_where_from_and_the_plan_requires_the_backup():
    plan = plan_exchange(checkpoint(*without("state/0/0/8.delta")), manifest(*BACKUP), "root", 5, sha256_of=SHA256_OF)
    name = "state/0/0/8.delta"
    assert plan.actions == (Copy(name, size=len(name), sha256="ab" * 32, source=f"b/checkpoint/{name}"),)
    assert (plan.kind, plan.source, plan.batch_id) == ("rollback", "root", BATCH)
    assert [item.kind for item in plan.requirements][-1] == "backup" and plan.requirements[-1].expected == "b"
    assert plan.warnings[-1] == EXCHANGE_WARNING
    assert plan_from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_what_comes_back_is_what_went_and_says_so():
    plan = plan_exchange(
        checkpoint("offsets/5", *BACKUP), manifest(*BACKUP), "root", 5, replaced=("offsets/7",), sha256_of=SHA256_OF
    )
    assert plan.actions[-1] == Copy("offsets/5", size=len("offsets/5"), sha256="cd" * 32, source="")
    assert plan_from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


REFUSED = {
    "a source log of the first batch: no entry is before it": (
        Case(("offsets/0", "commits/0", "metadata", "sources/0/0"), [], ("sources/0/0",)),
        0,
        "sources/0/0",
    ),
    "damaged offsets of the second batch: the first one starts without any before it": (
        Case(("offsets/0", "offsets/1", "commits/1", "metadata"), [], ("offsets/1",)),
        1,
        "offsets/1",
    ),
    "a source log, and the entry before it lies over a gap": (
        Case(("offsets/3", "offsets/7", "commits/7", "metadata", "sources/0/7"), [], ("sources/0/7",)),
        7,
        "sources/0/7",
    ),
}


@pytest.mark.parametrize(("case", "batch_id", "name"), REFUSED.values(), ids=REFUSED)
def test_where_nothing_would_keep_spark_from_starting_meanwhile(case, batch_id, name):
    view = checkpoint(*case.here, batch_id=batch_id)
    with pytest.raises(BatchNotRestorableError, match="Spark could start between two steps") as refused:
        plan_exchange(
            view, manifest(*case.here, batch_id=batch_id), "root", 5, replaced=case.replaced, sha256_of=SHA256_OF
        )
    assert (refused.value.name, refused.value.batch_id) == (name, batch_id)


# --- whether the checkpoint has been there --------------------------------------------------------------------------

#: Whether the batch was purged; None where the checkpoint has not been at it, or has gone back since.
LEFT_BEHIND: dict[str, tuple[tuple[str, ...], tuple[str, ...], bool | None]] = {
    "it is planned": (("offsets/6", "offsets/7"), (), False),
    "all that is planned is later": (("offsets/9", "offsets/10"), (), True),
    "its entry is lost, and it is committed": (("offsets/6", "commits/7"), (), False),
    "its entry is lost, and a later one is planned": (("offsets/5", "offsets/6", "offsets/8"), (), False),
    "all that is planned and not of the backup is later": (("offsets/6", "offsets/8"), (), True),
    "its entry is lost, and the one before it is another": (("offsets/6", "commits/7"), ("offsets/6",), None),
    "the query has not come so far": (("offsets/4", "offsets/5"), (), None),
    "the query stands right before it": (("offsets/5", "offsets/6"), (), None),
    "nothing is planned": ((), (), None),
}


@pytest.mark.parametrize(("here", "replaced", "purged"), LEFT_BEHIND.values(), ids=LEFT_BEHIND)
def test_only_a_batch_that_was_left_behind_is_gone_back_to(here, replaced, purged):
    view, backup = view_of("metadata", *here), manifest(*BACKUP)
    if purged is not None:
        assert require_left_behind(view, backup, replaced) is purged
        return
    with pytest.raises(BatchNotRestorableError, match="is not an earlier batch that Spark has purged") as refused:
        require_left_behind(view, backup, replaced)
    assert refused.value.batch_id == BATCH
