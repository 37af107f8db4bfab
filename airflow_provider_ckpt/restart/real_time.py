"""A restart in real-time mode (``trigger(realTime=...)``, since Spark 4.3), and with a continuous trigger.

The offset entry of a batch is written when the batch ends, so the log does not tell that one was running. An entry
without a commit is removed at the start: the batch is cut anew, whatever the sink has got of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.checks.logs import newest_commit
from airflow_provider_ckpt.checks.remedies import OR_NEW_LOCATION
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.state_metadata import REAL_TIME_AGGREGATION
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import SINKS_OF_BATCHES
from airflow_provider_ckpt.query.spark_version import SparkVersion
from airflow_provider_ckpt.query.trigger import TRIGGERS

REAL_TIME = "realTime"
FORMAT_1_ALLOWED = "spark.sql.streaming.realTimeMode.dangerouslyAllowCheckpointV1.enabled"
_KNOWN_SINCE: SparkVersion = (4, 3)
_FORMAT_1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"
#: Options of a Kafka source, in lower case: Spark ignores the case.
_LIMITS = ("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay")
_NO_SINK = "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"


def trigger_of(said: str | None, operators: Iterable[str]) -> str:
    """The trigger of a query, empty when nothing tells it.

    Only the metadata of an aggregation tells real-time mode; no conf and no other file does.

    Args:
        said: The declared trigger, which holds whatever the files say.
        operators: Spark's names of the stateful operators.

    Raises:
        PlanError: The declared trigger is unknown.
    """
    if said and said not in TRIGGERS:
        raise PlanError(f"{said!r} is not a trigger; give one of {', '.join(TRIGGERS)}.", hint="Nothing was done.")
    return said or (REAL_TIME if REAL_TIME_AGGREGATION in operators else "")


def sink(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT232: real-time mode has no sink that takes whole batches."""
    kind = deploy.sink.said if deploy.sink is not None else ""
    if deploy.trigger != REAL_TIME or deploy.spark_version < _KNOWN_SINCE or kind.lower() not in SINKS_OF_BATCHES:
        return
    yield an_error(
        "CKPT232",
        f"real-time mode does not support the sink {kind}",
        hint="Keep the trigger that the query has, or write to Kafka or with foreach.",
        spark_error=_NO_SINK,
    )


def limits(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT232: real-time mode has no limit on what a batch of Kafka reads."""
    if deploy.spark_version < _KNOWN_SINCE:
        return
    for option in refused_options(deploy):
        yield an_error(
            "CKPT232",
            f"real-time mode does not support the option {option} of a Kafka source",
            hint="Leave it out, or keep the trigger that the query has.",
            spark_error="UnsupportedOperationException",
        )


def refused_options(deploy: DeploySpec) -> tuple[str, ...]:
    """The declared options of sources that Kafka's source refuses in real-time mode."""
    if deploy.trigger != REAL_TIME:
        return ()
    return tuple(key for key in deploy.source_options if key.rpartition(".")[2].lower() in _LIMITS)


def real_time_mode(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT232: real-time mode wants state checkpoint format 2, and its sink gets rows again."""
    if trigger_of(deploy.trigger, view.operator_names) != REAL_TIME:
        return
    if deploy.trigger and deploy.spark_version >= _KNOWN_SINCE and not deploy.switches_on(FORMAT_1_ALLOWED):
        yield from _format_1(view, deploy)
    if view.latest_planned is not None:
        yield _repeats(view, view.latest_planned)


def _format_1(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Spark takes the format from the newest commit, with or without state; a new query gets format 2."""
    newest, commit = view.latest_committed, newest_commit(view)
    if newest is None or commit is None:
        return  # a new query, or a commit that cannot be read, which is said elsewhere
    if commit.version != 2 and not commit.state_unique_ids:
        yield an_error(
            "CKPT232",
            "real-time mode needs state checkpoint format 2, and the checkpoint has format 1",
            newest,
            layout.commit_entry(newest),
            f"Keep the trigger that the query has, {OR_NEW_LOCATION}",
            _FORMAT_1,
        )


def _repeats(view: CheckpointView, newest: int) -> Finding:
    if view.in_flight is None:
        message = f"in real-time mode the log does not say whether a batch after {newest} was running"
    else:
        message = f"real-time mode does not repeat batch {newest} with its planned offsets, but plans it again"
    return a_warning(
        "CKPT232",
        f"{message}: the sink gets rows of that batch again that it already has",
        newest,
        layout.offset_entry(newest),
        "Let readers of the sink drop duplicates by a key of the record.",
    )


CONTINUOUS = "continuous"
_KEEP = "Keep the trigger that the query has."


def continuous_trigger(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT233: a source or a sink that has no continuous processing."""
    if deploy.trigger != CONTINUOUS:
        return
    if deploy.sink is not None and deploy.sink.said.lower() in SINKS_OF_BATCHES:
        what = f"the sink {deploy.sink.said} has no continuous processing"
        yield an_error("CKPT233", what, hint=_KEEP, spark_error="IllegalStateException")
    for name, source_type in (deploy.source_kinds or {}).items():
        if source_type == "file":
            what = f"source {name} is of the type file, which has no continuous processing"
            yield an_error("CKPT233", what, hint=_KEEP)
