"""The word that the query is stopped, and what else somebody says to a change: what is no yes is a no."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from tests.change.plans import STOPPED


def fails() -> bool:
    raise OSError("no route to host")


@pytest.mark.parametrize(
    ("argument", "value", "said"),
    [
        *(("query_is_stopped", text, "must be True or False, not ") for text in ("False", "no", "0", "True", 1, None)),
        ("query_is_stopped", lambda: "True", "must be True or False, not 'True'"),
        ("query_is_stopped", lambda: None, "must be True or False, not None"),
        ("query_is_stopped", fails, "it is not known whether the query is stopped: OSError: no route to host"),
        ("break_lock", "no", "break_lock must be True or False"),
        *(("quiet_s", value, "a number of seconds") for value in (float("nan"), float("inf"), -1, "5", True, 1e300)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_no_word_and_no_time_changes_nothing(stores, argument, value, said):
    plan = make_rollback(stores, 1)
    before = stores.checkpoint.find()
    with pytest.raises(PlanError, match=said):
        apply(plan, stores, **{**STOPPED, argument: value})
    assert stores.checkpoint.find() == before and stores.record(plan.plan_id).find() == {}


def test_a_probe_says_whether_the_query_is_stopped(stores):
    plan = make_rollback(stores, 1)
    with pytest.raises(CheckpointBusyError, match="needs a statement that the query is stopped"):
        apply(plan, stores, **{**STOPPED, "query_is_stopped": lambda: False})
    assert apply(plan, stores, **{**STOPPED, "query_is_stopped": lambda: True}).status == "applied"


@pytest.mark.parametrize("target", ["1", True, None, 1.0, -1, "latest"], ids=repr)
def test_what_is_no_target_is_refused_in_words(stores, target):
    with pytest.raises(PlanError, match="the target of a rollback is the id of a batch"):
        make_rollback(stores, target)


@pytest.mark.parametrize("flag", ["trim_sink_log", "fenced"])
def test_what_is_no_flag_is_refused(stores, flag):
    with pytest.raises(PlanError, match=f"{flag} must be True or False, not 'no'"):
        make_rollback(stores, 1, **{flag: "no"})
