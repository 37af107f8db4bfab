"""At which entries a log is compacted, by our rule and by Spark's own class."""

from __future__ import annotations

from typing import Any

from airflow_provider_ckpt.checkpoint.compaction import interval_over

CONFS = (1, 2, 3, 4, 5, 7, 9, 10, 11, 20, 50)
COMPACTED = (*range(31), 39, 49, 59, 99, 100)


def test_the_interval_over_one_compacted_entry(spark: Any) -> None:
    streaming = spark._jvm.org.apache.spark.sql.execution.streaming.runtime
    theirs = streaming.CompactibleFileStreamLog.deriveCompactInterval
    for conf in CONFS:
        for compacted in COMPACTED:
            assert interval_over(conf, [compacted]) == theirs(conf, compacted), (conf, compacted)
