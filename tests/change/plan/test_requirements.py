"""What a plan requires: a closed set, of which each says in a sentence what has to be so."""

from __future__ import annotations

from typing import get_args

import pytest

from airflow_provider_ckpt.change.plan.requirements import KINDS, Requirement, requirement_from_dict
from tests.change.plans import SHA

#: Of each kind: what a plan may expect, and what people have to read of it.
EXPECTED = {
    "query_id": ("7e4c21b8-0d5f-4c1e-9a2a-0f6f5a3f1c11", "that of the query 7e4c21b8-0d5f-4c1e-9a2a-0f6f5a3f1c11."),
    "latest_committed": ("5", "The newest committed batch is still 5."),
    "latest_planned": ("none", "The newest planned batch is still none."),
    "kept_objects": (SHA, f"(their digest is {SHA[:16]}…)."),
    "kept_sink_log": (SHA, f"(their digest is {SHA[:16]}…)."),
    "writer_stopped": ("yes", "Somebody says that the query is stopped: yes."),
    "fenced": (f"offsets/6 {SHA}", f"The fence offsets/6 {SHA[:16]}… is still there"),
    "backup": ("20261122T120000Z-5", "The backup 20261122T120000Z-5 is still there."),
    "location": ("empty", "The location is still empty."),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_a_sentence(kind):
    expected, said = EXPECTED[kind]
    requirement = requirement_from_dict({"kind": kind, "expected": expected})
    assert said in requirement.sentence and requirement.sentence.endswith(".")
    assert len(KINDS[kind]("x{0}" * 500).sentence) < 170


def test_the_set_is_closed():
    assert set(KINDS.values()) == set(get_args(Requirement))
