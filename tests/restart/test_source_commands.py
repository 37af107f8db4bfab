"""The command that a finding about sources ends with: filled in where the deploy says it, else with blanks and words."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec import offset_log
from airflow_provider_ckpt.query.source import Source, count_of_sources
from airflow_provider_ckpt.restart.source_commands import continue_sources
from tests.views import view_of

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'
TWO = f'v1\n{METADATA}\n{{"orders":{{"0":5}}}}\n{{"payments":{{"0":5,"1":2}}}}'
FILES = f'v1\n{METADATA}\n{{"logOffset":3}}\n{{"logOffset":3}}'
ONE = f'v1\n{METADATA}\n{{"logOffset":3}}'
NAMED = f'v2\n{METADATA}\norders:{{"logOffset":3}}\npayments:{{"logOffset":1}}'


def kafka(name: str | None, topics: str) -> Source:
    return Source(name, "kafka", f"broker:9092/{topics}")


CASES = {
    "a number of sources": (FILES, count_of_sources(3), False, "--as 0=OLD --as 1=OLD --as 2=OLD", "each OLD"),
    "files, of which nobody knows": (
        FILES, (Source("0", "file"), Source("1", "file"), Source("2", "file")), False,
        "--as 0=OLD --as 1=OLD --as 2=OLD", "(0, 1), or new",
    ),
    "topics that are known again": (
        TWO, (kafka("0", "payments"), kafka("1", "orders")), False, "--as 0=1 --as 1=0", "",
    ),
    "one topic is dropped": (TWO, (kafka("0", "payments"),), False, "--as 0=1 --drop 0", ""),
    "one topic is new": (
        TWO, (kafka("0", "orders"), kafka("1", "clicks"), kafka("2", "payments")), False,
        "--as 0=0 --as 1=OLD --as 2=1", "each OLD",
    ),
    "a topic that two read": (
        TWO, (kafka("0", "orders"), kafka("1", "orders"), kafka("2", "payments")), False,
        "--as 0=OLD --as 1=OLD --as 2=1", "each OLD",
    ),
    "names for topics": (TWO, (kafka("o", "orders"), kafka("p", "payments")), True, "--as o=0 --as p=1", ""),
    "names, not said which": (FILES, None, True, "--as NAME=0 --as NAME=1", "each NAME"),
    "a name for the only one": (ONE, (Source("orders"),), True, "--as orders=0", ""),
    "names that stay": (
        NAMED, (Source("orders"), Source("bills")), True, "--as orders=orders --as bills=OLD", "each OLD",
    ),
    "one name is dropped": (NAMED, (Source("orders"), kafka("payments", "")), True,
                            "--as orders=orders --as payments=payments", ""),
    "nothing is said": (FILES, None, False, "--as 0=0 --as 1=1", ""),
}  # fmt: skip


@pytest.mark.parametrize(("entry", "sources", "named", "command", "says"), CASES.values(), ids=CASES)
def test_what_is_known_is_filled_in_and_the_rest_is_said(entry, sources, named, command, says):
    view = view_of(**{"offsets/4": entry.encode()})
    remedy = continue_sources(view, offset_log.decode(entry.encode(), "offsets/4"), sources, "Keep them.", named=named)
    assert remedy["commands"] == (f"ckpt sources {view.location} {command}",)
    assert says in remedy["hint"]
    assert bool(says) == ("OLD" in command or "NAME" in command)
    assert remedy["hint"].startswith("Keep them. Or say what each source")
