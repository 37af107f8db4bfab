"""Inside Spark: the logs of a fleet as tables and streams, and what a session is about to restart a query with.

This module does not import PySpark: a session is whatever has ``sql`` and ``version``, classic or Spark Connect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.spark_version import parse_spark_version


class Rows(Protocol):
    """Result of ``sql``."""

    def collect(self) -> Iterable[Any]:
        """The rows."""
        ...


class Session(Protocol):
    """The part of a ``SparkSession`` that is needed."""

    @property
    def version(self) -> str:
        """Such as ``4.3.0``."""
        ...

    def sql(self, query: str, /) -> Rows:
        """Run a statement."""
        ...


def deploy_of(session: Session, **declared: Any) -> DeploySpec:
    """The deploy that a session amounts to: its Spark version, and the confs that were set explicitly.

    Explicit are the session's own confs and those of the application (``spark-submit --conf``, its properties file);
    defaults are not. Values that Spark redacts come redacted. What a session does not know is declared, with the keys
    of a query in the query file::

        deploy_of(spark, sources=["kafka"], sink="file:s3://lake/orders", operators=["stateStoreSave"])

    Args:
        session: A live Spark session.
        declared: ``sources``, ``sink``, ``operators``, ``async_progress``, and ``confs`` that win over the session's.

    Raises:
        ValueError: A Spark version that is not known, or a declaration that makes no sense.
    """
    confs = {row["key"]: row["value"] for row in session.sql("SET").collect()}
    return declare(DeploySpec(parse_spark_version(session.version)).with_confs(confs), declared)


#: Releases of Spark that have what is used of its data sources in Python.
READS_FROM, PUSHES_DOWN_FROM, STREAMS_FROM = (4, 0), (4, 1), (4, 2)
#: False by default; Spark refuses a reader that takes filters unless it is true.
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(session: Any, *, pushdown: bool = False) -> None:
    """Make ``format("checkpoint")`` to read, and ``writeStream.format("checkpoint_history")``, known to a session.

    Streams need Spark 4.2.

    Args:
        session: A live Spark session.
        pushdown: Push filters down, from Spark 4.1 on. Then ask each DataFrame, and each view, one question alone:
            Spark 4.1 to 4.3 plan a later question without filters by those of an earlier one, and rows are missing.

    Raises:
        CheckpointError: The session is of a release before 4.0, which has no data sources in Python.
    """
    release = parse_spark_version(session.version)
    if release < READS_FROM:
        raise CheckpointError(
            f"Spark {session.version} does not support data sources in Python; Spark 4.0 and later does."
        )
    from airflow_provider_ckpt.spark.table import CheckpointSource, FilteredCheckpointSource

    if pushdown and release >= PUSHES_DOWN_FROM:
        session.conf.set(PUSHDOWN, "true")
        make_known(session, FilteredCheckpointSource)
    else:
        make_known(session, CheckpointSource)
    if release >= STREAMS_FROM:
        from airflow_provider_ckpt.spark.sink import CheckpointHistory

        make_known(session, CheckpointHistory)


def make_known(session: Any, source: type[Any]) -> None:
    """Register a data source with a session; nothing happens when it has one of that name.

    Spark searches for the name in the active session of the thread, which may be another one that has it: the session
    has to become the active one, as any use of it makes it.
    """
    session.createDataFrame([], "value int")
    try:
        session.dataSource.register(source)
    except Exception as error:  # py4j's and Spark Connect's errors have no common class
        if getattr(error, "getCondition", lambda: None)() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
