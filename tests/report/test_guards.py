"""A plan says of an offset entry that goes and comes back why it does."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.change.plan.actions import Copy, Delete
from airflow_provider_ckpt.report.tables import plan_tables
from tests.change.plans import ROLLBACK

GUARD = "offsets/5 is removed first and put back last, so that Spark cannot start in between"
DAMAGED = (Delete("offsets/7", size=3), Copy("offsets/7", size=9, sha256="a", source="b"))
GUARDED = (Delete("offsets/5", size=9), *DAMAGED, Copy("offsets/5", size=9, sha256="c"))


def test_what_closes_the_checkpoint_is_explained_and_the_repaired_entry_is_not():
    about, *_, steps = plan_tables(replace(ROLLBACK, actions=GUARDED))
    assert ("closed meanwhile", GUARD) in about.rows
    assert [row[1] for row in steps.rows] == ["delete", "delete", "copy", "copy"]


def test_an_entry_that_is_replaced_closes_nothing():
    about, *_, steps = plan_tables(replace(ROLLBACK, actions=DAMAGED))
    assert "closed meanwhile" not in dict(about.rows) and [row[1] for row in steps.rows] == ["delete", "copy"]
