"""What is left of a log, of a copy, and whether data files are whole."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.data_file import DataFile
from airflow_provider_ckpt.changes.repair.read_log import find_broken, read_copy, read_log
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repair.fake_table import FakeTable


@pytest.mark.parametrize(
    ("torn", "compacted", "singles", "damaged"),
    [
        ([], 9, [10, 11], []),
        (["11"], 9, [10], ["11"]),
        (["9.compact"], -1, [*range(9), 10, 11], ["9.compact"]),
    ],
)
def test_the_newest_compacted_entry_that_is_whole_and_all_after_it(tmp_path, torn, compacted, singles, damaged):
    table = FakeTable(tmp_path, tasks=1).run(12)
    for name in torn:
        (table.log / name).write_text("v1\n{")
    sink = Store.open(str(table.output))
    found = read_log(read_file_sink(sink), sink)
    assert (found.compacted, sorted(found.singles)) == (compacted, singles)
    assert [name.partition("/")[2] for name in found.damaged] == damaged


@pytest.mark.parametrize("inside", [True, False])
def test_a_copy_of_the_directory_or_of_the_log_alone(tmp_path, inside):
    table = FakeTable(tmp_path, tasks=1).run(3)
    (table.log / "1").write_text("torn")
    copy = Store.open(str(table.output if inside else table.log))
    found = read_copy([f"_spark_metadata/{batch}" for batch in range(4)], copy)
    assert list(found) == ["_spark_metadata/0", "_spark_metadata/2"]


@pytest.mark.parametrize(
    ("name", "content", "whole"),
    [
        ("a.parquet", b"PAR1..PAR1", True),
        ("a.parquet", b"PAR1......", False),
        ("a.parquet", b"....PAR1", False),
        ("a.parquet", b"PAR1", False),
        ("a.orc", b"ORC...ORC\x09", True),
        ("a.orc", b"ORC...", False),
        ("a.json", b"", True),
    ],
)
def test_a_file_without_its_end_was_not_finished(tmp_path, name, content, whole):
    (tmp_path / name).write_bytes(content)
    file = DataFile(name, len(content), 1, 0, 0)
    assert (find_broken([file], Store.open(str(tmp_path))) == ()) is whole
