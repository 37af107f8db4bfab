"""What a Hudi table remembers: of tables that Spark wrote, with commits in JSON (version 6) and in Avro (version 9)."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError
from tests.sinks.conftest import marker


@pytest.mark.parametrize("name", ["hudi-6", "hudi-9"])
def test_spark_marks_each_commit_with_identifier_and_batch(marker_of, name):
    found = marker_of(name, 2, "hudi")
    assert found.last_batch == 5
    assert [commit.batch_id for commit in found.commits] == [2, 3, 4, 5]
    assert found.version_of(2) == found.commits[0].version


def test_it_goes_by_the_identifier_that_the_writer_sets(marker_of):
    assert marker_of("hudi-9", 2, "hudi", "#identifier=other").last_batch is None


def test_instants_that_were_rolled_back_are_forgotten(recorded):
    table = recorded("hudi-6") / "table"
    for path in sorted((table / ".hoodie").glob("*.commit"))[3:]:
        path.unlink()
    found = marker(f"hudi:{table}", "any", 2)
    assert (found.last_batch, found.held_after(2)) == (2, ())


def test_another_directory_is_no_hudi_table(tmp_path):
    with pytest.raises(StoreError, match="not a Hudi table"):
        marker(f"hudi:{tmp_path}", "q", 2)


@pytest.mark.parametrize("data", [b"", b"{", b"Obj\x01", b"[]", b'{"extraMetadata": 3}'])
def test_a_damaged_commit_is_an_error_that_names_it(recorded, data):
    table = recorded("hudi-6") / "table"
    newest = max((table / ".hoodie").glob("*.commit"))
    newest.write_bytes(data)
    with pytest.raises(StoreError, match=newest.name):
        marker(f"hudi:{table}", "q", 2)
