"""Types that a checkpoint alone proves; what connectors of others write proves none."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.graph.proven_types import Proof, ProvenType, fitting, proven_type, proving_files

from .layouts import FILES, OF_OTHERS, STARTED_MS


def entry(*offsets: str, at_ms: int = STARTED_MS + 5_400, **metadata: object) -> OffsetSeq:
    head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": {}, **metadata})
    found = codec.decode("offsets/7", "\n".join(["v1", head, *offsets]).encode())
    assert isinstance(found, OffsetSeq)
    return found


def proven(offset: str, **own: bytes) -> ProvenType | None:
    return proven_type("0", entry(offset), 7, {name: codec.decode(name, data) for name, data in own.items()})


def test_a_file_source_is_known_by_its_log():
    found = proven('{"logOffset":3}', **{"sources/0/3": FILES})
    assert found == ProvenType("file", Proof("sources/0/3", "is the log of a file source"))
    assert "not declared" in found.sentence("0") and "sources/0/3" in found.sentence("0")


def test_a_compacted_log_proves_as_much():
    found = proven('{"logOffset":9}', **{"sources/0/9.compact": FILES})
    assert found is not None and found.type == "file"


def test_a_rate_source_is_known_by_the_time_of_its_start():
    found = proven("5", **{"sources/0/0": f"v1\n{STARTED_MS}".encode()})
    assert found is not None and (found.type, found.proof.file) == ("rate", "sources/0/0")


@pytest.mark.parametrize("case", OF_OTHERS)
def test_what_others_write_proves_nothing(case):
    offset, own = OF_OTHERS[case]
    assert proven(offset, **own) is None


def test_the_provider_of_the_offset_log_counts_first():
    info = {"sourceMetadataInfo": {"0": {"sourceId": "0", "providerName": "a.KafkaSourceProvider", "apiVersion": "2"}}}
    text = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}, **info})
    offsets = codec.decode("offsets/7", f'v2\n{text}\n0:{{"orders":{{"0":1}}}}'.encode())
    assert isinstance(offsets, OffsetSeq)
    found = proven_type("0", offsets, 7, {})
    assert found is not None and (found.type, found.proof.file) == ("kafka", "offsets/7")


def test_few_files_may_prove():
    assert proving_files("0", None) == ()
    assert proving_files("a", entry('{"logOffset":9}').offset("0")) == ("sources/a/9", "sources/a/9.compact")
    assert proving_files("0", entry("5").offset("0")) == ("sources/0/0",)
    assert proving_files("0", entry('{"logOffset":-1}').offset("0")) == ()


def test_a_source_that_was_another_one_before_has_no_type():
    found = {"0": ProvenType("file", Proof("sources/0/3", "")), "1": ProvenType("rate", Proof("sources/1/0", ""))}
    now, before = entry('{"logOffset":3}', "5"), entry('{"orders":{"0":1}}', "4")
    assert set(fitting(found, [now])) == {"0", "1"}
    assert set(fitting(found, [now, before])) == {"1"}
