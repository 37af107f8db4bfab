"""What Airflow's provider discovery asks for. Airflow imports this early: nothing else is imported here."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """The provider's description (schema: ``provider_info.schema.json`` of Airflow)."""
    name = "Spark checkpoint"
    return {
        "package-name": "airflow-provider-ckpt",
        "name": name,
        "description": "Wait for, gate, back up, restore and roll back Spark Structured Streaming checkpoints.",
        "integrations": [
            {"integration-name": name, "external-doc-url": "https://spark.apache.org/streaming/", "tags": ["apache"]}
        ],
        "hooks": [_modules(name, "hooks")],
        "operators": [_modules(name, "operators")],
        "sensors": [_modules(name, "sensors")],
        "triggers": [_modules(name, "triggers")],
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
    }


UI_FIELD_BEHAVIOUR: dict[str, Any] = {
    "hidden-fields": ["schema", "login", "password", "port"],
    "relabeling": {"host": "Base location"},
    "placeholders": {"host": "s3://bucket/checkpoints"},
}


def _modules(name: str, room: str) -> dict[str, Any]:
    return {"integration-name": name, "python-modules": [f"airflow_provider_ckpt.{room}.checkpoint"]}
