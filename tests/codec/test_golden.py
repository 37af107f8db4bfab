"""Every file that real Spark wrote goes through the codec and comes back as the same bytes."""

from __future__ import annotations

import dataclasses

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.verbatim import Verbatim
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import ARCHIVES, CASES, EXPECTED, packed


def files_of(case: str) -> list[tuple[str, bytes]]:
    """Name inside the checkpoint (or the output directory) and bytes of every file."""
    return sorted((name.partition("/")[2], data) for name, data, _ in packed(ARCHIVES[case]) if data is not None)


def is_log(name: str) -> bool:
    return not isinstance(
        layout.parse(name),
        layout.StateFile | layout.StateTable | layout.StateSchemaFile | layout.Other | layout.Temporary,
    )


@pytest.mark.parametrize("case", CASES)
def test_every_file_round_trips_to_the_same_bytes(case):
    names = [name for name, data in files_of(case) if codec.decode(name, data).encode() == data]
    assert names == [name for name, _ in files_of(case)]


@pytest.mark.parametrize("case", CASES)
def test_a_new_value_serialises_as_spark_wrote_it(case):
    """Decoded values are rebuilt without their bytes: what is written then is what Spark wrote."""
    compared = 0
    for name, data in files_of(case):
        value = codec.decode(name, data)
        if isinstance(value, Verbatim):
            assert rebuilt(value).encode() == data, name
            compared += 1
    assert compared >= 5


def rebuilt(value: Verbatim) -> Verbatim:
    if isinstance(value, OffsetSeq) and value.metadata:
        return dataclasses.replace(value, metadata=dataclasses.replace(value.metadata))
    return dataclasses.replace(value)


@pytest.mark.parametrize("case", CASES)
def test_every_name_has_a_place(case):
    others = [name for name, _ in files_of(case) if isinstance(layout.parse(name), layout.Other)]
    assert others == []


@pytest.mark.parametrize("case", CASES)
def test_hadoop_checksums_fit_and_are_written_as_hadoop_writes_them(case):
    files = dict(files_of(case))
    for name, data in files.items():
        place = layout.parse(name)
        if isinstance(place, layout.Sidecar) and place.hidden and not name.endswith(".crc.crc"):
            assert codec.checksum.HadoopChecksum.of(files[place.of]).encode() == data, name


def test_sparks_own_checksums_fit():
    checked = 0
    for case in CASES:
        files = dict(files_of(case))
        for name, data in files.items():
            place = layout.parse(name)
            if isinstance(place, layout.Sidecar) and not place.hidden:
                value = codec.decode(name, data)
                assert isinstance(value, codec.checksum.SparkChecksum) and value.matches(files[place.of]), name
                checked += 1
    assert checked > 20


@pytest.mark.parametrize("case", CASES)
def test_the_view_says_what_spark_said(goldens, case):
    version, _, name = case.partition("/")
    expected = EXPECTED[version][name]
    view = observe(Store.open(str(goldens[case] / "checkpoint")), deep=True)
    newest = view.latest_offset_seq
    assert newest is not None
    assert view.query_id == expected["query_id"]
    assert list(view.planned) == expected["planned_batches"]
    assert list(view.committed) == expected["committed_batches"]
    assert newest.version == expected["offset_log_version"]
    assert view.commit(view.committed[-1]).version == expected["commit_log_version"]
    assert len(newest.offsets) == expected["source_count"]
