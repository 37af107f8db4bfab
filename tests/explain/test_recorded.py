"""What real Spark printed when each symptom was produced is explained."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.read_index import read_pages
from tests.explain.outcomes import INDEX, LATER, NOT_PRODUCED, RECORDED, REPAIRED, produced, table

PAGES = {page.number: page.name for page in read_pages()}
LOGS = sorted(RECORDED.glob("*/*.log"))
#: Symptoms whose text is that of another one, which they have caused.
TEXT_OF = {20: 4, 21: 6}


def test_the_table_of_the_runbook_is_what_was_shown():
    assert table() in INDEX.read_text(), "python -m tests.explain.outcomes writes it"


def test_every_symptom_was_produced_or_the_table_says_why_not():
    numbers = {page.number for page in read_pages()}
    assert numbers - set(produced()) == set(NOT_PRODUCED)
    assert set(REPAIRED) <= set(produced())
    assert {*REPAIRED, *LATER, *NOT_PRODUCED} == numbers


def test_most_were_produced_in_both_sparks():
    assert {"3.5", "4.3"} <= {path.parent.name for path in LOGS}
    assert len({path.name for path in LOGS if path.parent.name == "3.5"}) >= 12


@pytest.mark.parametrize("log", LOGS, ids=[f"{path.parent.name}-{path.stem}" for path in LOGS])
def test_a_recorded_log_is_explained(log):
    number = int(log.stem[:2])
    with log.open() as lines:
        explained = explain(lines)
    assert {item.page for item in explained.explanations if item.page} == {PAGES[TEXT_OF.get(number, number)]}
