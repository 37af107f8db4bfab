"""A table is read back by Spark's own reader; where the JVM has no driver of the storage, by Python."""

from __future__ import annotations

from collections import Counter

from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.spark.read_back import history
from airflow_provider_ckpt.storage.store import Store
from tests.spark.sink_lab import FILES, rows_in, run, stream_of, table_of, wanted


def test_columns_and_filters_are_pushed_down_and_merging_changes_nothing(sink_lab):
    run(sink_lab)
    plan = history(sink_lab.spark, table_of(sink_lab)).where("value > 3").select("value")._jdf.queryExecution()
    assert "Batched: true" in plan.toString()
    assert "PushedFilters: [IsNotNull(value), GreaterThan(value,3)]" in plan.toString()
    table = Store.open(table_of(sink_lab))
    (place,) = compact(table, now_ms=0, least_epochs=2, kept_epochs=0)
    assert place.epoch == FILES - 1 and len(read_table(table).files) == 1
    assert rows_in(sink_lab) == wanted(FILES)


def test_a_column_that_came_later_is_null_before(sink_lab):
    run(sink_lab)
    sink_lab.write([FILES])
    assert run(sink_lab, lambda stream: stream.selectExpr("key", "'new' as letter", "value")) is None
    found = history(sink_lab.spark, table_of(sink_lab))
    assert found.columns == ["key", "value", "letter"]
    assert rows_in(sink_lab) == wanted(FILES + 1)
    assert found.where("letter is null").count() == 2 * FILES


def test_a_storage_that_the_jvm_cannot_open_is_read_by_python(sink_lab, s3_server):
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    Store.open("s3://streams", **options).fs.mkdir("streams")
    path = "s3://streams/history"
    stream = stream_of(sink_lab).selectExpr("*", "timestamp_millis(value) as at", "map(key, value) as m")
    writer = stream.writeStream.format("checkpoint_history")
    writer = writer.options(**{f"storage.{key}": text for key, text in options.items()})
    query = writer.option("checkpointLocation", str(sink_lab.checkpoint)).trigger(availableNow=True).start(path)
    assert query.awaitTermination(240)
    found = history(sink_lab.spark, path, **options)
    assert Counter((row.key, row.value) for row in found.collect()) == wanted(FILES)
    assert found.where("m[key] = value and unix_millis(at) = value").count() == 2 * FILES
