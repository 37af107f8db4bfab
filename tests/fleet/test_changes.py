"""What is new in a fleet since the last time."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.fleet.changes import Known, parse_known
from airflow_provider_ckpt.fleet.row import FleetRow

BAD_OFFSETS = Finding("CKPT102", "error", "not JSON", 7, "offsets/7")
BAD_COMMIT = Finding("CKPT102", "error", "not JSON", 7, "commits/7")
GAPS = Finding("CKPT111", "note", "the offset log has gaps (batches 3)")


def test_the_first_time_everything_is_new():
    rows = [FleetRow("a", findings=(BAD_OFFSETS,)), FleetRow("b"), FleetRow("c", error="permission denied")]
    assert Known().news(rows) == (rows[0], rows[2])


def after(*surveys: list[FleetRow], roots: tuple[str, ...] = ("lake",)) -> Known:
    """What is known after some surveys of the same roots."""
    known = Known()
    for rows in surveys:
        known = known.after(rows, roots)
    return known


def test_what_was_told_is_no_news():
    rows = [FleetRow("lake/a", findings=(BAD_OFFSETS,)), FleetRow("lake/c", error="permission denied")]
    assert after(rows).news(rows) == ()


def test_another_damage_is_told_alone():
    known = after([FleetRow("lake/a", findings=(BAD_OFFSETS,))])
    both = FleetRow("lake/a", findings=(BAD_OFFSETS, BAD_COMMIT))
    assert known.news([both]) == (FleetRow("lake/a", findings=(BAD_COMMIT,)),)
    assert known.news([FleetRow("lake/b", findings=(BAD_OFFSETS,))]) == (FleetRow("lake/b", findings=(BAD_OFFSETS,)),)


def test_the_same_warning_about_a_later_batch_is_no_news():
    def warned(batch: int) -> FleetRow:
        return FleetRow("lake/a", findings=(Finding("CKPT117", "warning", "no partitions", batch, f"offsets/{batch}"),))

    assert after([warned(7)]).news([warned(8)]) == ()


def test_notes_are_no_news():
    assert Known().news([FleetRow("lake/a", findings=(GAPS,))]) == ()


def test_what_was_mended_and_comes_back_is_news():
    broken = FleetRow("lake/a", findings=(BAD_OFFSETS,))
    assert after([broken], [FleetRow("lake/a")]).news([broken]) == (broken,)
    assert after([broken], []).news([broken]) == (broken,), "its checkpoint was gone meanwhile"


def test_what_could_not_be_looked_at_is_not_forgotten():
    rows = [FleetRow("lake/a/q", findings=(BAD_OFFSETS,)), FleetRow("lake/ab", findings=(BAD_OFFSETS,))]
    known = after(rows, [FleetRow("lake/a", error="no answer")])
    assert known.news([rows[0]]) == ()
    assert known.news([rows[1]]) == (rows[1],), "lake/ab is not below lake/a"


def test_a_look_at_other_roots_forgets_nothing():
    rows = [FleetRow("lake/a", findings=(BAD_OFFSETS,)), FleetRow("lake/c", error="permission denied")]
    assert after(rows).after([], roots=["pond"]).news(rows) == ()


def test_it_goes_through_json():
    known = after([FleetRow("lake/a", findings=(BAD_OFFSETS,)), FleetRow("lake/c", error="no answer")])
    assert parse_known(known.to_json()) == known
    assert parse_known(Known().to_json()) == Known()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"findings": {}, "unreadable": []}', '{"findings": 1}'])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError):
        parse_known(text)
