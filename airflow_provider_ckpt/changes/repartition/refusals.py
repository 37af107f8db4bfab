"""Refusals before Spark is asked: of what it would refuse itself, too late, and of what it would do wrong.

Spark plans the batch of a repartition before it reads the state. If it then stops, the query no longer starts. And
Spark puts the state of an aggregation without grouping keys into a partition that the query never reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from shlex import quote
from typing import NoReturn

from airflow_provider_ckpt.change.added_errors import damage_of
from airflow_provider_ckpt.change.plan.facts import is_table, names_after
from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS, STATE_PROVIDER
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.state_metadata import AGGREGATION
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.limits import LOG_ENTRY_BYTES, size_text

#: More state stores than that, four a partition of a join, and nobody reads the commit back.
MOST_PARTITIONS = 10_000
#: Of an id of a state store in a commit, with its quotes, comma and brackets.
_ID_BYTES = 41
#: The first Spark with the manager.
SINCE = (4, 2)
#: Operators whose state Spark repartitions (``StatePartitionKeyExtractorFactory``).
_OPERATORS = frozenset(
    {
        AGGREGATION,
        "dedupe",
        "dedupeWithinWatermark",
        "sessionWindowStateStoreSaveExec",
        "symmetricHashJoin",
        "flatMapGroupsWithState",
        "applyInPandasWithState",
        "transformWithStateExec",
        "transformWithStateInPandasExec",
        "transformWithStateInPySparkExec",
    }
)
#: The formats of their state that a repartition is known to leave right, by operator, and the conf that says which.
#: After one of a join in format 4 the next batch of the query fails (Spark 4.3).
_JOIN = ("spark.sql.streaming.join.stateFormatVersion", ("2", "3"))
_GROUPS = ("spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion", ("2",))
_FORMATS = {
    AGGREGATION: ("spark.sql.streaming.aggregation.stateFormatVersion", ("2",)),
    "symmetricHashJoin": _JOIN,
    "flatMapGroupsWithState": _GROUPS,
    "applyInPandasWithState": _GROUPS,
}
_STRICT = "spark.sql.streaming.statefulOperator.useStrictDistribution"
_NOTHING = "Nothing was done."


def require_number(location: str, partitions: int | None) -> None:
    """Refuse what is no number of partitions, before anything is read. Raises PlanError."""
    said = f"{partitions:,}" if type(partitions) is int else f"{partitions!r:.60}"
    if type(partitions) is not int or not 1 <= partitions <= MOST_PARTITIONS:
        raise PlanError(
            f"a number of partitions is from 1 to {MOST_PARTITIONS:,}, and not {said}.",
            location=location,
            hint=_NOTHING,
        )


def require_repartitionable(view: CheckpointView, partitions: int, keyless: Collection[int]) -> None:
    """Refuse what Spark would not repartition, or would repartition wrongly.

    Args:
        view: The whole checkpoint, read deeply; with the log of the file sink where there is one.
        partitions: The requested number.
        keyless: Ids of the aggregations without grouping keys, and of those of which nobody can tell.

    Raises:
        PlanError: It is refused; the error says why, and what to do.
    """
    kept = view.latest_committed
    if kept is None:
        _refuse(view, "no batch is committed, so there is no state to repartition.", "Let the query commit a batch.")
    _require_no_other_batch(view, kept, partitions)
    _require_sound(view)
    if not view.stateful and not any(view.names_below(layout.STATE)):
        _refuse(
            view,
            "the query has no state, so there is nothing to repartition.",
            f"Deploy it with another {SHUFFLE_PARTITIONS}: without state Spark takes that of the session.",
        )
    if view.commit(kept).version > 2:
        _refuse(
            view,
            "its commit log names sinks (version 3), which no repartition is known to keep.",
            "To change the number of partitions, start the query with a new checkpoint location.",
            kept,
        )
    _require_provider(view, kept)
    for problem, hint in _problems_of_operators(view, keyless, confs_of_batch(view, kept)):
        _refuse(view, problem, hint)
    _require_readable_commit(view, kept, partitions)
    if half_done(view) is None and view.partitions_of(kept) == partitions:
        _refuse(view, f"the state has {partitions} partitions already.", "There is nothing to do.", kept)


def _require_readable_commit(view: CheckpointView, kept: int, partitions: int) -> None:
    """In state checkpoint format 2 a commit names an id for each state store of each partition."""
    stores = sum(len(operator.stores) for operator in view.operators.values())
    most = LOG_ENTRY_BYTES // (_ID_BYTES * max(1, stores))
    if view.commit(kept).state_unique_ids and partitions > most:
        _refuse(
            view,
            f"its operators have {stores} state stores in each partition, and a commit that names those of "
            f"{partitions:,} partitions is larger than {size_text(LOG_ENTRY_BYTES)}, the most that ckpt reads.",
            f"Give it at most {most:,} partitions.",
            kept,
        )


def half_done(view: CheckpointView) -> int | None:
    """The batch of a repartition that was begun and not committed, or None."""
    return None if view.unfinished_repartition is None else view.in_flight


def confs_of_batch(view: CheckpointView, batch_id: int) -> Mapping[str, str | None]:
    """The once-only confs in the offset entry of a batch."""
    metadata = view.offset_seq(batch_id).metadata
    return {} if metadata is None else metadata.conf


def _require_no_other_batch(view: CheckpointView, kept: int, partitions: int) -> None:
    begun, planned = half_done(view), view.in_flight
    if begun is not None:
        asked = view.partitions_of(begun)
        if asked != partitions:
            _refuse(
                view,
                f"batch {begun} is a repartition to {asked} partitions that was not finished, and Spark finishes it "
                "with that number alone.",
                f"Finish it (ckpt repartition {quote(view.location)} --partitions {asked}), and then repartition "
                "again; or "
                f"take it back (ckpt rollback {quote(view.location)} --to-batch {kept}).",
                begun,
            )
    elif planned is not None:
        _refuse(
            view,
            f"batch {planned} is planned and not committed, and Spark repartitions only what is committed.",
            f"Start the query until it has committed that batch, and stop it; or drop the batch: ckpt rollback "
            f"{quote(view.location)} --to-batch {kept}.",
            planned,
        )
    batch_id = kept + 1
    later = sorted(name for name in names_after(view.objects, kept if begun is None else begun) if not is_table(name))
    if later:
        _refuse(
            view,
            f"there are files of batches that the logs do not have, such as {later[0]}, and state of such a batch "
            f"would be mixed with that of batch {batch_id}.",
            f"Remove them: ckpt rollback {quote(view.location)} --to-batch {kept}.",
            batch_id,
        )


def _require_sound(view: CheckpointView) -> None:
    for finding in damage_of(view):
        if finding.code != "CKPT119":
            _refuse(
                view,
                f"the checkpoint is not sound: {finding.code}: {finding.message.rstrip('.')}.",
                finding.advice or "",
                finding.batch_id,
                finding.name,
            )


def _require_provider(view: CheckpointView, kept: int) -> None:
    confs = confs_of_batch(view, kept)
    provider = confs.get(STATE_PROVIDER)
    if provider is None or not provider.endswith(".RocksDBStateStoreProvider"):
        name = (provider or "a provider that the log does not name").rpartition(".")[2]
        _refuse(
            view,
            f"its state is kept by {name}, and Spark repartitions that of RocksDB alone.",
            "To change the number of partitions, start the query with a new checkpoint location.",
            kept,
        )
    if (confs.get(_STRICT) or "false").lower() != "true":
        _refuse(
            view,
            f"the query was begun with {_STRICT} = false, so its rows may be spread by other keys than those by which "
            "Spark would spread the state.",
            "To change the number of partitions, start the query with a new checkpoint location.",
            kept,
        )


def _problems_of_operators(
    view: CheckpointView, keyless: Collection[int], confs: Mapping[str, str | None]
) -> Iterator[tuple[str, str]]:
    new = "To change the number of partitions, start the query with a new checkpoint location."
    if view.has_unread_operators() or not view.operators:
        yield (
            "a stateful operator has no metadata that says what it is; Spark needs it, and writes it from 4.0 on.",
            "Run the query with Spark 4.0 or later until it has committed a batch. When there is none then, start it "
            "with a new checkpoint location.",
        )
    for operator_id, operator in view.operators.items():
        text = f"operator {operator_id} ({operator.operator_name})"
        if operator.operator_name not in _OPERATORS:
            yield f"Spark does not repartition the state of {text}.", new
        key, known = _FORMATS.get(operator.operator_name, ("", ()))
        if known and (used := confs.get(key, "1")) not in known:
            yield (
                f"{text} has state format {used} ({key}), and only with {' and '.join(known)} a query is known to go "
                "on right after a repartition.",
                new,
            )
        if operator_id in keyless:
            yield (
                f"{text} has no grouping keys, or its schema does not show any: its state is in one partition whatever "
                "their number is, and Spark would put it into one that the query does not read.",
                "It runs in one task with any number of partitions.",
            )


def _refuse(
    view: CheckpointView, problem: str, hint: str = "", batch_id: int | None = None, name: str | None = None
) -> NoReturn:
    raise PlanError(problem, location=view.location, batch_id=batch_id, name=name, hint=f"{_NOTHING} {hint}".strip())
