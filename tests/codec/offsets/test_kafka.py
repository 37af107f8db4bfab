"""Offsets of Kafka by partition, and the text that is written of them."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets.kafka import offsets_of, to_json
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        (None, {}),
        ("{}", {}),
        ('{"t":{}}', {}),
        ('{"t":{"1":7,"0":5},"s":{"16":0}}', {("s", 16): 0, ("t", 0): 5, ("t", 1): 7}),
        ('{"t": {"0": -2}}', {("t", 0): -2}),
    ],
)
def test_an_offset_is_a_number_for_each_partition(text, offsets):
    assert offsets_of(None if text is None else SourceOffset(text)) == offsets


@pytest.mark.parametrize(
    "text", ['{"logOffset":3}', '{"t":{"0":"5"}}', '{"t":{"0":5.7}}', '{"t":{"x":5}}', '{"t":{"٣":5}}']
)
def test_what_is_no_offset_of_kafka_is_refused(text):
    with pytest.raises(MalformedEntryError) as refused:
        offsets_of(SourceOffset(text), "offsets/3")
    assert refused.value.name == "offsets/3"


def test_partitions_ascend_in_what_is_written():
    text = to_json({("t", 10): 1, ("t", 9): 2, ("ä-1", 0): 3, ("a", 2): 0})
    assert text == '{"a":{"2":0},"t":{"9":2,"10":1},"ä-1":{"0":3}}'
    assert to_json(offsets_of(SourceOffset(text))) == text
