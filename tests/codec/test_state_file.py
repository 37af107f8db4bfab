"""What a RocksDB snapshot and a changelog say of other files, and every way in which they can be none."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import pytest

from airflow_provider_ckpt.codec import state_file
from airflow_provider_ckpt.codec.state_file import StateTableRef, read_lineage, read_zip
from airflow_provider_ckpt.errors import MalformedEntryError

NAME = "state/0/0/7.zip"


def snapshot(*, metadata: object = None, text: str | None = None, entries: int = 0, padding: int = 0) -> bytes:
    """A RocksDB zip with this metadata, and other entries."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(entries):
            archive.writestr(f"OPTIONS-{number}", b"x")
        if padding:
            archive.writestr("MANIFEST", bytes(padding))
        if text is not None or metadata is not None:
            archive.writestr("metadata", text if text is not None else f"v1\n{json.dumps(metadata)}")
    return data.getvalue()


def table(name: object, size: object = 5) -> dict[str, object]:
    return {"localSstFileName": "1.sst", "dfsSstFileName": name, "sizeBytes": size}


def test_a_snapshot_names_its_tables_and_logs():
    log = {"dfsLogFileName": "9-id.log", "sizeBytes": 3}
    read = read_zip(snapshot(metadata={"sstFiles": [table("1-id.sst")], "logFiles": [log]}, entries=2), NAME)
    assert read == (StateTableRef("SSTs/1-id.sst", 5), StateTableRef("logs/9-id.log", 3))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not a RocksDB snapshot: File is not a zip file"),
        (snapshot(entries=1), "it has no entry metadata"),
        (snapshot(metadata={})[:-30], "not a RocksDB snapshot"),
        (snapshot(text="x\n{}"), "not a log version"),
        (snapshot(text="v1\nnull"), "is null"),
        (snapshot(metadata={"sstFiles": ["1.sst"]}), "dfsSstFileName is not in an object"),
        *(
            (snapshot(metadata={"sstFiles": [table(name)]}), "a file name that is not valid")
            for name in ("../x", "", ".", "..")
        ),
        (snapshot(metadata={"sstFiles": [table("1.sst", "big")]}), "'sizeBytes' in the RocksDB checkpoint metadata"),
        (snapshot(metadata={}, entries=state_file.MOST_ZIP_ENTRIES), "more than 1,000 entries"),
    ],
)
def test_what_is_no_snapshot(data, problem):
    with pytest.raises(MalformedEntryError, match=problem) as refused:
        read_zip(data, NAME)
    assert refused.value.name == NAME


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (snapshot(text="v1\n" + "{}".rjust(1_000)), "its metadata has more than 1,000 bytes"),
        (snapshot(metadata={}, padding=4_000), "more than 3,000 bytes when it is unpacked"),
    ],
)
def test_a_snapshot_is_not_unpacked_beyond_its_bounds(monkeypatch, data, problem):
    monkeypatch.setattr(state_file, "MOST_METADATA_BYTES", 1_000)
    monkeypatch.setattr(state_file, "MOST_ZIP_BYTES", 3_000)
    monkeypatch.setattr(state_file, "_PIECE", 500)
    with pytest.raises(MalformedEntryError, match=problem):
        read_zip(data, NAME)


# --- the lineage in a changelog -------------------------------------------------------------------------------------

CHANGELOG = "state/0/0/7_id.changelog"


def utf(text: str) -> bytes:
    """``DataOutputStream.writeUTF``."""
    return struct.pack(">H", len(text.encode())) + text.encode()


def plain(data: bytes, wanted: int) -> bytes:
    """A codec that compresses nothing."""
    return data[:wanted]


LINEAGE = utf("v3") + utf(json.dumps([{"version": 6, "checkpointUniqueId": "a"}]))


@pytest.mark.parametrize("data", [LINEAGE, LINEAGE + b"more", LINEAGE.replace(b"v3", b"v4")])
def test_a_changelog_names_the_files_before_it(data):
    assert read_lineage(data, "plain", CHANGELOG, {"plain": plain}) == ((6, "a"),)


def test_a_codec_that_cannot_be_read_is_named():
    with pytest.raises(MalformedEntryError, match="compressed with 'zstd'"):
        read_lineage(b"", "zstd", CHANGELOG, {"plain": plain})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "unpack requires a buffer of 2 bytes"),
        (utf("v3"), "unpack requires a buffer of 2 bytes"),
        (utf("v2") + utf("[]"), "version 'v2'"),
        (utf("v3") + utf("{}"), "the lineage is not a list of objects"),
        (utf("v3") + utf("[1]"), "the lineage is not a list of objects"),
        (utf("v3") + utf("["), "the lineage is not JSON"),
        (utf("v3") + utf('[{"version":6}]'), "'checkpointUniqueId' in the lineage is not a text"),
        (LINEAGE[:-1], "the stream is cut off"),
        (utf("v3") + b"\0\1\xff", "codec can't decode byte 0xff"),
    ],
)
def test_what_is_no_changelog_of_format_2(data, problem):
    with pytest.raises(MalformedEntryError, match=problem) as refused:
        read_lineage(data, "plain", CHANGELOG, {"plain": plain})
    assert refused.value.name == CHANGELOG
