"""Schemas and operator metadata that a restart reads, and what Spark would stop at in them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from airflow_provider_ckpt.checkpoint.operator_files import (
    OTHER_PLACE,
    OTHER_STORE,
    operator_files,
    operator_metadata,
    store_names,
)
from airflow_provider_ckpt.storage.requests import drive
from tests.views import operator_file, schema_file, view_of

SCHEMA = "state/0/0/_metadata/schema"
LEFT = "state/0/0/left-keyToNumValues/_metadata/schema"
RIGHT = "state/0/0/right-keyWithIndexToValue/_metadata/schema"
V1, V2_0, V2_9 = "state/0/_metadata/metadata", "state/0/_metadata/v2/0", "state/0/_metadata/v2/9"
NAMED = "state/0/_stateSchema/default/0_7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
#: A schema that a batch after the one that is asked for brought.
LATER = "state/0/_stateSchema/default/9_7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
COUNT, INDEX = schema_file(value=(("value", "long"),)), schema_file(key=(("k", "string"), ("index", "long")))
TRANSFORM = "transformWithStateExec"


def names(*paths: str, operator: str = TRANSFORM) -> bytes:
    """Operator metadata of version 2 that names these schemas."""
    return operator_file(operator, version=2, paths=[f"file:/lake/{path}" for path in paths])


#: The files, and what is copied and what is missing at batch 5.
CASES: dict[str, tuple[Mapping[str, bytes], set[str], list[str]]] = {
    "nothing": ({}, set(), []),
    "a schema": ({SCHEMA: schema_file()}, {SCHEMA}, []),
    "a schema that is none": (
        {SCHEMA: b"?"},
        {SCHEMA},
        [f"{SCHEMA}: not a state schema (the state schema is cut off)"],
    ),
    "operator metadata of version 1 is never read": ({V1: b"?"}, {V1}, []),
    "the schema of its store of a join": ({LEFT: COUNT, RIGHT: INDEX}, {LEFT, RIGHT}, []),
    "the schema of another state store of a join": (
        {LEFT: INDEX, RIGHT: COUNT},
        {LEFT, RIGHT},
        [f"{LEFT}: {OTHER_STORE}", f"{RIGHT}: {OTHER_STORE}"],
    ),
    "a schema that is named": ({V2_0: names(NAMED), NAMED: schema_file(3)}, {V2_0, NAMED}, []),
    "what a later batch wrote": ({V2_0: names(), V2_9: b"?", LATER: b"?"}, {V2_0}, []),
    "a schema that is named and not there": ({V2_0: names(NAMED)}, {V2_0}, [NAMED]),
    "a join starts without": ({V2_0: names(NAMED, operator="symmetricHashJoin")}, {V2_0}, []),
    "a schema at another place": ({V2_0: names("elsewhere/0_x")}, {V2_0}, [f"{V2_0}: {OTHER_PLACE}"]),
    "a schema without operator metadata": ({NAMED: schema_file(3)}, {NAMED}, ["state/0/_metadata/v2"]),
}


@pytest.mark.parametrize(("files", "copied", "missing"), CASES.values(), ids=CASES)
def test_what_a_restart_reads_beside_the_state(files, copied, missing):
    found = drive(operator_files(view_of(*files), 5), files.__getitem__)
    assert set(found.names) == copied and found.missing == missing


def test_operator_metadata_that_is_none_is_missing():
    found = drive(operator_files(view_of(V2_0), 5), lambda _: b"?")
    (problem,) = found.missing
    assert problem.startswith(f"{V2_0}: not operator metadata (")


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({}, None),
        ({V1: operator_file("a")}, "a"),
        ({V1: b"?"}, None),
        ({V1: operator_file("a"), V2_0: operator_file("b", version=2)}, "b"),
        ({V2_0: operator_file("b", version=2), V2_9: operator_file("c", version=2)}, "b"),
    ],
)
def test_an_operator_is_what_its_newest_metadata_up_to_the_batch_says(files, name):
    metadata = drive(operator_metadata(view_of(*files), 0, 5), files.__getitem__)
    assert (metadata and metadata.operator_name) == name


JOIN = {"left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue"}


@pytest.mark.parametrize(
    ("seen", "said", "stores"),
    [
        ((), None, {""}),
        (("",), "default", {""}),
        ((), "default", {""}),
        (("counts",), None, {"counts"}),
        (("left-keyToNumValues",), None, JOIN),
        ((), "right-keyToNumValues", JOIN),
        (("",), "unheard", {""}),
    ],
)
def test_the_stores_of_an_operator(seen, said, stores):
    metadata = None if said is None else json.loads(operator_file("a", store=said).partition(b"\n")[2])
    if metadata is not None:
        files = {V1: operator_file("a", store=said)}
        metadata = drive(operator_metadata(view_of(*files), 0, 5), files.__getitem__)
    assert store_names(seen, metadata) == stores
