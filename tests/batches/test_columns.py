"""The columns of both tables."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.columns import BATCHES, CHECKPOINTS, TABLES, ddl, named
from airflow_provider_ckpt.batches.rows import BatchRow
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.fleet.row import FleetRow
from tests.package import PACKAGE


def test_the_schema_is_text_that_spark_reads():
    assert ddl(BATCHES).startswith("`location` string, `query_id` string, `timeline` int, `batch_id` bigint, ")
    assert "`confs` map<string,string>" in ddl(BATCHES)


@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES)
def test_no_two_columns_have_one_name_and_each_has_a_meaning(columns):
    assert len({column.name for column in columns}) == len(columns)
    assert all(column.meaning for column in columns)


def test_columns_by_name_in_the_order_asked_for():
    assert [column.name for column in named(BATCHES, ["batch_id", "location"])] == ["batch_id", "location"]
    with pytest.raises(ValueError, match=r"there is no column 'offset'; the columns are location, query_id, "):
        named(BATCHES, ["batch_id", "offset"])


def test_a_row_that_is_a_problem_alone_has_a_value_in_every_column():
    row = BatchRow("s3://lake/orders", problem="permission denied")
    values = {column.name: column.value(row) for column in BATCHES}
    assert {name for name, value in values.items() if value not in (None, (), False)} == {"location", "problem"}


def test_a_checkpoint_with_its_findings():
    finding = Finding("CKPT101", "error", "broken", batch_id=6, name="offsets/6", hint="Restore it.")
    row = FleetRow("s3://lake/orders", "7f0c", 7, 6, 7, 0, 12, (finding,), unknown=("state",))
    values = {column.name: column.value(row) for column in CHECKPOINTS}
    assert values["findings"] == [("CKPT101", "error", 6, "offsets/6", "broken", "Restore it.")]
    assert (values["worst"], values["watermark"], values["unknown"], values["problem"]) == (
        "error",
        None,
        ("state",),
        None,
    )


@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES)
def test_the_page_has_every_column(columns):
    page = (PACKAGE.parent / "docs/pipeline.md").read_text()
    assert [column.name for column in columns if f"| `{column.name}` |" not in page or column.meaning not in page] == []
