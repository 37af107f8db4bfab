"""Offset entries with other sources, byte for byte."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.changes.sources.entries import (
    changed_entry,
    ids_of,
    require_complete,
    require_known,
    version_of,
)
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.codec import offset_log
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.restart.sources import SOURCE_EVOLUTION
from tests.goldens import EXPECTED

OFF, ON = f'"{SOURCE_EVOLUTION}":"false"', f'"{SOURCE_EVOLUTION}":"true"'
TIMES = '{"batchWatermarkMs":7,"batchTimestampMs":1795213211916,"conf":{"spark.sql.shuffle.partitions":"2"'
V1 = f'v1\n{TIMES},{OFF}}},"more":[1]}}\n{{"t":{{"0":5}}}}\n-\n{{"logOffset":3}}'
V2 = f'v2\n{TIMES},{ON}}},"sourceMetadataInfo":{{}}}}\nb:-\na:{{"logOffset":3}}'
UNNAMED = V2.replace(ON, OFF).replace("\nb:", "\n1:").replace("\na:", "\n0:")
EARLY = V1.replace(f",{OFF}", "")


def entry(text: str) -> offset_log.OffsetSeq:
    return offset_log.decode(text.encode(), "offsets/4")


CHANGES = {
    "one is added": (V1, ["0=0", "1=1", "2=2", "3=new"], f"{V1}\n-"),
    "one is dropped": (V1, ["0=0", "1=2"], V1.replace("\n-", "")),
    "they are reordered": (
        V1,
        ["0=2", "1=0", "2=1"],
        f'{V1.rsplit(chr(10), 3)[0]}\n{{"logOffset":3}}\n{{"t":{{"0":5}}}}\n-',
    ),
    "one is copied": (V1, ["0=2", "1=2"], f'{V1.rsplit(chr(10), 3)[0]}\n{{"logOffset":3}}\n{{"logOffset":3}}'),
    "names": (
        V1,
        ["a=2", "b=0", "c=new"],
        V1.rsplit("\n", 3)[0]
        .replace("v1", "v2")
        .replace(OFF, ON)
        .replace('"more":[1]}', '"more":[1],"sourceMetadataInfo":{}}')
        + '\na:{"logOffset":3}\nb:{"t":{"0":5}}\nc:-',
    ),
    "names in an entry of a Spark that knows none": (
        EARLY,
        ["a=0"],
        f'v2\n{TIMES},{ON}}},"more":[1],"sourceMetadataInfo":{{}}}}\na:{{"t":{{"0":5}}}}',
    ),
    "names are taken away": (V2, ["0=a", "1=b"], f'v1\n{TIMES},{OFF}}}}}\n{{"logOffset":3}}\n-'),
    "other names": (V2, ["x=a", "b=b"], V2.replace("\nb:-\na:", "\nb:-\nx:")),
    "positions of version 2": (UNNAMED, ["0=1", "1=0"], UNNAMED.replace("\n1:-\n0:", "\n0:-\n1:")),
    "names in version 2": (UNNAMED, ["a=0", "b=1"], V2.replace('\nb:-\na:{"logOffset":3}', '\na:{"logOffset":3}\nb:-')),
}


@pytest.mark.parametrize(("before", "said", "after"), CHANGES.values(), ids=CHANGES)
def test_an_entry_gets_the_sources_and_keeps_all_else(before, said, after):
    change = parse_change(said, [])
    new = changed_entry(entry(before), change, version_of(change, entry(before)), "offsets/4")
    assert new.encode().decode() == after
    assert new.metadata is not None
    assert (new.metadata.batch_watermark_ms, new.metadata.batch_timestamp_ms) == (7, 1795213211916)


def test_a_source_that_the_entry_lacks_has_no_offset():
    """The entry before may lack a source that was added with a name since."""
    change = parse_change(["a=a", "c=c"], ["b"])
    assert changed_entry(entry(V2), change, 2, "offsets/4").encode().endswith(b'\na:{"logOffset":3}\nc:-')


UNKNOWN = {
    "no metadata": ("v1\n\n{}", "v1\n\n{}", "continuous"),
    "another version": (V2, V1, "has version 1 and the newest one version 2"),
    "another number of sources": (V1, f"{V1}\n-", "has 4 sources and the newest one 3"),
    "more of the sources": (
        V2.replace(
            '"sourceMetadataInfo":{}', '"sourceMetadataInfo":{"a":{"sourceId":"a","providerName":"k","apiVersion":"2"}}'
        ),
    )
    * 2
    + ("says more of its sources",),
    "a name of digits": (V2.replace("\na:", "\n0:"),) * 2 + ("cannot be told from a position",),
}


@pytest.mark.parametrize(("newest", "before", "says"), UNKNOWN.values(), ids=UNKNOWN)
def test_entries_that_nobody_knows_to_change_are_refused(newest, before, says):
    with pytest.raises(PlanError, match=says):
        require_known([(4, entry(newest)), (3, entry(before))], "/c")


@pytest.mark.parametrize("known", [V1, V2, UNNAMED, EARLY])
def test_entries_of_every_form_of_spark_are_known(known):
    require_known([(4, entry(known)), (3, entry(known))], "/c")


INCOMPLETE = {
    "one is forgotten": (["0=0"], ["1"], "nothing is said of source 2"),
    "one is not there": (["0=0", "1=1", "2=2", "3=3"], [], "no source '3'"),
    "a dropped one is not there": (["0=0", "1=1", "2=2"], ["9"], "no source '9'"),
}


@pytest.mark.parametrize(("continued", "dropped", "says"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_every_source_has_to_be_mentioned_and_no_other(continued, dropped, says):
    with pytest.raises(PlanError, match=says) as refused:
        require_complete(parse_change(continued, dropped), ids_of([entry(V1)]), "/c")
    assert "Nothing was done" in (refused.value.hint or "")


def test_a_source_that_is_called_new_cannot_be_continued():
    with pytest.raises(PlanError, match="called 'new'"):
        require_complete(parse_change(["a=new"], []), ("new",), "/c")


def test_the_conf_is_one_of_those_that_spark_keeps():
    assert SOURCE_EVOLUTION in json.dumps(EXPECTED["4.3.0"]) or SOURCE_EVOLUTION in V1


def test_a_source_with_a_name_that_has_read_nothing_is_new():
    """Spark writes no line for it."""
    with pytest.raises(PlanError, match="no source 'c'") as refused:
        require_complete(parse_change(["a=a", "b=b", "c=c"], []), ids_of([entry(V2)]), "/c")
    assert "until it has read something" in (refused.value.hint or "")
