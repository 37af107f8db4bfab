"""Answer to Airflow's provider discovery. Airflow imports this early: nothing else is imported here."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """The provider's description (schema: ``provider_info.schema.json`` of Airflow)."""
    name = "Spark checkpoint"
    return {
        "package-name": "airflow-provider-ckpt",
        "name": name,
        "description": "Wait for, gate, back up, restore and roll back Spark Structured Streaming checkpoints; stop "
        "and start their queries.",
        "integrations": [
            {"integration-name": name, "external-doc-url": "https://spark.apache.org/streaming/", "tags": ["apache"]}
        ],
        "hooks": [_modules(name, "hooks")],
        "operators": [_modules(name, "operators")],
        "sensors": [_modules(name, "sensors")],
        "triggers": [_modules(name, "triggers")],
        "notifications": ["airflow_provider_ckpt.notifications.checkpoint.ExplainNotifier"],
        "connection-types": [
            {
                "connection-type": "checkpoint",
                "hook-class-name": "airflow_provider_ckpt.hooks.checkpoint.CheckpointHook",
                "hook-name": name,
                "ui-field-behaviour": UI_FIELD_BEHAVIOUR,
                "conn-fields": {
                    "storage_conn_id": {
                        "label": "Storage connection",
                        "description": "Id of the connection that opens the storage, such as an AWS one.",
                        "schema": {"type": ["string", "null"]},
                    },
                    "storage_options": {
                        "label": "Storage options (JSON)",
                        "description": "Options of the fsspec driver.",
                        "schema": {"type": ["string", "null"]},
                    },
                },
            }
        ],
        "config": {
            "ckpt": {
                "description": "The query file. The Checkpoints pages: what they show and start. What is explained.",
                "options": {
                    **{name: _option(*said) for name, said in OPTIONS.items()},
                    "explain_failures": {**_option(EXPLAIN_FAILURES, "True"), "type": "boolean", "default": "False"},
                },
            }
        },
    }


#: Options of the section ``[ckpt]``: what each means, and an example.
OPTIONS: dict[str, tuple[str, str]] = {
    "file": (
        "The query file, by whose names operators, sensors and pages know queries: a path or a URL. Behind it, "
        "`conn=ID` names the connection of type checkpoint that opens it.",
        "s3://lake/ckpt.yaml conn=lake",
    ),
    "roots": (
        "Locations below which checkpoints are shown, with commas or lines between them; nothing else is opened. "
        "Behind one, `conn=ID` names the connection of type checkpoint that opens it.",
        "s3://lake/checkpoints conn=lake, /data/checkpoints",
    ),
    "index": (
        "Directory with the index of the fleet, which `ckpt fleet --index` or the DAG checkpoint_index writes; "
        "`conn=ID` as in roots.",
        "s3://lake/ckpt/index conn=lake",
    ),
    "backup_roots": ("Roots of backups that the pages list, as in roots.", "s3://lake/backups conn=lake"),
    "rollback_dag": ("The DAG that a rollback is started with.", "checkpoint_rollback"),
    "reset_dag": ("The DAG that a reset of offsets is started with.", "checkpoint_reset"),
    "data_roots": (
        "Locations below which previews may read sinks and tables, as in roots.",
        "s3://lake/tables conn=lake",
    ),
    "brokers": (
        "What previews of resets may ask: bootstrap servers, and connections of type kafka as conn=ID.",
        "broker:9092, conn=kafka_default",
    ),
}


EXPLAIN_FAILURES = (
    "Whether failed tasks that run Spark and have a parameter `query` or `checkpoint` are explained in their log, as "
    "ExplainNotifier does it."
)


def _option(description: str, example: str) -> dict[str, Any]:
    return {
        "description": description,
        "version_added": None,
        "type": "string",
        "example": example,
        "default": "",
    }


UI_FIELD_BEHAVIOUR: dict[str, Any] = {
    "hidden-fields": ["schema", "login", "password", "port"],
    "relabeling": {"host": "Base location"},
    "placeholders": {"host": "s3://bucket/checkpoints"},
}


def _modules(name: str, room: str) -> dict[str, Any]:
    return {"integration-name": name, "python-modules": [f"airflow_provider_ckpt.{room}.checkpoint"]}
