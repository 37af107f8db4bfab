"""Request to the Spark of a repartition, with the confs that the checkpoint was written with.

Spark takes the format of the state's file names from the session alone, and compares it with the commit log after it
has planned the batch: a session with the wrong one leaves a checkpoint that does not start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from airflow_provider_ckpt.backup.relocation import spark_uri
from airflow_provider_ckpt.changes.repartition.refusals import confs_of_batch
from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS
from airflow_provider_ckpt.checkpoint.state.reads import STATE_FORMAT, state_format, state_reads
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import PlanError

#: A planner that leaves out empty partitions would leave out their state; Spark Connect, which SPARK_API_MODE may ask
#: for, has no manager; and of two attempts to write the state of a partition nobody knows which was last.
_OWN = {"spark.sql.adaptive.enabled": "false", "spark.api.mode": "classic", "spark.speculation": "false"}
#: What a path of Hadoop has as it is; it escapes a blank, which the state reader then takes for a name with %20 in it.
_SIGNS = "@!$&'()+,;="
#: What Hadoop says of a storage whose classes it does not have.
_NO_DRIVER = re.compile(r"No FileSystem for scheme|No AbstractFileSystem|\bfs\.[\w.$]+ not found")
_CONNECT = ("spark.remote", "spark.api.mode", "spark.connect.grpc.binding.port")
_HINT = "Nothing was done. Leave it out."


def what_helps(said: str) -> str:
    """Remedy for a Spark that could not open the checkpoint, by its error; empty where that is not known."""
    if not _NO_DRIVER.search(said):
        return ""
    return (
        "This Spark has no driver of the storage: give it one with --conf (confs= in a DAG), for S3 for example "
        "spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION, in the version of hadoop-client-api in pyspark/jars."
    )


def request_of(view: CheckpointView, kept: int, partitions: int | None, confs: Mapping[str, str]) -> dict[str, Any]:
    """Request to Spark, JSON-ready.

    Args:
        view: The checkpoint, with the entries of the batch ``kept`` and the metadata of its operators.
        kept: The committed batch whose state is repartitioned.
        partitions: Number of partitions that the state will have; None when it has them already and is only read.
        confs: Confs of the user, for the Spark and what it needs to reach the checkpoint.

    Raises:
        PlanError: A conf of the user is one that the checkpoint decides, or is about Spark Connect; or Spark cannot
            open such a location.
    """
    if quote(spark_uri(view.location), safe=f"/:{_SIGNS}") != spark_uri(view.location):
        raise PlanError(
            "Spark's state reader cannot open a location with such signs in it.",
            location=view.location,
            hint=f"Nothing was done. Only the letters a to z, digits and any of -._~{_SIGNS} can be in the path.",
        )
    return {
        "location": spark_uri(view.location),
        "kept": kept,
        "planned": view.latest_planned,
        "committed": view.latest_committed,
        "partitions": partitions,
        "confs": session_confs(view, kept, confs),
        "reads": [read.options for read in state_reads(view)],
    }


def session_confs(view: CheckpointView, kept: int, confs: Mapping[str, str]) -> dict[str, str]:
    """The confs of the session: the user's confs, which those of the checkpoint override. Raises PlanError."""
    logged = {key: value for key, value in confs_of_batch(view, kept).items() if value is not None}
    logged.pop(SHUFFLE_PARTITIONS, None)
    own = {**logged, STATE_FORMAT: state_format(view.commit(kept)), **_OWN}
    for key, value in confs.items():
        if key in _CONNECT:
            raise PlanError(
                f"{key} is about Spark Connect, which has no manager of checkpoints.",
                location=view.location,
                hint=_HINT,
            )
        if _OWN.get(key, value) != value:
            raise PlanError(
                f"a repartition runs with {key} = {own[key]}, and not with {value}.", location=view.location, hint=_HINT
            )
        if key in own and own[key] != value:
            raise PlanError(
                f"{key} = {value} is not what the checkpoint was written with, which is {own[key]}: with another value "
                "a repartition leaves a checkpoint that does not start.",
                location=view.location,
                hint=_HINT,
            )
    return {**confs, **own}
