"""Rules about what belongs to a stateful operator, over a few names and entries, and over checkpoints of Spark's."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checks import operators
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.views import view_of

ONE, TWO = [["a"]], [["a"], ["b"]]
#: Ids of operator 0 in the newest commit, state files beside those of partition 0, and whether it names too few.
NAMED = {
    "one partition": (ONE, (), False),
    "two": (TWO, ("state/0/1/2_b.changelog",), False),
    "fewer than wrote state": (ONE, ("state/0/1/2_b.changelog",), True),
    "older state, from before a repartition": (ONE, ("state/0/1/1_b.changelog",), False),
    "the state of the batch in flight": (ONE, ("state/0/1/3_b.changelog",), False),
    "state without ids": (ONE, ("state/0/1/2.changelog",), False),
    "another operator": (ONE, ("state/1/1/2_b.changelog",), False),
}


@pytest.mark.parametrize(("ids", "files", "is_found"), NAMED.values(), ids=NAMED)
def test_a_commit_names_the_state_files_of_every_partition(ids, files, is_found):
    commit = f"v2\n{json.dumps({'stateUniqueIds': {'0': ids}})}".encode()
    view = view_of("offsets/1", "state/0/0/2_a.changelog", *files, **{"commits/1": commit})
    said = [(item.code, item.severity, item.name, item.spark_error) for item in operators.ids_of_fewer_partitions(view)]
    assert said == ([("CKPT133", "error", "commits/1", "ArrayIndexOutOfBoundsException")] if is_found else [])


def test_a_commit_that_was_cut_by_hand_closes_the_gate(golden):
    checkpoint = golden("agg-rocksdb-v2")
    commit = checkpoint / "commits/7"
    version, body = commit.read_text().split("\n")
    fields = json.loads(body)
    fields["stateUniqueIds"] = {operator: ids[:1] for operator, ids in fields["stateUniqueIds"].items()}
    commit.write_text(f"{version}\n{json.dumps(fields)}")
    (checkpoint / "commits/.7.crc").unlink()
    foretold = forecast(examine(Store.open(str(checkpoint)), deep=True), DeploySpec())
    assert (foretold.decision, foretold.spark_error) == ("block", "ArrayIndexOutOfBoundsException")
    assert [item.code for item in foretold.findings if item.severity == "error"] == ["CKPT133"]


def test_operators_whose_directories_were_exchanged_close_the_gate(golden):
    checkpoint = golden("count-then-limit")
    assert list(operators.metadata_of_another(examine(Store.open(str(checkpoint)), deep=True))) == []
    (checkpoint / "state/0").rename(checkpoint / "state/x")
    (checkpoint / "state/1").rename(checkpoint / "state/0")
    (checkpoint / "state/x").rename(checkpoint / "state/1")
    view = examine(Store.open(str(checkpoint)), deep=True)
    said = [(item.code, item.severity, item.name) for item in operators.metadata_of_another(view)]
    assert said == [("CKPT230", "error", f"state/{number}/_metadata/metadata") for number in (0, 1)]
    assert forecast(view, DeploySpec()).decision == "block"
