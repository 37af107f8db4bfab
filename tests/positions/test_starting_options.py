"""What starts another reader exactly where a query is."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, PlanError
from airflow_provider_ckpt.positions.starting_options import FORMS, starting_option

KAFKA = '{"b":{"10":7,"2":0},"a-1.x_y":{"0": 9223372036854775807}}'


def delta(version: int, index: int, *, starting: bool = False, source_version: int = 1) -> str:
    fields = {"reservoirVersion": version, "index": index, "isStartingVersion": starting}
    return json.dumps({"sourceVersion": source_version, "reservoirId": "r", **fields})


@pytest.mark.parametrize(
    ("form", "offset", "text"),
    [
        ("startingOffsets", KAFKA, '{"a-1.x_y":{"0":9223372036854775807},"b":{"2":0,"10":7}}'),
        ("startingOffsets", "{}", "{}"),
        ("csv", KAFKA, "a-1.x_y,0,9223372036854775807\nb,2,0\nb,10,7"),
        ("startingVersion", delta(5, -1), "5"),
        ("startingVersion", delta(5, -100, source_version=3), "5"),
        ("startingVersion", delta(5, -100), "5"),
    ],
)
def test_the_text_is_what_the_option_takes(form, offset, text):
    assert starting_option(form, SourceOffset(offset), "offsets/3") == text


@pytest.mark.parametrize(
    ("offset", "problem"),
    [
        (delta(5, 2), "a part of version 5, and no startingVersion"),
        (delta(5, -1, starting=True), "a part of the table as it was at version 5, and no startingVersion"),
        (delta(5, -20, source_version=3), "a part of version 5"),
    ],
)
def test_a_position_that_no_version_means_is_refused(offset, problem):
    with pytest.raises(PlanError, match=problem):
        starting_option("startingVersion", SourceOffset(offset), "offsets/3")


@pytest.mark.parametrize(
    ("form", "offset"),
    [("startingOffsets", delta(5, -1)), ("csv", '{"logOffset":3}'), ("startingVersion", KAFKA), ("csv", "{")],
)
def test_an_offset_of_another_source_is_refused(form, offset):
    with pytest.raises(MalformedEntryError, match="offsets/3: not an offset of the source type"):
        starting_option(form, SourceOffset(offset), "offsets/3")


def test_each_form_is_shown_here():
    assert set(FORMS) == {"startingOffsets", "startingVersion", "csv"}
