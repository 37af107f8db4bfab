"""What a backup keeps beside the restart set, what it leaves out and why, and what no plan ever removes."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.changes.rollback.exchange_plan import plan_exchange
from airflow_provider_ckpt.changes.rollback.plan import plan_rollback
from airflow_provider_ckpt.checkpoint.contents import contents, main_object, unknown_names
from airflow_provider_ckpt.checkpoint.restart_set import restart_set
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.backup_lab import files

CASES = ["agg-hdfs", "agg-rocksdb-changelog-v2", "file-to-parquet-12", "rate"]
UNKNOWN = [
    "_schema_log_abc/0",
    "_schema_log_abc/.0.crc",
    "_schemas/x/y.json",
    "_schemas/notes.tmp",
    "notes.txt",
    "offsets/notes.txt",
    "offsets/6.tmp",
    "commits/sub/6",
    "sources/0/rocksdb/000004.sst",
    "sources/0/notes",
    "sources/0/007",
    "sources/9/0",
    "sources/x",
    "state/0/0/foo",
    "state/0/0/SSTs/foo",
    "state/00/0/1.delta",
    "state/notes",
    "state/0/_metadata/v2/04",
    "_spark_metadata/3",
    "a b/100% ü\\x…",
    ".hidden",
]
LEFT_OUT = {
    "offsets/99": "of a later batch",
    "commits/99": "of a later batch",
    "commits/.99.crc": "checksum file of a file that is left out",
    "offsets/.99.0b1f3a9c.tmp": "temporary",
    "offsets/07": "misspelt entry",
    "state/0/0/99.delta": "of a later batch",
    "state/0/0/1_other.zip": "older than needed",
    "state/0/0/SSTs/000001-x.sst": "older than needed",
    "state/0/_metadata/v2/99": "of a later batch",
}


@cache
def golden_files(path) -> dict[str, bytes]:
    return files(path)


def view_of(data: dict[str, bytes], more: list[str] = ()) -> CheckpointView:
    objects = {name: StoredObject(name, len(data.get(name, b"x")), 1, name) for name in [*data, *more]}
    readable = [name for name in data if name.split("/")[0] in ("offsets", "commits", "metadata") and "crc" not in name]
    entries = {name: codec.decode(name, data[name]) for name in readable}
    return CheckpointView("there", 1, objects, entries, complete=True)


def chosen_of(view: CheckpointView, data: dict[str, bytes], batch_id: int):
    return drive(restart_set(view, batch_id, decompressors()), lambda name: data.get(name, b"x"))


@pytest.mark.parametrize("case", CASES)
def test_what_is_unknown_is_kept_and_what_is_left_out_has_a_reason(goldens, case):
    data = golden_files(goldens[f"4.3.0/{case}"] / "checkpoint")
    view = view_of(data, [*UNKNOWN, *LEFT_OUT])
    batch_id = max(batch for batch in view.committed if batch < 99)
    chosen = chosen_of(view, data, batch_id)
    beside = contents(view, batch_id, chosen.names)
    assert set(UNKNOWN) <= set(beside.unknown)
    assert {name: beside.left_out.get(name) for name in LEFT_OUT} == LEFT_OUT
    mains = [main_object(name) for name in beside.unknown]
    assert mains == sorted(mains), "a checksum file comes right after its object"


def test_what_another_try_of_the_batch_itself_left_is_of_no_later_batch(goldens):
    data = golden_files(goldens["4.3.0/agg-rocksdb-changelog-v2"] / "checkpoint")
    batch_id = max(view_of(data).committed)
    state = f"state/0/0/{batch_id + 1}_other.zip"
    view = view_of(data, [state])
    beside = contents(view, batch_id, chosen_of(view, data, batch_id).names)
    assert beside.left_out[state] == "older than needed"


def test_a_golden_checkpoint_holds_nothing_unknown(goldens):
    """Of every Spark version: what Spark writes is known."""
    for name, home in goldens.items():
        names = golden_files(home / "checkpoint")
        objects = {item: StoredObject(item, 1, 1, item) for item in names}
        view = CheckpointView("there", 1, objects, complete=True)
        assert unknown_names(view) == (), name


SEGMENTS = st.sampled_from(
    [
        *("offsets", "commits", "sources", "state", "metadata", "_metadata", "_stateSchema", "v2", "SSTs", "logs"),
        *("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "07", "-1", "99", "x", "7.delta", "5.snapshot", "9.zip"),
        *("6.changelog", "9.compact", "7_0b1f.zip", "000001-x.sst", ".7.crc", "7.crc", ".7.delta.crc", ".8.x.tmp"),
        *("..8.x.tmp.crc", ".7_0b1f.zip.crc.crc", "schema", "_spark_metadata", "_schemas", "7.tmp", ".hidden"),
        *("default", "4_0b1f", "ü\\", "…", "a b"),
    ]
)
NAMES = st.lists(SEGMENTS, min_size=1, max_size=5).map("/".join)


def trees(data: dict[str, bytes]) -> st.SearchStrategy[list[str]]:
    """Some random names, each no file where a directory is."""

    def fits(names: list[str]) -> list[str]:
        every = [*data, *names]
        return [
            name
            for name in dict.fromkeys(names)
            if name not in data
            and not any(other.startswith(f"{name}/") for other in every)
            and not any(name.startswith(f"{other}/") for other in every)
        ]

    return st.lists(NAMES, max_size=12).map(fits)


@pytest.mark.parametrize("case", CASES)
def test_every_object_of_any_tree_is_kept_or_left_out_for_a_reason(goldens, case):
    data = golden_files(goldens[f"4.3.0/{case}"] / "checkpoint")

    @given(trees(data), st.integers(0, 9))
    def holds(names, batch_id):
        view = view_of(data, names)
        needed = [name for name in data if batch_id % 2 or not name.startswith("state/")]
        beside = contents(view, batch_id, needed)
        assert set(needed) | set(beside.unknown) | set(beside.left_out) == view.objects.keys()
        assert not set(beside.unknown) & set(beside.left_out) and not set(needed) & beside.left_out.keys()
        assert not set(unknown_names(view)) & beside.left_out.keys()
        for name in beside.left_out:
            place = layout.parse(main_object(name))
            assert not isinstance(place, layout.Other | layout.SinkLogEntry | layout.QueryMetadataFile), name

    holds()


@pytest.mark.parametrize("case", CASES)
def test_no_plan_removes_what_is_unknown(goldens, case):
    data = golden_files(goldens[f"4.3.0/{case}"] / "checkpoint")
    known = view_of(data)

    @given(trees(data), st.sampled_from(known.committed))
    def holds(names, batch_id):
        view = view_of(data, names)
        unknown = set(unknown_names(view)) | {
            name for name in names if name.startswith("sources/") and case != "file-to-parquet-12"
        }
        chosen = chosen_of(known, data, batch_id)
        plan = plan_rollback(view, chosen, 1)
        assert not plan.deletes() & unknown
        assert any("are not changed" in warning for warning in plan.warnings) == bool(unknown_names(view))
        backup = manifest_of(data, chosen)
        try:
            exchange = plan_exchange(view, backup, "root", 1, sha256_of=lambda name: "")
        except BatchNotRestorableError:
            return
        assert not exchange.deletes() & unknown

    holds()


def manifest_of(data, chosen):
    objects = tuple(ManifestObject(name, len(data[name]), "0" * 64, f"b/{name}") for name in chosen.names)
    return Manifest("b", "there", "q", chosen.batch_id, 1, None, objects)
