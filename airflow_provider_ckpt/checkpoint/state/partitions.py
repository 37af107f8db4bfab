"""Partitions in which a stateful operator has state.

Most operators have state in every one of the shuffle partitions, empty or not. An aggregation without grouping keys and
a limit on the whole stream have it in partition 0 alone, and no file says so in as many words: the operator metadata
gives the shuffle partitions for these, too. What tells them apart:

* state files of other partitions: then the operator has all of them;
* the ids in a commit of state checkpoint format 2, which mean exactly the partitions that wrote;
* the schema of the keys, which is empty for such an aggregation and one column without a type for such a limit;
* the name of the operator, because no other one can do without a key.

Where none of these can be read, nobody can tell a lost partition from one that never was.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout, state_schema
from airflow_provider_ckpt.codec.state_metadata import AGGREGATION, REAL_TIME_AGGREGATION
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.untrusted.spans import Span, missing_spans

_GLOBAL_LIMIT = "globalLimit"
#: Of every other operator the rows are spread by a key.
_KEYED = frozenset(
    {
        "dedupe",
        "dedupeWithinWatermark",
        "symmetricHashJoin",
        "sessionWindowStateStoreSaveExec",
        "flatMapGroupsWithState",
        "applyInPandasWithState",
        "transformWithStateExec",
        "transformWithStateInPandasExec",
        "transformWithStateInPySparkExec",
    }
)
_LIMIT_KEY, _LIMIT_VALUE = (("key", "void"),), (("value", "long"),)


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions that a restart opens of one operator.

    Args:
        ids: Partitions that must have state; where several in a row are lost, the first one means all.
        single: True if the operator has one partition whatever the shuffle partitions are; None if nobody can tell.
        lost: Those that have no state file at all.
    """

    ids: frozenset[int]
    single: bool | None
    lost: tuple[Span, ...] = ()


def partitions_of(
    view: CheckpointView,
    operator_id: int,
    seen: Collection[int],
    shuffle_partitions: int | None,
    name: str | None,
) -> Generator[str, bytes, Partitions]:
    """Work out the partitions of an operator in state checkpoint format 1.

    Args:
        view: The whole checkpoint.
        operator_id: The operator.
        seen: Partitions that have a state file.
        shuffle_partitions: The number in the log; None when it has none.
        name: Spark's name of the operator; None where it did not write that (before Spark 4.0), or it cannot be read.
    """
    opened = frozenset(seen)
    if shuffle_partitions is not None:
        opened = frozenset(partition for partition in seen if partition < shuffle_partitions)
    if opened <= {0} and shuffle_partitions != 1:
        known = yield from _has_one_partition(view, operator_id, name)
        if known is not False:
            return Partitions(frozenset({0}), known)
    if shuffle_partitions is None:
        return Partitions(opened, False)
    lost = missing_spans(opened, 0, shuffle_partitions - 1)
    return Partitions(opened | {span.first for span in lost}, False, lost)


def _has_one_partition(view: CheckpointView, operator_id: int, name: str | None) -> Generator[str, bytes, bool | None]:
    if name == _GLOBAL_LIMIT:
        return True
    if name in _KEYED or any(view.names_below(f"{layout.STATE}/{operator_id}/_stateSchema")):
        return False
    schema_name = f"{layout.STATE}/{operator_id}/0/_metadata/schema"
    if schema_name not in view.objects:
        return None
    try:
        (family,) = state_schema.decode((yield schema_name), schema_name).families
    except (CheckpointFormatError, ValueError):
        return None
    if name is None and (family.key, family.value) == (_LIMIT_KEY, _LIMIT_VALUE):
        return True
    return not family.key if name in (None, AGGREGATION, REAL_TIME_AGGREGATION) else None
