"""Facts come out of the messages of Spark, and go into commands as nothing but values."""

from __future__ import annotations

import shlex

import pytest

from airflow_provider_ckpt.explain.message_facts import facts_of, fill, first_of, location_in


@pytest.mark.parametrize(
    ("message", "location"),
    [
        ("Error reading delta file file:/data/ck/state/0/3/7.delta of HDFSStateStoreProvider", "/data/ck"),
        ("Failed to read log file s3a://lake/ck/offsets/3. Incomplete log file", "s3a://lake/ck"),
        ("Rename destination file:/data/ck/offsets/.4.crc already exists.", "/data/ck"),
        ("concurrently using file:/data/ck/commits.", "/data/ck"),
        ("Use s3://lake/ck to store the query checkpoint.", "s3://lake/ck"),
        ("Checkpoint root s3://lake/ck resolved to s3://lake/ck.", "s3://lake/ck"),
        ("[checkpointLocation=/data/ck, path=/data/out], Append", "/data/ck"),
        ("Checkpoint location file:/data/ck is in an inconsistent state: the metadata file", "/data/ck"),
        ("file:/data/ck/sources/0/2 doesn't exist (latestId: 4)", "/data/ck"),
        ("batch 3 doesn't exist", None),
    ],
)
def test_a_location(message, location):
    assert location_in(message) == location


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("file:/c/state/0/3/7.delta", {"operator": "0", "partition": "3", "state_version": "7", "location": "/c"}),
        ("Partition orders-12's offset was changed from 500 to 300", {"topic_partition": "orders-12"}),
        ("Could not read records in offset [10, 30) for", {"from_offset": "10", "to_offset": "30"}),
        ("Multiple streaming jobs detected for 4.", {"batch": "4"}),
        ("Detected a data update in the source table at version 17.", {"version": "17"}),
    ],
)
def test_facts(message, facts):
    assert facts_of(message).items() >= facts.items()


@pytest.mark.parametrize("value", ["$(reboot)", "a b", "`x`", "'; rm -r /", '"', "x\\"])
def test_a_value_is_one_word_of_a_command(value):
    assert shlex.split(fill("ckpt show {location}", {"location": value})) == ["ckpt", "show", value]


@pytest.mark.parametrize("value", ["--execute", "a\nckpt undo", "\x1b[2J", "a\u202eb"])
def test_what_would_be_an_option_or_is_not_seen_is_left_out(value):
    assert fill("ckpt show {location}", {"location": value}) == "ckpt show LOCATION"


def test_the_first_that_says_a_thing_is_believed():
    assert first_of([{"a": "1"}, {"a": "2", "b": "3"}]) == {"a": "1", "b": "3"}
