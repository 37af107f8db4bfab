"""No change adds an error that was not there; what was there before is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.added_errors import damage_of, errors_of, require_no_worse
from airflow_provider_ckpt.errors import BatchNotRestorableError, PlanError
from tests.change.plans import ROLLBACK, UNDO
from tests.views import offset_entry, view_of

ENTRIES = {f"offsets/{batch}": offset_entry(batch) for batch in (2, 3)}
COMMITS = {f"commits/{batch}": b'v1\n{"nextBatchWatermarkMs":0}' for batch in (2, 3)}
WHOLE = view_of("metadata", *(f"sources/0/{entry}" for entry in range(4)), **ENTRIES, **COMMITS)
#: Spark stops at a start: the entry before the newest one is not there.
TORN = replace(
    WHOLE,
    objects={name: stored for name, stored in WHOLE.objects.items() if name != "offsets/2"},
    entries={name: entry for name, entry in WHOLE.entries.items() if name != "offsets/2"},
)


def test_the_two_views_are_what_they_are_called():
    assert not errors_of(WHOLE) and not damage_of(WHOLE)
    assert [finding.name for finding in errors_of(TORN) if finding.spark_error] == ["offsets/2"]


@pytest.mark.parametrize("error", [PlanError, BatchNotRestorableError])
def test_an_error_that_comes_with_the_change_is_refused_by_its_rule_and_its_file(error):
    with pytest.raises(error, match="after the rollback the checkpoint would have an error") as refused:
        require_no_worse(ROLLBACK, WHOLE, TORN, hint="Choose another batch.", error=error)
    assert refused.value.name == "offsets/2" and "CKPT" in refused.value.message
    assert refused.value.hint == "Nothing was done. Choose another batch."


def test_what_stopped_spark_before_and_does_so_afterwards_is_said():
    (told,) = set(require_no_worse(ROLLBACK, TORN, TORN).warnings) - {*ROLLBACK.warnings}
    assert told.startswith("Spark does not start from this checkpoint, before the rollback and after it: ")
    assert "offsets/2" in told


def test_of_what_is_mended_or_whole_nothing_is_said():
    assert require_no_worse(ROLLBACK, TORN, WHOLE) == require_no_worse(ROLLBACK, WHOLE, WHOLE) == ROLLBACK


def test_an_undo_puts_back_what_was_there_and_says_it():
    (told,) = set(require_no_worse(UNDO, WHOLE, TORN).warnings) - {*UNDO.warnings}
    assert told.startswith("After this undo Spark does not start: ")
