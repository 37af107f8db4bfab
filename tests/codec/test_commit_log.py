"""Entries of the commit log of version 3: exactly one of the sinks that a query ever had is the active one."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec import commit_log
from airflow_provider_ckpt.errors import MalformedEntryError


def entry(**active: bool) -> bytes:
    """An entry with sinks of these names."""
    fields = {"commitOffset": "-", "providerName": "p", "apiVersion": "DSv1"}
    sinks = {name: {"sinkName": name, **fields, "isActive": is_active} for name, is_active in active.items()}
    return b"v3\n" + json.dumps({"sinkMetadataMap": sinks}).encode()


def test_one_sink_is_active():
    read = commit_log.decode(entry(lake=False, archive=True), "commits/3")
    assert [sink.sink_name for sink in read.sinks.values() if sink.is_active] == ["archive"]


@pytest.mark.parametrize("active", [{}, {"lake": False}, {"lake": True, "archive": True}])
def test_none_and_several_are_refused(active):
    with pytest.raises(MalformedEntryError, match="exactly one active sink") as refused:
        commit_log.decode(entry(**active), "commits/3")
    assert (refused.value.name, refused.value.spark_error) == ("commits/3", "IllegalArgumentException")
