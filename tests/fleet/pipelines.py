"""Pipelines in memory: flows that a storage has, and definitions in Python."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.flows import Flow
from airflow_provider_ckpt.fleet.pipeline import PipelineFlow, SeenPipeline, see_pipeline
from airflow_provider_ckpt.query.pipeline_definitions import Definitions
from airflow_provider_ckpt.query.pipeline_spec import PipelineSpec


def there(*parts: str, version: int = 0) -> PipelineFlow:
    *target, flow = parts
    return PipelineFlow(Flow("/s", tuple(target), flow, version), tuple(range(version)))


def seen(*flows: PipelineFlow, python: str = "", **spec: str) -> SeenPipeline:
    definitions = Definitions()
    definitions.add_python(f"from pyspark import pipelines as dp\n{python}", "flows.py")
    confs = {"spark.a": "1"}
    given = PipelineSpec("shop", "file:///s", configuration=confs, **spec)
    return see_pipeline("shop", "spark-pipeline.yml", given, "/s", flows, definitions)


BRONZE = there("spark_catalog", "default", "bronze", "bronze")
TABLE = "@dp.table\ndef bronze(): ...\n"
READER = "@dp.table\ndef silver():\n    return spark.readStream.table('bronze')\n"
