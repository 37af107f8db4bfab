"""The once-only confs: SQL confs that the offset log persists and that a restart takes from there.

A restart goes through the list in Spark's order (``OffsetSeqMetadata.setSessionConf``). For each conf the log's value
wins over the session's, with a WARN line as the only sign; a conf that the log lacks gets a fixed value or keeps the
session's. The catalogue below was read by reflection from Spark 3.4 to 4.3, the semantics were measured on them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.query.spark_version import SPARK_MAX, SPARK_MIN, SparkVersion

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
COMPRESSION_CODEC = "spark.sql.streaming.stateStore.compression.codec"
STATE_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
#: From Spark 4.1 the session's counterpart of the log's shuffle partitions.
STATE_PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"
_REBOUND_SINCE: SparkVersion = (4, 1)
#: Up to here ``setSessionConf`` saw the defaults of unset session confs; since then it sees explicit values alone.
_SEES_DEFAULTS_UNTIL: SparkVersion = (3, 5)

#: ``kept``: log and session agree, or the session says nothing. ``overridden``: the log wins. ``defaulted``: the log
#: lacks it, and a fixed value holds. ``session``: the log lacks it, and the value of the session holds.
Outcome = Literal["kept", "overridden", "defaulted", "session"]


@dataclass(frozen=True, slots=True)
class OnceOnlyConf:
    """One conf of the catalogue.

    Args:
        key: Its key in the offset log.
        since: The first Spark that persists it.
        default: Value in an unset session.
        when_absent: Value that a restart sets when the log lacks it; None when the session's value stays.
    """

    key: str
    since: SparkVersion
    default: str
    when_absent: str | None


#: In the order in which Spark goes through them.
CATALOGUE: tuple[OnceOnlyConf, ...] = (
    OnceOnlyConf(SHUFFLE_PARTITIONS, (3, 4), "200", None),
    OnceOnlyConf(
        STATE_PROVIDER,
        (3, 4),
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
        None,
    ),
    OnceOnlyConf("spark.sql.streaming.multipleWatermarkPolicy", (3, 4), "min", "min"),
    OnceOnlyConf("spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion", (3, 4), "2", "1"),
    OnceOnlyConf("spark.sql.streaming.aggregation.stateFormatVersion", (3, 4), "2", "1"),
    OnceOnlyConf("spark.sql.streaming.join.stateFormatVersion", (3, 4), "2", "1"),
    OnceOnlyConf(COMPRESSION_CODEC, (3, 4), "lz4", "lz4"),
    OnceOnlyConf("spark.sql.streaming.stateStore.rocksdb.formatVersion", (3, 4), "5", None),
    OnceOnlyConf("spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion", (4, 2), "2", "1"),
    OnceOnlyConf("spark.sql.streaming.statefulOperator.useStrictDistribution", (3, 4), "true", "false"),
    OnceOnlyConf("spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan", (3, 5), "false", "true"),
    OnceOnlyConf("spark.sql.streaming.stateStore.encodingFormat", (4, 0), "unsaferow", "unsaferow"),
    OnceOnlyConf("spark.sql.streaming.stateStore.rowChecksum.enabled", (4, 2), "false", "false"),
    OnceOnlyConf("spark.sql.function.protobufExtensions.enabled", (4, 2), "false", "false"),
    OnceOnlyConf("spark.sql.streaming.queryEvolution.enableSourceEvolution", (4, 2), "false", "false"),
    OnceOnlyConf("spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled", (4, 3), "true", "false"),
    OnceOnlyConf("spark.sql.dropDuplicates.deterministicKeyOrder.enabled", (4, 3), "true", "false"),
)


@dataclass(frozen=True, slots=True)
class ConfOutcome(Documented):
    """Result of a restart for one once-only conf."""

    key: Annotated[str, "key of the conf in the offset log"]
    session_key: Annotated[
        str, "key of the conf in the Spark session; for shuffle partitions it differs from Spark 4.1 on"
    ]
    log_value: Annotated[str | None, "value in the offset log"]
    deploy_value: Annotated[str | None, "value that the deploy sets"]
    effective: Annotated[str | None, "value that Spark will use"]
    outcome: Annotated[Outcome, "where the value that Spark uses comes from"]
    message: Annotated[str | None, "line that Spark logs about the conf"]

    @property
    def ignored(self) -> bool:
        """True if the deploy sets a value that the restart will not use."""
        return self.deploy_value is not None and not _same(self.deploy_value, self.effective)


def _same(deploy: str, effective: str | None) -> bool:
    """True if two values mean the same: Spark reads numbers as Java does, so ``+2`` is 2."""
    if effective is None or deploy == effective:
        return deploy == effective
    numbers = [jvm_text.parse_int(jvm_text.trim(text)) for text in (deploy, effective)]
    return None not in numbers and numbers[0] == numbers[1]


def catalogue(spark_version: SparkVersion) -> tuple[OnceOnlyConf, ...]:
    """The once-only confs of one Spark version, in Spark's order; from 4.1 the shuffle partitions come last."""
    confs = [conf for conf in CATALOGUE if conf.since <= spark_version]
    if spark_version >= _REBOUND_SINCE:
        confs.append(confs.pop(0))
    return tuple(confs)


#: The minor versions whose confs the catalogue has.
MINORS: tuple[SparkVersion, ...] = (SPARK_MIN, (3, 5), (4, 0), (4, 1), (4, 2), SPARK_MAX)


def versions_of(confs: Collection[str]) -> tuple[SparkVersion, ...]:
    """The versions of Spark that persist exactly these confs; an earlier or a later one than is known here may, too."""
    return tuple(version for version in MINORS if {conf.key for conf in catalogue(version)} == {*confs})


def forecast_confs(
    log: Mapping[str, str | None], deploy: Mapping[str, str], spark_version: SparkVersion
) -> tuple[ConfOutcome, ...]:
    """Forecast the result of ``OffsetSeqMetadata.setSessionConf`` for each conf of the catalogue.

    Args:
        log: The confs of the newest offset log entry.
        deploy: The confs that the deploy sets explicitly, by session key.
        spark_version: The Spark that restarts the query.
    """
    return tuple(_forecast_conf(conf, log, deploy, spark_version) for conf in catalogue(spark_version))


def _forecast_conf(
    conf: OnceOnlyConf, log: Mapping[str, str | None], deploy: Mapping[str, str], spark_version: SparkVersion
) -> ConfOutcome:
    session_key, session, explicit = _session_value(conf, deploy, spark_version)
    log_value = log.get(conf.key)
    effective, outcome, message = _decide(conf, session_key, session, log_value)
    return ConfOutcome(
        key=conf.key,
        session_key=session_key,
        log_value=log_value,
        deploy_value=explicit,
        effective=effective,
        outcome=outcome,
        message=message,
    )


def _session_value(
    conf: OnceOnlyConf, deploy: Mapping[str, str], spark_version: SparkVersion
) -> tuple[str, str | None, str | None]:
    """The session's key, the value that Spark compares with the log, and what the deploy says explicitly."""
    if conf.key == SHUFFLE_PARTITIONS and spark_version >= _REBOUND_SINCE:
        explicit = deploy.get(STATE_PARTITIONS, deploy.get(SHUFFLE_PARTITIONS))
        return STATE_PARTITIONS, explicit or conf.default, explicit
    explicit = deploy.get(conf.key)
    if explicit is None and spark_version <= _SEES_DEFAULTS_UNTIL:
        return conf.key, conf.default, None
    return conf.key, explicit, explicit


def _decide(
    conf: OnceOnlyConf, key: str, session: str | None, log_value: str | None
) -> tuple[str | None, Outcome, str | None]:
    if log_value is not None:
        if session is None or session == log_value:
            return log_value, "kept", None
        return (
            log_value,
            "overridden",
            f"Updating the value of conf '{key}' in current session from '{session}' to '{log_value}'.",
        )
    if conf.when_absent is not None:
        return (
            conf.when_absent,
            "defaulted",
            f"Conf '{key}' was not found in the offset log, using default value '{conf.when_absent}'",
        )
    tip = " No value set in session conf." if session is None else f" Using existing session conf value '{session}'."
    return session or conf.default, "session", f"Conf '{key}' was not found in the offset log. {tip}"


def state_partitions(conf: Mapping[str, str | None]) -> int | None:
    """The number of state partitions in the confs of an offset entry, as Java reads it; None for what is none."""
    number = jvm_text.parse_int(jvm_text.trim(conf.get(SHUFFLE_PARTITIONS) or ""))
    return number if number is not None and number > 0 else None
