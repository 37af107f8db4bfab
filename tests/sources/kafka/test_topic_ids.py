"""The file that remembers the ids of topics."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.kafka.topic_ids import TopicIds, parse_topic_ids


def test_a_known_topic_keeps_its_id():
    first = TopicIds().seeing("/a", {"t": "1"})
    second = first.seeing("/a", {"t": "2", "s": "3"}).seeing("/b", {"t": "2"})
    assert second.of("/a") == {"t": "1", "s": "3"}
    assert second.of("/b") == {"t": "2"}
    assert second.of("/c") == {}
    assert second.seeing("/c", {}) == second
    assert parse_topic_ids(second.to_json()) == second


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "has the version None"),
        ('{"format_version":2,"topics":{}}', "has the version 2"),
        ('{"format_version":1,"topics":[]}', "must map each location"),
        ('{"format_version":1,"topics":{"/a":{"t":1}}}', "topics of '/a' are not a mapping"),
    ],
)
def test_what_is_no_such_file_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        parse_topic_ids(text)
