"""The last test of `make symptoms`: each symptom has come to its end, but those that cannot be produced here."""

from __future__ import annotations

from tests.explain.outcomes import NOT_PRODUCED
from tests.explain.produced.proof import PAGES


def test_each_symptom_was_produced_explained_repaired_and_started(outcomes):
    assert set(PAGES) - {outcome.symptom for outcome in outcomes} == set(NOT_PRODUCED)
    assert [outcome for outcome in outcomes if not (outcome.explained and outcome.repaired and outcome.rows)] == []
