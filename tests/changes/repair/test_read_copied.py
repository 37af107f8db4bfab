"""A copy has to be one of this very log, and its files have to be there."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.lacking import Lacking
from airflow_provider_ckpt.changes.repair.read_copied import copied_statuses, names_in, read_copied, require_whole_copy
from airflow_provider_ckpt.changes.repair.read_log import read_log
from airflow_provider_ckpt.checkpoint.compaction import Shape
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repair.fake_table import FakeTable, part


@pytest.fixture
def table(tmp_path) -> FakeTable:
    return FakeTable(tmp_path / "t", tasks=1).run(12)


def lacking(table: FakeTable) -> tuple[Lacking, Store]:
    sink = Store.open(str(table.output))
    return Lacking(read_log(read_file_sink(sink), sink), Shape(10, 11)), sink


def test_what_the_log_lacks_is_taken(table, tmp_path):
    copy = Store.open(str(table.copied(tmp_path / "copy")))
    before = table.forget("9.compact", "11")
    log, sink = lacking(table)
    log = Lacking(log.contents, log.shape, read_copied(log, copy, sink))
    assert {name.partition("/")[2]: data.decode() for name, data in log.copied.items()} == {
        name: before[name] for name in ("11", "9.compact")
    }
    assert names_in(sink, copied_statuses(log)) == {part(batch, 0) for batch in (*range(10), 11)}
    require_whole_copy(log, sink, sink.find())


def test_a_compacted_entry_that_leaves_out_what_the_log_has(table, tmp_path):
    copy = table.copied(tmp_path / "copy")
    lines = (copy / "9.compact").read_text().split("\n")
    (copy / "9.compact").write_text("\n".join([lines[0], *lines[2:]]))
    table.forget("9.compact")
    log, sink = lacking(table)
    log = Lacking(log.contents, log.shape, read_copied(log, Store.open(str(copy)), sink))
    with pytest.raises(PlanError, match=f"it does not name {part(0, 0)}"):
        require_whole_copy(log, sink, sink.find())


def test_a_file_elsewhere(table):
    (table.log / "11").write_text((table.log / "11").read_text().replace("/out/", "/elsewhere/"))
    log, sink = lacking(table)
    with pytest.raises(PlanError, match="the table was moved"):
        names_in(sink, log.contents.statuses)
