"""The JSON Schema of a query file, by which editors complete and check it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_ckpt.query.engine import ENGINES, ON_FAILURE, OTHERWISE
from airflow_provider_ckpt.query.keep import KEPT
from airflow_provider_ckpt.query.query_parser import NO_DEFAULT
from airflow_provider_ckpt.query.sink import KINDS_OF_SINKS
from airflow_provider_ckpt.query.trigger import TRIGGERS

_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean"]}
_DURATION: Mapping[str, Any] = {"type": ["string", "number"], "examples": ["5m", "36h"]}


def _said(form: Mapping[str, Any], meaning: str) -> dict[str, Any]:
    return {"description": meaning, **form}


def _mapping(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _closed(keys: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(keys), "required": list(required), "additionalProperties": False}


_SOURCE: Mapping[str, Any] = {
    "anyOf": [
        {"type": ["string", "null"], "examples": ["kafka:main/orders", "delta:s3://lake/orders", "file:/data/in"]},
        _closed({"from": _TEXT, "options": _mapping(_SCALAR)}),
    ]
}
_SINK: Mapping[str, Any] = {**_TEXT, "pattern": f"^(?i:{'|'.join(sorted(KINDS_OF_SINKS))})(:.*)?$"}

#: What the entry of a query may have.
QUERY: Mapping[str, Mapping[str, Any]] = {
    "checkpoint": _said(_TEXT, "Checkpoint location of the query."),
    "sources": _said(
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array", "items": _SOURCE}, _mapping(_SOURCE)]},
        "Sources in their order, or by name: TYPE:PLACE, such as kafka:main/orders; or their number.",
    ),
    "source_options": _said(_mapping(_SCALAR), "Options of sources, such as 0.maxOffsetsPerTrigger."),
    "sink": _said(_SINK, "Sink of the query: TYPE:URI, such as file:s3://lake/orders."),
    "sinks": _said({"type": "array", "items": _SINK}, "Places that a foreachBatch writes to."),
    "sink_name": _said({"type": "string"}, "Name of the sink (sink evolution); an empty text is a sink without one."),
    "trigger": _said({"enum": list(TRIGGERS)}, "Trigger that the query runs with."),
    "spark_version": _said({"type": "string"}, "Spark that runs the query, in quotes, such as '4.3'."),
    "confs": _said(_mapping(_SCALAR), "SQL confs that its application sets."),
    "confs_file": _said(_TEXT, "File of confs that its application is started with."),
    "operators": _said(
        {"type": "array", "items": _TEXT}, "Spark's names of its stateful operators; an empty list is a query without."
    ),
    "async_progress": _said({"type": "boolean"}, "True if it uses async progress tracking."),
    "classes": _said({"type": "array", "items": _TEXT}, "Classes on its class path that are not those of open Spark."),
    "backups": _said(_TEXT, "Where its backups are; {query} means its name."),
    "undo": _said(_TEXT, "Where what changes remove is kept; {query} means its name."),
    "keep": _said(
        _closed(
            {
                **{key: {"type": "integer", "minimum": 0} for key in KEPT},
                "tag": _said({"type": "array", "items": _TEXT}, "Tags whose backups are kept."),
            }
        ),
        "Backups that ckpt prune keeps: as its options --keep-last, --keep-daily and so on.",
    ),
    "alert": _said(
        _closed(
            {
                "behind": _said(_DURATION, "Most age of the newest record that is not read."),
                "delay": _said(_DURATION, "Most delay of the watermark."),
                "age": _said(_DURATION, "Most age of the newest commit."),
                "rows": _said({"type": "integer", "minimum": 0}, "Most rows, files or versions that are not read."),
            }
        ),
        "Thresholds.",
    ),
    "engine": _said({"enum": list(ENGINES)}, "Where it runs."),
    "engine_connection": _said(_TEXT, "Id of the connection by which the engine is reached."),
    "application": _said({"type": "object"}, "What runs there; its keys are those of the engine."),
    "stop": _said(_closed({"wait_for_batch": _DURATION, "otherwise": {"enum": list(OTHERWISE)}}), "How it is stopped."),
    "start": _said(
        _closed({"commit_within": _DURATION, "on_failure": {"enum": list(ON_FAILURE)}}), "How it is started."
    ),
    "application_group": _said(_TEXT, "A name that all queries of one application have."),
}


_PIPELINE: Mapping[str, Mapping[str, Any]] = {
    "spec": _said(_TEXT, "Its specification, such as spark-pipeline.yml."),
    "remote": _said(_TEXT, "Its Connect server, such as sc://host:15002."),
    "flows": _said(
        _mapping(_closed({key: said for key, said in QUERY.items() if key != "checkpoint"})),
        "What is declared of flows, by name; their checkpoints are found.",
    ),
}


def query_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a query file."""
    defaults = {key: said for key, said in QUERY.items() if key not in NO_DEFAULT}
    cluster = {"type": "object", "properties": {"bootstrap.servers": _TEXT}, "required": ["bootstrap.servers"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ckpt.yaml",
        **_closed(
            {
                "format_version": {"const": 1},
                "defaults": _said(_closed(defaults), "What counts for each query that does not say it itself."),
                "kafka": _said(_mapping(cluster), "Kafka clusters by name; no secret may be here."),
                "storage": _said(
                    _closed({"options": {"type": "object"}, "conn_id": _TEXT}), "How storage is opened; no secret."
                ),
                "paths": _said(_mapping(_TEXT), "Locations as the cluster spells them, with what ckpt opens."),
                "queries": _said(_mapping(_closed(QUERY, "checkpoint")), "Queries by name."),
                "pipelines": _said(_mapping(_closed(_PIPELINE, "spec")), "Spark Declarative Pipelines by name."),
            },
            "format_version",
        ),
    }
