"""Rules about the once-only confs of the newest offset entry: whether Spark takes their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.logs import newest_entry, unfinished_repartition
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import from_backup_or_before
from airflow_provider_ckpt.codec import jvm_text, layout

#: What Spark says of a value, by its error; None when it takes it.
Refuses = Callable[[str], str | None]

_TYPE = "INVALID_CONF_VALUE.TYPE_MISMATCH"
_REQUIREMENT = "INVALID_CONF_VALUE.REQUIREMENT"
_STREAMING = "spark.sql.streaming"


def _boolean(error: str) -> Refuses:
    return lambda text: None if jvm_text.trim(text).lower() in ("true", "false") else error


def _integer(least: int, most: int = jvm_text.INT_MAX) -> Refuses:
    def refuses(text: str) -> str | None:
        number = jvm_text.parse_int(jvm_text.trim(text))
        if number is None:
            return _TYPE
        return None if least <= number <= most else _REQUIREMENT

    return refuses


def _word(*words: str) -> Refuses:
    return lambda text: None if text.lower() in words else _REQUIREMENT


#: Measured on Spark 4.3; providerClass and compression.codec are not read before state is opened.
_REFUSES: Mapping[str, Refuses] = {
    SHUFFLE_PARTITIONS: _integer(1),
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": _boolean("IllegalArgumentException"),
    "spark.sql.function.protobufExtensions.enabled": _boolean(_TYPE),
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": _boolean(_TYPE),
    f"{_STREAMING}.aggregation.stateFormatVersion": _integer(1, 2),
    f"{_STREAMING}.flatMapGroupsWithState.stateFormatVersion": _integer(1, 2),
    f"{_STREAMING}.join.stateFormatVersion": _integer(1, 4),
    f"{_STREAMING}.multipleWatermarkPolicy": _word("min", "max"),
    f"{_STREAMING}.queryEvolution.enableSourceEvolution": _boolean("IllegalArgumentException"),
    f"{_STREAMING}.stateStore.encodingFormat": _word("unsaferow", "avro"),
    f"{_STREAMING}.stateStore.rocksdb.formatVersion": _integer(0),
    f"{_STREAMING}.stateStore.rocksdb.mergeOperatorVersion": _integer(1, 2),
    f"{_STREAMING}.stateStore.rowChecksum.enabled": _boolean(_TYPE),
    f"{_STREAMING}.statefulOperator.alwaysNullableOutput.enabled": _boolean(_TYPE),
    f"{_STREAMING}.statefulOperator.useStrictDistribution": _boolean(_TYPE),
}


@rule("CKPT116")
def refused_confs(view: CheckpointView) -> Iterator[Finding]:
    """CKPT116: a once-only conf of the newest entry has a value that Spark does not take."""
    entry = newest_entry(view)
    if entry is None or entry.metadata is None or view.latest_planned is None:
        return
    compared = bool(list(unfinished_repartition(view)))  # before confs are put into the session
    for key, refuses in _REFUSES.items():
        value = entry.metadata.conf.get(key)
        error = None if value is None else refuses(value)
        if key == SHUFFLE_PARTITIONS and compared:
            continue
        if value is not None and error is not None:
            yield Finding(
                "CKPT116",
                "error",
                f"the conf {key} is {jvm_text.abbreviate(value)}, a value that Spark refuses",
                view.latest_planned,
                layout.offset_entry(view.latest_planned),
                spark_error=error,
                **from_backup_or_before(view, "the entry", view.latest_planned),
            )
