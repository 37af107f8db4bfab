"""Retention: what each rule keeps, and what holds for every policy."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.retention import Decision, PrunePlan, PruneReceipt, RetentionPolicy, Sweep, decide

NOW = datetime(2026, 11, 21, 16, 30, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000


def backup(at: str, *tags: str, query: str = "q") -> Manifest:
    at_ms = int(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() * 1000)
    return Manifest(f"{at}-{query}", "/checkpoints/orders", query, 7, at_ms, None, (), {"tags": list(tags)})


def kept(backups: list[Manifest], **policy: object) -> dict[str, tuple[str, ...]]:
    """Why each backup that is kept is kept, by its time."""
    decisions = decide(backups, RetentionPolicy(**policy), NOW_MS)
    assert [item.backup_id for item in decisions] == [item.backup_id for item in backups], "in the order given"
    assert all(item.keep == bool(item.reasons) for item in decisions)
    return {item.backup_id.rsplit("-", 1)[0]: item.reasons for item in decisions if item.keep}


DAYS = [backup(f"2026-11-{day:02}T{hour:02}:00") for day in (19, 20, 21) for hour in (1, 9, 15)]


def test_the_last_are_the_newest():
    assert kept(DAYS, keep_last=2) == {"2026-11-21T15:00": ("last 1",), "2026-11-21T09:00": ("last 2",)}


def test_the_newest_of_each_day_is_kept():
    assert kept(DAYS, keep_daily=2) == {
        "2026-11-20T15:00": ("daily 2026-11-20",),
        "2026-11-21T15:00": ("daily 2026-11-21",),
    }


def test_only_hours_that_have_backups_count():
    assert kept([*DAYS, backup("2026-11-21T15:59")], keep_hourly=3) == {
        "2026-11-21T15:59": ("hourly 2026-11-21T15",),
        "2026-11-21T09:00": ("hourly 2026-11-21T09",),
        "2026-11-21T01:00": ("hourly 2026-11-21T01",),
    }


def test_weeks_are_iso_weeks_and_months_are_calendar_months():
    turn = [backup("2025-12-28T12:00"), backup("2025-12-29T12:00"), backup("2026-01-01T12:00")]
    assert kept(turn, keep_weekly=5) == {
        "2025-12-28T12:00": ("weekly 2025-W52",),
        "2026-01-01T12:00": ("weekly 2026-W01",),
    }
    assert kept(turn, keep_monthly=5) == {
        "2025-12-29T12:00": ("monthly 2025-12",),
        "2026-01-01T12:00": ("monthly 2026-01",),
    }


def test_days_begin_at_midnight_utc():
    assert set(kept([backup("2026-11-20T23:59"), backup("2026-11-21T00:00")], keep_daily=9)) == {
        "2026-11-20T23:59",
        "2026-11-21T00:00",
    }


def test_a_backup_says_every_rule_that_wants_it():
    backups = [backup("2026-11-21T15:00", "release", "other")]
    assert kept(backups, keep_last=1, keep_daily=1, keep_tags=("release",)) == {
        "2026-11-21T15:00": ("last 1", "daily 2026-11-21", "tag release")
    }


def test_a_tag_keeps_however_old():
    backups = [backup("2020-01-01T00:00", "release"), *DAYS]
    assert "2020-01-01T00:00" in kept(backups, keep_tags=("release",))


def test_minimum_redundancy_keeps_the_newest_that_no_rule_wants():
    backups = [backup("2020-01-01T00:00", "release"), *DAYS]
    assert kept(backups, keep_tags=("release",), min_redundancy=3) == {
        "2020-01-01T00:00": ("tag release",),
        "2026-11-21T15:00": ("minimum redundancy",),
        "2026-11-21T09:00": ("minimum redundancy",),
    }


def test_each_query_is_judged_by_itself():
    backups = [backup("2026-01-01T00:00", query="a"), backup("2026-11-21T01:00", query="b")]
    assert len(kept(backups, keep_last=1)) == 2


def test_a_backup_of_the_future_is_kept_and_takes_no_place():
    backups = [backup("2026-11-21T15:00"), backup("2031-01-01T00:00")]
    assert kept(backups, keep_last=1) == {
        "2026-11-21T15:00": ("last 1",),
        "2031-01-01T00:00": ("its time is in the future",),
    }


@pytest.mark.parametrize(
    "policy",
    [{}, {"min_redundancy": 3}, {"keep_last": -1, "keep_daily": 1}, {"keep_last": 1, "min_redundancy": 0}],
    ids=["no rule", "redundancy is no rule", "negative", "no redundancy"],
)
def test_a_policy_that_would_drop_everything_is_none(policy):
    with pytest.raises(ValueError):
        RetentionPolicy(**policy)


# --- what holds for every policy -----------------------------------------------------------------------------------

COUNTS = st.integers(0, 6)
POLICIES = st.builds(
    RetentionPolicy,
    keep_last=st.integers(1, 6),
    keep_hourly=COUNTS,
    keep_daily=COUNTS,
    keep_weekly=COUNTS,
    keep_monthly=COUNTS,
    keep_tags=st.sampled_from([(), ("a",), ("a", "b")]),
    min_redundancy=st.integers(1, 4),
)
AGES = st.integers(-HOUR_MS, 400 * 24 * HOUR_MS)
ONE = st.tuples(AGES, st.sampled_from(["q", "r"]), st.sampled_from([[], ["a"], ["b", "c"]]))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[Manifest, ...]:
    return tuple(
        Manifest(f"id-{number}", "/orders", query, 1, NOW_MS - age, None, (), {"tags": tags})
        for number, (age, query, tags) in enumerate(draw(st.lists(ONE, max_size=30)))
    )


def ids(decisions: object) -> set[str]:
    return {item.backup_id for item in decisions if item.keep}


@given(fleets(), POLICIES)
def test_every_backup_is_decided_and_none_of_them_wanted_is_dropped(backups, policy):
    left = ids(decide(backups, policy, NOW_MS))
    for query in {item.query_id for item in backups}:
        own = sorted(
            (item for item in backups if item.query_id == query), key=lambda item: (item.created_at_ms, item.backup_id)
        )
        past = [item.backup_id for item in own if item.created_at_ms <= NOW_MS]
        assert len(left & {item.backup_id for item in own}) >= min(policy.min_redundancy, len(own))
        assert set(past[-policy.keep_last :]) <= left
    assert {item.backup_id for item in backups if set(item.tags) & set(policy.keep_tags)} <= left


@given(fleets(), POLICIES)
def test_deciding_again_about_what_is_left_drops_nothing(backups, policy):
    left = ids(decide(backups, policy, NOW_MS))
    rest = [item for item in backups if item.backup_id in left]
    assert ids(decide(rest, policy, NOW_MS)) == left


@given(fleets(), POLICIES, st.sampled_from(["keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly"]))
def test_a_larger_number_never_keeps_less(backups, policy, rule):
    larger = replace(policy, **{rule: getattr(policy, rule) + 1})
    wanted = {item.backup_id for item in decide(backups, policy, NOW_MS) if set(item.reasons) - {"minimum redundancy"}}
    assert wanted <= ids(decide(backups, larger, NOW_MS))


@given(fleets(), POLICIES, st.randoms())
def test_the_order_of_the_backups_does_not_matter(backups, policy, random):
    shuffled = list(backups)
    random.shuffle(shuffled)
    assert set(decide(shuffled, policy, NOW_MS)) == set(decide(backups, policy, NOW_MS))


PLAN = PrunePlan(
    location="s3://lake/backups",
    planned_at_ms=1_000,
    policy=RetentionPolicy(keep_last=1),
    grace_ms=10,
    decisions=(Decision("first", keep=False), Decision("second", keep=True, reasons=("last 1",))),
    sweeps=(Sweep("first", 3, 300),),
    referred_bytes=40,
    verified=("second",),
)


def test_what_no_rule_keeps_is_dropped():
    assert PLAN.dropped == ("first",)


def test_a_plan_is_json():
    document = json.loads(json.dumps(PLAN.to_dict()))
    assert [item["keep"] for item in document["decisions"]] == [False, True]
    assert document["sweeps"] == [{"directory": "first", "objects": 3, "bytes": 300}]
    assert (document["referred_bytes"], document["verified"], document["grace_ms"]) == (40, ["second"], 10)


def test_a_receipt_is_json():
    receipt = PruneReceipt("s3://lake/backups", "applied", ("first",), 3, 300, started_at_ms=1, finished_at_ms=2)
    document = json.loads(json.dumps(receipt.to_dict()))
    assert (document["status"], document["dropped"], document["bytes"]) == ("applied", ["first"], 300)
