"""Rules about the once-only confs of the newest offset entry: whether Spark takes their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from airflow_provider_ckpt.checkpoint.spark_confs import COMPRESSION_CODEC, SHUFFLE_PARTITIONS, STATE_PROVIDER
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.checks.logs import newest_entry, unfinished_repartition
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import from_backup_or_before
from airflow_provider_ckpt.codec import jvm_text, layout, state_content

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


# --- classes ---------------------------------------------------------------------------------------------------------

#: The packages of open Spark; a class of another name there is none, unless a deploy brings it.
OF_SPARK = "org.apache.spark."
_OF_STATE = f"{OF_SPARK}sql.execution.streaming.state."
_PROVIDERS = tuple(f"{_OF_STATE}{name}StateStoreProvider" for name in ("HDFSBacked", "RocksDB"))
NO_CLASS = "ClassNotFoundException"
_BRING_IT = "Make sure that the class is on the class path of the deploy, and declare it: ckpt gate --class {}."


def _logged(view: CheckpointView, key: str) -> str | None:
    entry = newest_entry(view)
    return None if entry is None or entry.metadata is None else entry.metadata.conf.get(key)


def _is_of_spark(name: str, classes: Collection[str]) -> bool:
    """True if a class would have to be one of Spark itself."""
    return name not in classes and ("." not in name or name.startswith(OF_SPARK))


def provider_class(
    view: CheckpointView, confs: Mapping[str, str], classes: Collection[str] = (), *, stateful: bool
) -> str | None:
    """The state store provider that a restart searches for, when it is none of Spark; else None.

    Args:
        view: The checkpoint.
        confs: Confs that the deploy sets, which count where the log has no provider.
        classes: The classes that the deploy declares to have.
        stateful: True if the query has state.
    """
    name = _logged(view, STATE_PROVIDER) or confs.get(STATE_PROVIDER)
    is_other = name is not None and name not in _PROVIDERS and not _is_of_spark(name, classes)
    return name if stateful and is_other else None


def codec_of_state(view: CheckpointView) -> str | None:
    """Short name of the codec by which a restart reads state; None for one that Spark does not bring."""
    return state_content.short_codec(_logged(view, COMPRESSION_CODEC) or "lz4")


def codec_class(view: CheckpointView, classes: Collection[str] = ()) -> str | None:
    """The class that a restart searches for to read compressed state, when it is none of Spark; else None."""
    name = _logged(view, COMPRESSION_CODEC)
    if name is None or state_content.short_codec(name) is not None or _is_of_spark(name, classes):
        return None
    return name if has_compressed_state(view) else None


def has_compressed_state(view: CheckpointView) -> bool:
    """True if a codec is needed to read state; the zips of RocksDB are not written by one."""
    return any(name.endswith((".delta", ".snapshot", ".changelog")) for name in view.names_below(layout.STATE))


@rule("CKPT116", "CKPT136")
def unknown_provider(view: CheckpointView, classes: Collection[str] = ()) -> Iterator[Finding]:
    """CKPT116, CKPT136: the class that opens state, which Spark searches for when it does."""
    name, newest = _logged(view, STATE_PROVIDER), view.latest_planned
    if name is None or newest is None or not view.stateful or name in _PROVIDERS:
        return
    if _is_of_spark(name, classes):
        yield an_error(
            "CKPT116",
            f"the conf {STATE_PROVIDER} is {jvm_text.abbreviate(name)}, but Spark has no such class",
            newest,
            layout.offset_entry(newest),
            spark_error=NO_CLASS,
            **from_backup_or_before(view, "the entry", newest),
        )
        return
    known = name in classes
    yield Finding(
        "CKPT136",
        "note" if known else "warning",
        f"the state store provider {name:.200} is none of open Spark"
        + (", so its state was not judged" if known else f": a deploy without that class stops with {NO_CLASS}"),
        newest,
        layout.offset_entry(newest),
        None if known else _BRING_IT.format(f"{name:.200}"),
    )


@rule("CKPT116")
def unknown_codec(view: CheckpointView, classes: Collection[str] = ()) -> Iterator[Finding]:
    """CKPT116: state is compressed, and Spark does not know the codec in the log."""
    codec = _logged(view, COMPRESSION_CODEC)
    if codec is None or state_content.short_codec(codec) is not None or not has_compressed_state(view):
        return
    if codec in classes:
        return
    is_own = _is_of_spark(codec, classes)
    remedy = from_backup_or_before(view, "the entry", view.latest_planned)
    yield Finding(
        "CKPT116",
        "error" if is_own else "warning",
        f"the conf {COMPRESSION_CODEC} is {jvm_text.abbreviate(codec)!r}, which is not a codec that Spark has",
        view.latest_planned,
        layout.offset_entry(view.latest_planned or 0),
        hint=remedy["hint"] if is_own else _BRING_IT.format(f"{codec:.200}"),
        spark_error="CANNOT_LOAD_STATE_STORE.UNCATEGORIZED" if is_own else None,
        commands=remedy["commands"] if is_own else (),
    )


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
            yield an_error(
                "CKPT116",
                f"the conf {key} is {jvm_text.abbreviate(value)}, a value that Spark refuses",
                view.latest_planned,
                layout.offset_entry(view.latest_planned),
                spark_error=error,
                **from_backup_or_before(view, "the entry", view.latest_planned),
            )
