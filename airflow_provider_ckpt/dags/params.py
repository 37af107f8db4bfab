"""Params that more than one DAG has."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param

from airflow_provider_ckpt.fleet import DEPTH

TEXT, NUMBER, MAPPING = ["null", "string"], ["null", "integer"], ["null", "object"]


def optional(kind: Any, description: str) -> Param:
    """A param that need not be given."""
    return Param(None, type=kind, description=description)


def flag(description: str) -> Param:
    """A param that is false unless it is said."""
    return Param(False, type="boolean", description=description)


def texts(given: Any, description: str) -> Param:
    """A param with a list of texts."""
    return Param(list(given), type="array", items={"type": "string"}, description=description)


def roots(given: Any, what: str = "Where checkpoints are") -> Param:
    """A param with places of the storage."""
    return texts(given, f"{what}, relative to the connection's base or any fsspec URL")


def depth() -> Param:
    """How deep checkpoints are searched for."""
    return Param(DEPTH, type="integer", minimum=0, description="How many levels below a root to search")


CONN_ID = optional(TEXT, "Connection of type checkpoint")
#: Names beside locations, of a DAG of many queries.
QUERIES = texts((), "Names of queries in the query file, besides")
QUERY = {
    "query": optional(TEXT, "Name of the query in the query file, which then says what is not given here"),
    "checkpoint": optional(TEXT, "Or: the checkpointLocation of the query"),
    "checkpoint_conn_id": CONN_ID,
}
#: What a changed query is started with, or nothing.
START = {
    "application": optional(TEXT, "What spark-submit runs then: a .py file or a jar; or nothing"),
    "application_args": Param([], type="array", description="Its arguments"),
    "confs": Param({}, type="object", description="What spark-submit gets as --conf"),
}
#: What a deploy is started with.
APPLICATION = {**START, "application": Param(type="string", description="What spark-submit runs: a .py file or a jar")}
EXPECTED_PLAN = {"expected_plan": optional(MAPPING, "The plan that a person has previewed; another one is refused")}
SINK = optional(TEXT, "Such as file:s3://lake/orders")
TRIGGER = optional(TEXT, "The trigger of the query, such as realTime")
SOURCES = optional(
    ["null", "integer", "array", "object"], "The sources: their number, a list of types in order, or types by name"
)
SPARK_VERSION = optional(TEXT, "Such as 4.3")
#: The argument of that param, which natively would become a number.
VERSION_OF_PARAMS = "{{ (params.spark_version or '') | tojson }}"
BACKUP_ROOT = optional(TEXT, "Where backups of the query live; by default as the query file says")


def arguments_of(*names: str) -> dict[str, Any]:
    """Arguments of an operator that are the params of the same names."""
    return {name: f"{{{{ params.{name} }}}}" for name in names}
