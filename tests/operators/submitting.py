"""Operators with the names and the fields of Airflow's providers, which the environment of the tests has not.

``test_real_operators.py`` compares the fields with those of the real classes.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

#: Module of each class, the fields that are read, and which of them are templates.
FIELDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "DatabricksSubmitRunOperator": (
        "databricks.operators.databricks",
        ("json", "tasks", "spark_jar_task", "notebook_task", "spark_python_task", "spark_submit_task", "pipeline_task",
         "new_cluster", "existing_cluster_id"),
        ("json", "tasks", "spark_jar_task", "notebook_task", "spark_python_task", "spark_submit_task", "pipeline_task",
         "new_cluster", "existing_cluster_id"),
    ),
    "DatabricksCreateJobsOperator": (
        "databricks.operators.databricks",
        ("json", "tasks", "job_clusters"),
        ("json", "tasks", "job_clusters"),
    ),
    "DatabricksRunNowOperator": ("databricks.operators.databricks", ("json", "job_id"), ("json", "job_id")),
    "DatabricksTaskBaseOperator": (
        "databricks.operators.databricks",
        ("new_cluster", "existing_cluster_id", "job_cluster_key"),
        (),
    ),
    "SparkKubernetesOperator": (
        "cncf.kubernetes.operators.spark_kubernetes",
        ("application_file", "template_spec"),
        ("application_file", "template_spec"),
    ),
    "EmrAddStepsOperator": ("amazon.aws.operators.emr", ("steps",), ("steps",)),
    "EmrServerlessStartJobOperator": (
        "amazon.aws.operators.emr",
        ("job_driver", "configuration_overrides"),
        ("job_driver", "configuration_overrides"),
    ),
    "EmrContainerOperator": (
        "amazon.aws.operators.emr",
        ("job_driver", "configuration_overrides"),
        ("job_driver", "configuration_overrides"),
    ),
    "LivyOperator": ("apache.livy.operators.livy", ("spark_params",), ("spark_params",)),
    "DataprocSubmitJobOperator": ("google.cloud.operators.dataproc", ("job",), ("job",)),
    "DataprocCreateBatchOperator": ("google.cloud.operators.dataproc", ("batch",), ("batch",)),
    "SSHOperator": ("ssh.operators.ssh", ("command",), ("command",)),
    "DockerOperator": ("docker.operators.docker", ("command",), ("command",)),
    "KubernetesPodOperator": ("cncf.kubernetes.operators.pod", ("cmds", "arguments"), ("cmds", "arguments")),
    "GlueJobOperator": (
        "amazon.aws.operators.glue",
        ("script_args", "create_job_kwargs", "update_config"),
        ("script_args", "create_job_kwargs"),
    ),
}  # fmt: skip


def operator(name: str, task_id: str, *, template_ext: tuple[str, ...] = (), **given: Any) -> BaseOperator:
    """An operator of that name, with what is given of its fields."""
    _, fields, templates = FIELDS[name]

    def init(self: Any, *, task_id: str, **arguments: Any) -> None:
        BaseOperator.__init__(self, task_id=task_id)
        for field in fields:
            setattr(self, field, arguments.get(field))

    attributes = {"__init__": init, "template_fields": templates, "template_ext": template_ext}
    return type(name, (BaseOperator,), attributes)(task_id=task_id, **given)
