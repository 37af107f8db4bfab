"""Source offsets as text: what is equal, and which texts are an offset of a kind."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError


def test_offsets_are_equal_when_their_text_is():
    assert SourceOffset('{"a":1}') == SourceOffset('{"a":1}') != SourceOffset('{"a": 1}')


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("delta", '{"sourceVersion":2,"reservoirId":"r","reservoirVersion":1,"index":0}', "sourceVersion is neither"),
        ("delta", "{}", "reservoirId, reservoirVersion or index is missing"),
        ("iceberg", '{"version":7}', "not an offset of Iceberg in version 1"),
        ("kafka", '{"t":{"0":NaN}}', "NaN is not JSON"),
    ],
)
def test_the_reason_of_a_source_is_in_the_error(kind, text, why):
    with pytest.raises(MalformedEntryError) as caught:
        SourceOffset(text).view(kind)
    assert f"({why}" in caught.value.message


@pytest.mark.parametrize(("kind", "text"), [
    ("kafka", '{"t":{"0":"5"}}'), ("kafka", '{"t":{"0":true}}'), ("kafka", "5"), ("kafka", "nonsense"), ("kafka", '{"t":{"0":NaN}}'),
    ("file", '{"offset":1}'), ("rate", "1.5"), ("delta", "{}"), ("pulsar", '{"t":[300]}'), ("kinesis", '{"s":{"iteratorType":"LATEST"}}'),
    ("nokind", "1"), ("kafka", "[" * 100_000),
])  # fmt: skip
def test_other_shapes_are_format_errors(kind, text):
    with pytest.raises(MalformedEntryError) as caught:
        SourceOffset(text).view(kind, "offsets/6")
    assert caught.value.name == "offsets/6" and len(str(caught.value)) < 300
