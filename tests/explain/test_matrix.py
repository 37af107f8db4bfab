"""What explain says of failures that real Spark printed: it blames no checkpoint for those of users, and finds symptoms."""

from __future__ import annotations

import os
from functools import cache

from tests.explain.matrix import Judged, faults, missed, reports, share_found, symptoms, table, users

#: Of so many failures of users the whole log is read for one; `make matrix` reads all.
LOGS = 1 if os.environ.get("CKPT_EXHAUSTIVE") else 10


@cache
def of_users() -> tuple[Judged, ...]:
    return tuple(users(logs=LOGS))


@cache
def of_symptoms() -> tuple[Judged, ...]:
    return tuple(symptoms())


def shown(judged: tuple[Judged, ...]) -> str:
    return "\n".join(["", *table(judged), "wrong:", *faults(judged), "not found:", *missed(judged)])


def test_no_checkpoint_is_blamed_for_a_failure_of_a_user():
    assert not faults(of_users()), shown(of_users())


def test_the_failures_are_of_many_kinds_in_both_sparks():
    names = {item.name for item in of_users()}
    assert len(names) >= 200
    assert len({name.partition("/")[2].partition(" ")[0] for name in names}) >= 30
    assert {item.kind for item in of_users()} >= {"python-udf", "pandas-udf", "java-udf", "scala-udf", "sql", "batch"}
    assert {name.rpartition("(")[2] for name in names} == {"4.3)", "3.5)"}


def test_symptoms_are_found_in_each_form():
    assert share_found(of_symptoms()) >= 0.95, shown(of_symptoms())


def test_no_symptom_is_taken_for_another_one():
    assert not faults(of_symptoms()), shown(of_symptoms())


def test_public_reports_are_found_and_taken_for_nothing_else():
    judged = tuple(reports())
    assert not faults(judged), shown(judged)
    assert share_found(judged) >= 0.95, shown(judged)
