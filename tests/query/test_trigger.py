"""The triggers are those of PySpark."""

from __future__ import annotations

import inspect

from airflow_provider_ckpt.query.trigger import TRIGGERS


def test_each_trigger_is_an_argument_of_pyspark():
    from pyspark.sql.streaming import DataStreamWriter

    assert set(TRIGGERS) == set(inspect.signature(DataStreamWriter.trigger).parameters) - {"self"}
