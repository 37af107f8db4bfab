"""What the name of a data file tells, and how the log spells it."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from airflow_provider_ckpt.changes.repair.data_file import (
    data_file_of,
    name_below,
    newest_of_each_role,
    same_role,
    spelling_of,
    unlisted,
)
from airflow_provider_ckpt.codec.source_log import SinkFileStatus
from airflow_provider_ckpt.storage.stored_object import StoredObject

UUID = "ce24c65e-182f-432f-a3fc-dac8091ba6d2"


def listed(name: str, at_ms: int = 5, *, link: bool = False) -> StoredObject:
    return StoredObject(name, 7, at_ms, "etag", link)


def status(path: str) -> SinkFileStatus:
    return SinkFileStatus(path, 1, False, 1, 3, 128, "add")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        (f"part-00003-{UUID}-c000.snappy.parquet", ("", 3, 0)),
        (f"part-00003-{UUID}-c012.json.gz", ("", 3, 12)),
        (f"part-123456-{UUID}.c000.parquet", ("", 123456, 0)),
        (f"day=1/_hidden=2/part-00000-{UUID}-c000.txt", ("day=1/_hidden=2", 0, 0)),
        (f"_temporary/0/part-00000-{UUID}-c000.txt", None),
        (f".part-00000-{UUID}-c000.txt.crc", None),
        ("part-00000.parquet", None),
        ("notes.txt", None),
    ],
)
def test_the_task_and_its_counter_are_in_the_name(name, role):
    file = data_file_of(listed(name))
    assert (file.role if file else None) == role


def test_links_are_no_data_files():
    assert data_file_of(listed(f"part-00000-{UUID}-c000.txt", link=True)) is None


def test_of_each_task_the_newest_file():
    names = [
        f"part-{task:05}-{number:08x}-182f-432f-a3fc-dac8091ba6d2-c000.txt" for number, task in enumerate([1, 0, 1])
    ]
    files = unlisted([listed(name, at) for at, name in enumerate(names)], {"other"})
    assert [file.name for file in files] == names
    assert [file.name for file in newest_of_each_role(files)] == [names[1], names[2]]
    assert [file.name for file in same_role(files) or ()] == [names[0], names[2]]
    assert same_role(files[:2]) is None
    assert unlisted([listed(names[0])], {names[0]}) == ()


@pytest.mark.parametrize(
    ("path", "root", "location", "directory"),
    [
        ("file:///lake/a%20b/day=1/p.txt", "/lake/a b", "/lake/a b", "file:///lake/a%20b/"),
        ("s3a://lake/out/p.txt", "lake/out", "s3://lake/out", "s3a://lake/out/"),
        ("s3a://lake/elsewhere/p.txt", "lake/out", "s3://lake/out", "s3://lake/out/"),
        ("file:///x/p", "/lake/a b%", "/lake/a b%", "file:///lake/a%20b%25/"),
    ],
)
def test_it_is_spelt_as_the_other_entries_spell_it(path, root, location, directory):
    spelling = spelling_of([status(path)], root, location)
    assert spelling.directory == directory
    file = data_file_of(listed(f"k=a b%2F/part-00000-{UUID}-c000.txt"))
    assert file is not None
    line = spelling.status(file)
    assert unquote(line.path) == unquote(directory) + file.name
    assert name_below(root, line) == file.name or directory.startswith("s3://")


def test_without_another_entry_the_blocks_are_those_of_a_disk():
    assert spelling_of([], "/out", "/out").block_size == 32 << 20
    assert spelling_of([status("file:///out/p")], "/out", "/out").block_replication == 3
