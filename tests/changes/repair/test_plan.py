"""The planner of repairs alone: its steps, what they require, and that it is read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.changes.repair.plan import NewEntry, effects_of, plan_repair
from airflow_provider_ckpt.changes.repair.share import Share
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import Effect, SinkEffect
from airflow_provider_ckpt.untrusted.spans import Span
from tests.views import sink_of, view_of

VIEW = view_of("offsets/4", "commits/4", "offsets/5")
EXACT = (SinkEffect("file:out", "exact", "why"),)
SHA = "ab" * 32


def test_entries_are_created_or_replaced_without_their_checksum_files():
    log = sink_of("2", ".3.crc", "4", ".4.crc")
    entries = [NewEntry("_spark_metadata/4", "v1", SHA), NewEntry("_spark_metadata/3", "v1\n{}")]
    plan = plan_repair(VIEW, log, entries, 7, effects=EXACT, notes=("n",))
    assert [(action.do, action.name.partition("/")[2], action.place) for action in plan.actions] == [
        ("delete", ".4.crc", "sink"),
        ("replace", "4", "sink"),
        ("delete", ".3.crc", "sink"),
        ("create", "3", "sink"),
    ]
    assert {item.kind for item in plan.requirements} == {
        "query_id", "latest_committed", "latest_planned", "kept_objects", "kept_sink_log", "writer_stopped",
    }  # fmt: skip
    assert (plan.batch_id, plan.last_kept, plan.sink, plan.aim) == (4, 5, "out", "a whole log of the sink")
    assert plan_from_dict(plan.to_dict()) == plan


def test_a_directory_where_an_entry_belongs():
    log = replace(sink_of("2"), folders=("_spark_metadata/3",))
    with pytest.raises(PlanError, match="there is a directory where an entry"):
        plan_repair(VIEW, log, [NewEntry("_spark_metadata/3", "v1")], 7, effects=EXACT)


def test_entries_that_no_plan_holds():
    with pytest.raises(PlanError, match="larger than 32 MiB"):
        plan_repair(VIEW, sink_of("2"), [NewEntry("_spark_metadata/3", "x" * (33 << 20))], 7, effects=EXACT)


def test_an_effect_for_each_that_there_is():
    def share(effect: Effect) -> Share:
        return Share(Span(3, 3), (), effect, f"why {effect}")

    shares = [share("unknown"), share("exact"), share("skipped")]
    assert [(item.effect, item.reason) for item in effects_of("s", shares)] == [
        ("skipped", "why skipped"), ("unknown", "why unknown"),
    ]  # fmt: skip
    assert [item.effect for item in effects_of("s", [share("exact")], "why")] == ["exact"]
