"""What is found of batches of which no entry tells, and when the clocks cannot be compared."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.decision import Decisions
from airflow_provider_ckpt.changes.repair.find_evidence import Gathering
from airflow_provider_ckpt.changes.repair.lacking import Lacking
from airflow_provider_ckpt.changes.repair.read_copied import names_in
from airflow_provider_ckpt.changes.repair.read_log import read_log
from airflow_provider_ckpt.checkpoint.compaction import Shape
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repair.fake_table import FakeTable, part


def gathered(table: FakeTable, newest: int) -> tuple[Gathering, Lacking]:
    checkpoint, sink = Store.open(str(table.checkpoint)), Store.open(str(table.output))
    log = Lacking(read_log(read_file_sink(sink), sink), Shape(10, newest))
    named = names_in(sink, log.contents.statuses)
    return Gathering(checkpoint, None, sink, observe(checkpoint, deep=True), log, sink.find(), named), log


def test_the_files_that_no_entry_names_and_the_times_of_the_batches(tmp_path):
    table = FakeTable(tmp_path).run(5)
    table.forget("2")
    gathering, log = gathered(table, 4)
    found = gathering.evidence(log.unknown, Decisions())
    assert [file.name for file in found.free] == [part(2, 0), part(2, 1)]
    assert (found.times.doubt, found.partitioned, sorted(found.times.windows)) == ("", False, [1, 2, 3, 4])
    assert gathering.evidence([], Decisions()).free == ()


def test_an_entry_that_contradicts_the_times(tmp_path):
    table = FakeTable(tmp_path).run(5)
    before = table.forget("2")
    (table.log / "3").write_text(before["2"])
    gathering, log = gathered(table, 4)
    assert "the entry of batch 3 names part-00000" in gathering.evidence(log.unknown, Decisions()).times.doubt


@pytest.mark.s3
def test_without_an_entry_the_clocks_of_two_storages_are_not_compared(tmp_path, s3_store):
    table = FakeTable(tmp_path).run(2)
    table.forget()
    gathering, log = gathered(table, 1)
    assert gathering.evidence(log.unknown, Decisions()).times.doubt == ""
    view, files, named = gathering.view, gathering.files, gathering.named
    elsewhere = Gathering(gathering.checkpoint, None, s3_store("out"), view, log, files, named)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("airflow_provider_ckpt.changes.repair.find_evidence.find_broken", lambda files, store: ())
        assert "no entry is left by which the clock" in elsewhere.evidence(log.unknown, Decisions()).times.doubt
