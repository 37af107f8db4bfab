"""The stateful operators of checkpoints of real Spark, by what they say and by what their state shows."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.sources.find_operators import find_operators
from airflow_provider_ckpt.changes.sources.state import STATELESS, Operators
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store

KNOWN = {
    "4.3.0/two-sources": STATELESS,
    "4.3.0/agg-hdfs": Operators(1, ("stateStoreSave",)),
    "4.3.0/drop-duplicates": Operators(1, ("dedupe",)),
    "4.3.0/join-hdfs": Operators(1, ("symmetricHashJoin",), joins=True),
    "4.3.0/join-state-format-3": Operators(1, ("symmetricHashJoin",), joins=True),
    "3.5.9/agg-rocksdb": Operators(1, None),
    "3.4.4/agg-hdfs": Operators(1, None),
}


@pytest.mark.parametrize("case", KNOWN)
def test_the_operators(goldens, case):
    store = Store.open(str(goldens[case] / "checkpoint"))
    assert find_operators(store, observe(store, deep=True)) == KNOWN[case]


@pytest.mark.parametrize("case", ["join-hdfs", "join-rocksdb-v2", "join-state-format-3", "join-state-format-4"])
def test_a_join_that_does_not_say_what_it_is_is_known_by_its_state_or_may_be_one(golden, case):
    place = golden(case)
    for path in (place / "state/0/_metadata").rglob("*"):
        if path.is_file():
            path.unlink()
    store = Store.open(str(place))
    found = find_operators(store, observe(store, deep=True))
    assert (found.names, found.joins) == (None, True)


def test_an_operator_whose_metadata_is_lost_does_not_say_what_it_is(golden):
    place = golden("agg-hdfs")
    (place / "state/0/_metadata/metadata").write_bytes(b"")
    store = Store.open(str(place))
    assert find_operators(store, observe(store, deep=True)) == Operators(1, None)
