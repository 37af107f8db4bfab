"""A text file that a program has written again is as it was before; what is not sure stays as it is."""

from __future__ import annotations

import gzip

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.changes.salvage.rewritten import as_it_was
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.damage import drop
from tests.views import offset_entry

WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": ()}
ENTRY = offset_entry(3)
COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
FORMS = {
    "an empty line": lambda data: data + b"\n\n",
    "empty lines of Windows": lambda data: data + b"\r\n\r\n \r\n",
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "gzip": gzip.compress,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-16 without a mark": lambda data: data.decode().encode("utf-16-le"),
    "a space after the version": lambda data: data.replace(b"\n", b" \n", 1),
    "zero bytes at the end": lambda data: data + bytes(100),
    "an empty first line": lambda data: b"\n" + data,
    "an empty second line": lambda data: data.replace(b"\n", b"\n\n", 1),
    "an empty line before the last": lambda data: b"\n\n".join(data.rsplit(b"\n", 1)),
    "a line of blanks before the last": lambda data: b"\n \t\n".join(data.rsplit(b"\n", 1)),
    "empty lines everywhere": lambda data: b"\n\n" + data.replace(b"\n", b"\r\n\r\n") + b"\r\n\r\n",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("name", "data"), [("offsets/3", ENTRY), ("commits/3", COMMIT)])
def test_the_form_of_a_text_can_be_undone(form, name, data):
    assert as_it_was(name, form(data), None, {}) == data.decode()
    assert as_it_was(name, form(data), HadoopChecksum.of(data), {}) == data.decode()


def test_several_forms_at_once():
    data = b"\xef\xbb\xbf" + ENTRY.replace(b"\n", b" \r\n", 1) + b"\r\n\r\n"
    assert as_it_was("offsets/3", gzip.compress(data), None, {}) == ENTRY.decode()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_checksum_file_decides(form):
    assert as_it_was("offsets/3", form(ENTRY), HadoopChecksum.of(b"another"), {}) is None
    assert as_it_was("offsets/3", form(ENTRY), HadoopChecksum.of(form(ENTRY)), {}) == ENTRY.decode(), "written with it"


@pytest.mark.parametrize(
    "data",
    [ENTRY, b"", bytes(200), ENTRY[: len(ENTRY) // 2], gzip.compress(ENTRY)[:-9], b"hello", b"\xff\xfe\0", b"v9\n{}"],
)
def test_what_is_whole_or_broken_is_not_written_again(data):
    assert as_it_was("offsets/3", data, None, {}) is None


def test_a_bomb_is_not_unpacked():
    assert as_it_was("offsets/3", gzip.compress(bytes(64 << 20)), None, {}) is None


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["offsets/4", "offsets/3"])
@pytest.mark.parametrize("summed", [True, False])
def test_a_salvage_writes_the_entry_again_and_loses_no_batch(form, name, summed, golden):
    checkpoint = golden("file-to-parquet-5")
    whole = (checkpoint / name).read_bytes()
    (checkpoint / name).write_bytes(form(whole))
    if not summed:
        (checkpoint / name).with_name(f".{(checkpoint / name).name}.crc").unlink()
    found = [item for item in inspect(Store.open(str(checkpoint))) if item.severity == "error"]
    assert [any(command.startswith("ckpt salvage") for command in item.commands) for item in found] == [True][
        : len(found)
    ]
    assert found or form is FORMS["zero bytes at the end"], "which Spark passes over"
    stores = Stores(Store.open(str(checkpoint)))
    plan = make_salvage(stores, sink=Sink("kafka"))
    assert (plan.batch_id, plan.sink_effect) == (4, "exact")
    apply(plan, stores, **WORD)
    assert (checkpoint / name).read_bytes() == whole
    assert [item for item in inspect(Store.open(str(checkpoint)), deep=True) if item.severity == "error"] == []


def test_the_batch_in_flight_stays_in_flight(golden):
    checkpoint = golden("file-to-parquet-5")
    drop(checkpoint / "commits/4")
    whole = (checkpoint / "offsets/4").read_bytes()
    (checkpoint / "offsets/4").write_bytes(whole + b"\n\n")
    stores = Stores(Store.open(str(checkpoint)))
    apply(make_salvage(stores, sink=Sink("kafka")), stores, **{**WORD, "accept_sink": ("duplicated",)})
    assert (checkpoint / "offsets/4").read_bytes() == whole
    assert not (checkpoint / "commits/4").exists()
