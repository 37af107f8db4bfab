"""What a person has agreed to, against a plan: the effects on its sinks by name, and the plan by an approval."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.acceptance import effects_of, require_accepted, require_names, require_newer
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import NOT_DECLARED
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.untrusted.fields import LONGEST_NAME
from tests.change.plans import ROLLBACK

EXACT = SinkEffect("file:out", "exact", "why")
TWICE = SinkEffect("kafka", "duplicated", "Kafka knows no batch", "Let consumers drop them.")
LOST = SinkEffect(NOT_DECLARED, "skipped", "it holds them")
STOPS = SinkEffect("file:out", "stops", "the sink skips batch 3")


@pytest.mark.parametrize(
    ("words", "effects"),
    [
        (None, ()),
        ("", ()),
        ("skipped", ("skipped",)),
        ("unknown, duplicated", ("duplicated", "unknown")),
        (["skipped", "duplicated"], ("duplicated", "skipped")),
    ],
)
def test_effects_come_from_the_best_to_the_worst(words, effects):
    assert effects_of(words) == effects


def test_an_effect_that_there_is_not_is_refused():
    with pytest.raises(PlanError, match="'lost' is not a sink effect .* one of exact, duplicated, skipped, unknown"):
        require_accepted(ROLLBACK, "lost")


@pytest.mark.parametrize(
    ("effects", "accepted", "needed"),
    [
        ((EXACT,), None, ()),
        ((EXACT, TWICE), "duplicated", ("duplicated",)),
        ((TWICE, LOST), "skipped duplicated unknown", ("duplicated", "skipped")),
    ],
)
def test_what_had_to_be_accepted_and_was(effects, accepted, needed):
    assert require_accepted(replace(ROLLBACK, effects=effects), accepted) == needed


@pytest.mark.parametrize(
    ("effects", "accepted", "message", "hint"),
    [
        ((EXACT, TWICE), None, "on kafka is duplicated: Kafka knows no batch", "Let consumers drop them."),
        ((TWICE, LOST), "duplicated", "on the sink, which was not declared, is skipped", "--accept-sink skipped (in"),
        (
            (TWICE, STOPS),
            None,
            "on file:out is that the query stops: the sink skips batch 3",
            "--accept-sink stops (in",
        ),
        ((TWICE, LOST), "", "is skipped: it holds them", "--accept-sink duplicated --accept-sink skipped (in"),
    ],
)
def test_the_worst_effect_that_nobody_accepted_is_named(effects, accepted, message, hint):
    with pytest.raises(PlanError) as refused:
        require_accepted(replace(ROLLBACK, effects=effects), accepted)
    assert message in refused.value.message
    assert hint in refused.value.hint and refused.value.hint.startswith("Nothing was done.")


@pytest.mark.parametrize(
    ("name", "accepted"), [("ann", True), ("n" * LONGEST_NAME, True), ("n" * 5_000, False), (7, False)]
)
def test_names_can_be_written_into_the_history(name, accepted):
    if accepted:
        require_names("here", approved_by=name)
    else:
        with pytest.raises(PlanError, match="approved_by must be a text of at most"):
            require_names("here", approved_by=name)


PLANNED = "2023-11-14T22:13:20Z"  # when ROLLBACK was planned


@pytest.mark.parametrize("approved_at", [None, PLANNED, "2023-11-14T22:13:21Z"])
def test_an_approval_is_given_after_the_plan(approved_at):
    require_newer(approved_at, ROLLBACK)


@pytest.mark.parametrize(
    ("approved_at", "message"),
    [("2023-11-14T22:13:19Z", "before plan"), ("", "approved_at is not a time"), ("None", "is not a time")],
)
def test_an_approval_of_another_plan_is_refused(approved_at, message):
    with pytest.raises(PlanError, match=message):
        require_newer(approved_at, ROLLBACK)
