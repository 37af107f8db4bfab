"""The offset of a Delta source: what Delta writes, and what it refuses."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec.offsets.delta import METADATA_CHANGE, DeltaOffset, of_value

VALUE = {"sourceVersion": 1, "reservoirId": "t", "reservoirVersion": 5, "index": -1, "isStartingVersion": False}


@pytest.mark.parametrize(("offset", "text"), [
    (DeltaOffset("t", 5), '{"sourceVersion":1,"reservoirId":"t","reservoirVersion":5,"index":-1,"isStartingVersion":false}'),
    (DeltaOffset("t", 5, 7, True), '{"sourceVersion":1,"reservoirId":"t","reservoirVersion":5,"index":7,"isStartingVersion":true}'),
    (DeltaOffset("t", 5, METADATA_CHANGE), '{"sourceVersion":3,"reservoirId":"t","reservoirVersion":5,"index":-20,"isStartingVersion":false}'),
    (DeltaOffset("t", 5, -19), '{"sourceVersion":3,"reservoirId":"t","reservoirVersion":5,"index":-19,"isStartingVersion":false}'),
])  # fmt: skip
def test_the_text_is_that_of_delta_and_is_read_again(offset, text):
    assert offset.json == text and of_value(json.loads(text)) == offset


@pytest.mark.parametrize(("value", "index"), [
    (VALUE, -100), (VALUE | {"index": -100}, -100), (VALUE | {"sourceVersion": 3, "index": -100}, -100), (VALUE | {"later": 1}, -100),
])  # fmt: skip
def test_the_index_before_all_files_has_two_spellings(value, index):
    assert of_value(value) == DeltaOffset("t", 5, index)


@pytest.mark.parametrize(("offset", "read"), [
    (DeltaOffset("t", 5), {4}), (DeltaOffset("t", 5, 0), {4, 5}), (DeltaOffset("t", 5, METADATA_CHANGE), {4, 5}),
    (DeltaOffset("t", 5, in_first_snapshot=True), {4, 5}),
])  # fmt: skip
def test_an_index_or_the_first_snapshot_tells_that_something_of_a_version_was_read(offset, read):
    assert {version for version in (4, 5, 6) if offset.has_read_from(version)} == read


def test_a_missing_flag_is_false():
    assert of_value({key: value for key, value in VALUE.items() if key != "isStartingVersion"}) == DeltaOffset("t", 5)


@pytest.mark.parametrize("wrong", [
    {"sourceVersion": 2}, {"sourceVersion": 0}, {"sourceVersion": 4}, {"sourceVersion": None}, {"sourceVersion": "1"},
    {"sourceVersion": 3, "index": -1}, {"index": 2**63 - 101}, {"index": 2**63}, {"reservoirId": None},
    {"reservoirVersion": "5"}, {"isStartingVersion": "false"},
])  # fmt: skip
def test_what_delta_refuses(wrong):
    with pytest.raises(ValueError):
        of_value(VALUE | wrong)


def test_an_offset_without_a_version_of_its_format_is_refused():
    with pytest.raises(ValueError, match="neither 1 nor 3"):
        of_value({key: value for key, value in VALUE.items() if key != "sourceVersion"})
