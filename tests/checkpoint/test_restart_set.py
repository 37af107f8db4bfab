"""Which files a restart needs, decided over a listing: what belongs to the set, what is missing, what is repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from airflow_provider_ckpt.checkpoint.restart_set import RestartSet, require, restart_set
from airflow_provider_ckpt.checkpoint.state.chain import NO_SNAPSHOT
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.requests import drive
from tests.views import changelog_file, offset_entry, snapshot_file, view_of

#: The committed batch; a restart after it reads the state of version 8.
BATCH = 7
LOGS = ("offsets/6", "offsets/7", "commits/7", "metadata")


def deltas(first: int, last: int, partition: int = 0) -> tuple[str, ...]:
    """The changes of these versions (inclusive)."""
    return tuple(f"state/0/{partition}/{version}.delta" for version in range(first, last + 1))


@dataclass(frozen=True)
class Case:
    """What is listed beside the logs, what is not of them, and what the set is."""

    here: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    partitions: int | None = 1
    log_offset: int | None = None
    commit: bytes = b'v1\n{"nextBatchWatermarkMs":0}'
    broken: Mapping[str, str] = field(default_factory=dict)
    empty: tuple[str, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def view(self) -> CheckpointView:
        offsets = offset_entry(self.log_offset, self.partitions)
        whole = view_of(
            *LOGS, *self.here, *self.contents, **{"offsets/6": offsets, "offsets/7": offsets, "commits/7": self.commit}
        )
        objects = {name: stored for name, stored in whole.objects.items() if name not in self.without}
        objects.update({name: replace(objects[name], size=0) for name in self.empty})
        return replace(whole, objects=objects)

    @property
    def chosen(self) -> RestartSet:
        codecs = {"lz4": lambda data, wanted: data[:wanted]}  # compresses nothing
        reads = restart_set(self.view, BATCH, codecs, self.broken)
        return drive(reads, lambda name: self.contents.get(name, b"no file of Spark"))


STATELESS = {
    "the offsets of the batch and of the one before it, the commit, the id of the query": Case(needed=LOGS),
    "a checksum file comes after its object": Case(
        ("offsets/.7.crc", ".metadata.crc"),
        ("offsets/6", "offsets/7", "offsets/.7.crc", "commits/7", "metadata", ".metadata.crc"),
    ),
    "nothing of other batches": Case(("offsets/5", "commits/5", "commits/6", "offsets/8", "commits/8"), LOGS),
    "over a gap of async progress tracking the entry before it": Case(
        ("offsets/3", "commits/3"), ("offsets/3", *LOGS[1:]), without=("offsets/6",)
    ),
    "a lost entry before the batch, which was committed": Case(
        ("commits/6",), LOGS[1:], ("offsets/6",), without=("offsets/6",)
    ),
    "nothing without the offsets of the batch": Case((), (), ("offsets/7",), without=("offsets/7",)),
    "nothing without its commit": Case((), (), ("commits/7",), without=("commits/7",)),
    "nothing without the id of the query": Case((), (), ("metadata",), without=("metadata",)),
}
SOURCES = {
    "the log of a file source up to where the batch stands": Case(
        ("sources/0/0", "sources/0/1", "sources/0/2", "sources/0/3"),
        (*LOGS, "sources/0/0", "sources/0/1", "sources/0/2"),
        log_offset=2,
    ),
    "from the newest compacted entry on": Case(
        ("sources/0/0", "sources/0/1", "sources/0/2.compact", "sources/0/3"),
        (*LOGS, "sources/0/2.compact", "sources/0/3"),
        log_offset=3,
    ),
    "a later compacted entry where the earlier ones live on in it alone": Case(
        ("sources/0/5.compact", "sources/0/6"), (*LOGS, "sources/0/5.compact"), log_offset=3
    ),
    "an entry that is lost": Case(
        ("sources/0/0", "sources/0/2"), (*LOGS, "sources/0/0", "sources/0/2"), ("sources/0/1",), log_offset=2
    ),
    "all that another source keeps": Case(("sources/0/0",), (*LOGS, "sources/0/0")),
}
HDFS = {
    "every change when no version is whole": Case(deltas(1, 8), (*LOGS, *deltas(1, 8))),
    "from the newest whole version on": Case(
        (*deltas(1, 8), "state/0/0/3.snapshot", "state/0/0/6.snapshot"),
        (*LOGS, "state/0/0/6.snapshot", *deltas(7, 8)),
    ),
    "the whole version alone when it is that of the batch": Case(
        (*deltas(1, 8), "state/0/0/8.snapshot"), (*LOGS, "state/0/0/8.snapshot")
    ),
    "nothing of later versions": Case((*deltas(1, 9), "state/0/0/9.snapshot"), (*LOGS, *deltas(1, 8))),
    "a change that is lost": Case(
        (*deltas(1, 4), *deltas(6, 8)), (*LOGS, *deltas(1, 4), *deltas(6, 8)), ("state/0/0/5.delta",)
    ),
    "a lost change before a whole version does not matter": Case(
        (*deltas(7, 8), "state/0/0/6.snapshot"), (*LOGS, "state/0/0/6.snapshot", *deltas(7, 8))
    ),
    "many that are lost are two lines": Case(
        deltas(8, 8),
        (*LOGS, *deltas(8, 8)),
        ("state/0/0/1.delta", "state/0/0/2.delta: missing, as all up to state/0/0/7.delta"),
    ),
    "an older whole version makes up for a broken one": Case(
        (*deltas(1, 8), "state/0/0/3.snapshot", "state/0/0/6.snapshot"),
        (*LOGS, "state/0/0/3.snapshot", *deltas(4, 8)),
        repaired=("state/0/0/6.snapshot: cut",),
        broken={"state/0/0/6.snapshot": "cut"},
    ),
    "a broken change after a whole version: nothing older is searched": Case(
        (*deltas(7, 8), "state/0/0/6.snapshot", "state/0/0/7.snapshot"),
        (*LOGS, "state/0/0/7.snapshot", *deltas(8, 8)),
        ("state/0/0/8.delta: cut",),
        broken={"state/0/0/8.delta": "cut"},
    ),
    "an empty file is broken": Case(
        deltas(1, 8), (*LOGS, *deltas(1, 8)), ("state/0/0/4.delta: empty",), empty=("state/0/0/4.delta",)
    ),
    "what one partition has every one must have": Case(
        (*deltas(1, 8), *deltas(1, 8, partition=1)),
        (*LOGS, *deltas(1, 8), *deltas(1, 8, partition=1)),
        ("state/0/2/1.delta", "state/0/2/2.delta: missing, as all up to state/0/2/8.delta"),
        partitions=3,
    ),
    "partition 0 alone, and no file tells whether there are more": Case(
        deltas(1, 8),
        (*LOGS, *deltas(1, 8)),
        unknown=("state/0: only partition 0 has state, and no file says whether the operator has one partition or 3",),
        partitions=3,
    ),
    "an operator below another that is lost as a whole": Case(
        tuple(name.replace("state/0/", "state/1/") for name in deltas(1, 8)),
        (*LOGS, *(name.replace("state/0/", "state/1/") for name in deltas(1, 8))),
        ("state/0",),
    ),
}
IDS = b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"]]}}'
ROCKSDB = {
    "format 2: the changelog that the commit names": Case(
        ("state/0/0/8_b.changelog",), LOGS, ("state/0/0/8_a.changelog",), commit=IDS
    ),
    "format 2: a changelog that is none": Case(
        ("state/0/0/8_a.changelog",),
        LOGS,
        ("state/0/0/8_a.changelog: cannot be read",),
        commit=IDS,
    ),
    "format 2: a zip that is none": Case(
        ("state/0/0/8_a.zip", "state/0/0/SSTs/1.sst"),
        (*LOGS, "state/0/0/8_a.zip"),
        ("state/0/0/8_a.zip: cannot be read",),
        commit=IDS,
    ),
    "a table of another size": Case(
        ("state/0/0/SSTs/1.sst",),
        (*LOGS, "state/0/0/8.zip", "state/0/0/SSTs/1.sst"),
        ("state/0/0/SSTs/1.sst: 20 bytes, and the snapshot says 21",),
        contents={"state/0/0/8.zip": snapshot_file(**{"1": 21})},
    ),
}
TABLE = "state/0/0/SSTs/1.sst"
SNAPSHOT = snapshot_file(**{"1": len(TABLE)})  # a listing here has sizes as long as the names
FAMILIES = "state/0/_stateSchema/default/0_id"
WHOLE_ROCKSDB = {
    "a snapshot and the tables that it names": Case(
        (TABLE, "state/0/0/SSTs/2.sst"), (*LOGS, "state/0/0/8.zip", TABLE), contents={"state/0/0/8.zip": SNAPSHOT}
    ),
    "a snapshot and the changes after it": Case(
        (TABLE, "state/0/0/7.changelog", "state/0/0/8.changelog"),
        (*LOGS, "state/0/0/6.zip", TABLE, "state/0/0/7.changelog", "state/0/0/8.changelog"),
        contents={"state/0/0/6.zip": SNAPSHOT},
    ),
    "a table that is lost": Case((), (*LOGS, "state/0/0/8.zip"), (TABLE,), contents={"state/0/0/8.zip": SNAPSHOT}),
    "a table that is broken": Case(
        (TABLE,),
        (*LOGS, "state/0/0/8.zip", TABLE),
        (f"{TABLE}: cut",),
        broken={TABLE: "cut"},
        contents={"state/0/0/8.zip": SNAPSHOT},
    ),
    "column families are in no changelog": Case(
        (FAMILIES, *(f"state/0/0/{version}.changelog" for version in range(1, 9))),
        (*LOGS, FAMILIES, *(f"state/0/0/{version}.changelog" for version in range(1, 9))),
        ("state/0/_metadata/v2", f"state/0/0/1.zip: {NO_SNAPSHOT}"),
    ),
    "format 2: the snapshot that the commit names": Case(
        (TABLE,), (*LOGS, "state/0/0/8_a.zip", TABLE), commit=IDS, contents={"state/0/0/8_a.zip": SNAPSHOT}
    ),
    "format 2: what a changelog names, from the newest snapshot of it on": Case(
        (TABLE, "state/0/0/7_c.changelog", "state/0/0/7_d.zip"),
        (*LOGS, "state/0/0/6_b.zip", TABLE, "state/0/0/7_c.changelog", "state/0/0/8_a.changelog"),
        commit=IDS,
        contents={"state/0/0/8_a.changelog": changelog_file((6, "b"), (7, "c")), "state/0/0/6_b.zip": SNAPSHOT},
    ),
    "format 2: a change that is lost": Case(
        ("state/0/0/1_b.changelog", *(f"state/0/0/{version}_c.changelog" for version in (2, 3, 4, 6, 7))),
        (
            *(*LOGS, "state/0/0/1_b.changelog", "state/0/0/8_a.changelog"),
            *(f"state/0/0/{version}_c.changelog" for version in (2, 3, 4, 6, 7)),
        ),
        ("state/0/0/5_c.changelog",),
        commit=IDS,
        contents={"state/0/0/8_a.changelog": changelog_file((1, "b"), *((version, "c") for version in range(2, 8)))},
    ),
    "format 2: a changelog makes up for the snapshot of its version": Case(
        ("state/0/0/7_c.changelog",),
        (
            *LOGS,
            *(f"state/0/0/{name}" for name in ("5_e.zip", "6_b.changelog", "6_b.zip")),
            *(f"state/0/0/{name}.changelog" for name in ("7_c", "8_a")),
        ),
        repaired=("state/0/0/6_b.zip: cut",),
        commit=IDS,
        broken={"state/0/0/6_b.zip": "cut"},
        contents={
            "state/0/0/8_a.changelog": changelog_file((6, "b"), (7, "c")),
            "state/0/0/6_b.changelog": changelog_file((5, "e")),
            "state/0/0/6_b.zip": SNAPSHOT,
            "state/0/0/5_e.zip": snapshot_file(),
        },
    ),
    "format 2: a changelog makes up for the snapshot that was to be loaded": Case(
        ("state/0/0/7_c.changelog",),
        (
            *LOGS,
            *(f"state/0/0/{name}" for name in ("6_b.zip", "7_c.changelog", "8_a.changelog", "8_a.zip")),
        ),
        repaired=("state/0/0/8_a.zip: cut",),
        commit=IDS,
        broken={"state/0/0/8_a.zip": "cut"},
        contents={
            "state/0/0/8_a.changelog": changelog_file((6, "b"), (7, "c")),
            "state/0/0/8_a.zip": SNAPSHOT,
            "state/0/0/6_b.zip": snapshot_file(),
        },
    ),
    "format 2: a snapshot that was to be loaded, and no changelog of its version": Case(
        (),
        (*LOGS, "state/0/0/8_a.zip"),
        ("state/0/0/8_a.zip: cut",),
        commit=IDS,
        broken={"state/0/0/8_a.zip": "cut"},
        contents={"state/0/0/8_a.zip": SNAPSHOT},
    ),
    "format 2: column families are in no changelog": Case(
        (FAMILIES, "state/0/0/7_c.changelog"),
        (*LOGS, FAMILIES, "state/0/0/7_c.changelog", "state/0/0/8_a.changelog"),
        (
            "state/0/_metadata/v2",
            f"state/0/0/7_c.zip: {NO_SNAPSHOT}",
            *("state/0/0/1_?.changelog", "state/0/0/2_?.changelog: missing, as all up to state/0/0/6_?.changelog"),
        ),
        commit=IDS,
        contents={"state/0/0/8_a.changelog": changelog_file((7, "c"))},
    ),
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in {**STATELESS, **SOURCES, **HDFS, **WHOLE_ROCKSDB}.items()]
)
def test_the_files_that_a_restart_needs(case):
    chosen = case.chosen
    assert sorted(chosen.names) == sorted(case.needed)
    assert (chosen.missing, chosen.repaired, chosen.unknown) == (case.missing, case.repaired, case.unknown)


@pytest.mark.parametrize("case", ROCKSDB.values(), ids=ROCKSDB)
def test_state_that_cannot_be_read_is_said_of_its_file(case):
    chosen = case.chosen
    assert chosen.names == case.needed
    assert [problem.partition(":")[0] for problem in chosen.missing] == [it.partition(":")[0] for it in case.missing]


def test_those_that_spark_purges_first_are_copied_first():
    assert Case(("sources/0/0", *deltas(1, 8)), log_offset=0).chosen.names[:4] == LOGS


def test_a_set_that_is_complete_is_given_back():
    case = Case(deltas(1, 8))
    assert require(case.chosen, case.view, "a hint") == case.chosen


def test_one_that_is_not_names_three_files_and_counts_the_rest():
    case = Case(("commits/6", *deltas(8, 8)), without=("offsets/6",), broken={"state/0/0/8.delta": "cut"})
    with pytest.raises(BatchNotRestorableError) as refused:
        require(case.chosen, case.view, "a hint")
    assert refused.value.message == (
        "batch 7 cannot be restored: offsets/6 is missing, state/0/0/8.delta is cut, state/0/0/1.delta is missing, "
        "and 1 more."
    )
    assert (refused.value.batch_id, refused.value.hint, refused.value.location) == (BATCH, "a hint", "c")
