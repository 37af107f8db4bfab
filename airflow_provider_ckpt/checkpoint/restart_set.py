"""The files that a restart after batch N needs: the logs around N and, for every state store, a chain to version N+1.

Measured on Spark 4.3, file by file: with exactly these files a restart is right, and without any one of them it fails.
The functions are generators that do no IO: they yield the name of an object whose bytes they need, are sent the bytes,
and return their result. A backup answers by copying, a check by reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import MappingProxyType

from airflow_provider_ckpt.checkpoint.operator_files import operator_files, operator_metadata, store_names
from airflow_provider_ckpt.checkpoint.source_log_files import source_files
from airflow_provider_ckpt.checkpoint.spark_confs import COMPRESSION_CODEC, STATE_PROVIDER, state_partitions
from airflow_provider_ckpt.checkpoint.state.chain import Chain, Reads, StateStore, chain_v1, chain_v2
from airflow_provider_ckpt.checkpoint.state.partitions import Partitions, partitions_of
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import jvm_text, layout, state_content, state_file
from airflow_provider_ckpt.codec.commit_log import StateUniqueIds
from airflow_provider_ckpt.codec.layout import StateFile, StateStoreId
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.untrusted.spans import missing_names


@dataclass(frozen=True, slots=True)
class RestartSet:
    """The files that a restart after ``batch_id`` needs, each object before its sidecars, short-lived ones first.

    Args:
        batch_id: The committed batch that Spark would go on from.
        names: In the order in which to copy them.
        missing: Missing files, in words; empty when the batch can be restored.
        repaired: Broken files, in words, of snapshots that an older one and the changes since then make up for.
        unknown: Parts that nobody can judge from the files, in words.
        single: Ids of the operators that have one partition whatever the shuffle partitions are.
        committed: True if the batch has to be committed.
    """

    batch_id: int
    names: tuple[str, ...]
    missing: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    single: tuple[int, ...] = ()
    committed: bool = True

    @property
    def lacking(self) -> tuple[str, ...]:
        """Missing or broken files, each as the end of a sentence: ``offsets/6 is missing``."""
        parts = (problem.partition(": ") for problem in self.missing)
        return tuple(f"{name} is {reason or 'missing'}" for name, _, reason in parts)


def restart_set(
    view: CheckpointView,
    batch_id: int,
    decompressors: Mapping[str, state_file.Decompress],
    broken: Mapping[str, str] = MappingProxyType({}),
    *,
    committed: bool = True,
) -> Reads[RestartSet]:
    """Work out the files for a restart after one batch of a checkpoint that was listed as a whole.

    Args:
        view: The whole checkpoint.
        batch_id: The committed batch.
        decompressors: For changelogs, by codec.
        broken: State files that are known to be of no use, by name, and why.
        committed: False for a batch that Spark takes for done although it is not committed; its state has no ids.
    """
    logs = log_entries(view, batch_id, committed=committed)
    missing = [name for name in logs if name not in view.objects]
    missing += [f"{name}: {view.damaged[name].message}" for name in logs if name in view.damaged]
    if any(problem.partition(": ")[0] in logs[-3 if committed else -2 :] for problem in missing):
        return RestartSet(batch_id, (), missing=tuple(missing), committed=committed)
    sources = source_files(view, view.offset_seq(batch_id))
    state = yield from _state_files(view, batch_id, decompressors, broken, committed=committed)
    names = [*(name for name in logs if name in view.objects), *sources.names, *state.names]
    return RestartSet(
        batch_id=batch_id,
        names=tuple(name for main in dict.fromkeys(names) for name in with_sidecars(view, main)),
        missing=(*missing, *sources.missing, *state.missing),
        repaired=tuple(state.repaired),
        unknown=tuple(state.unknown),
        single=tuple(state.single),
        committed=committed,
    )


def log_entries(view: CheckpointView, batch_id: int, *, committed: bool = True) -> list[str]:
    """The small files at the top that a restart after a batch reads, those that Spark purges first in front."""
    commit = [layout.commit_entry(batch_id)] if committed else []
    names = [layout.offset_entry(batch_id), *commit, layout.METADATA]
    before = view.predecessor(batch_id)
    return names if before is None else [layout.offset_entry(before), *names]


def with_sidecars(view: CheckpointView, name: str) -> tuple[str, ...]:
    """An object and the checksum files that are beside it, in the order in which to copy them."""
    return (name, *(sidecar for sidecar in reversed(layout.sidecars(name)) if sidecar in view.objects))


def require(chosen: RestartSet, view: CheckpointView, hint: str) -> RestartSet:
    """Give the set back when it is complete; else the error has the hint.

    Raises:
        BatchNotRestorableError: Something is missing or broken; the error names it.
    """
    if not chosen.missing:
        return chosen
    problems = chosen.lacking
    more = f", and {len(problems) - 3} more" if len(problems) > 3 else ""
    raise BatchNotRestorableError(
        f"batch {chosen.batch_id} cannot be restored: {', '.join(problems[:3])}{more}.",
        location=view.location,
        batch_id=chosen.batch_id,
        hint=hint,
    )


def _state_files(
    view: CheckpointView,
    batch_id: int,
    decompressors: Mapping[str, state_file.Decompress],
    broken: Mapping[str, str],
    *,
    committed: bool,
) -> Reads[Chain]:
    stores = _StateStores(view, broken)
    whole = Chain()
    conf = _conf(view.offset_seq(batch_id))
    ids = (view.commit(batch_id).state_unique_ids if committed else None) or {}
    operators = yield from operator_files(view, batch_id)
    whole.names += operators.names
    whole.missing += operators.missing
    expected = yield from _expected_stores(view, stores, batch_id, ids, whole)
    codec = conf.get(COMPRESSION_CODEC) or "lz4"
    codec = state_content.short_codec(codec) or codec
    last = {store_id.operator_id: store_id for store_id in stores}
    siblings = {operator_id: [file.kind for file in stores[store_id].files] for operator_id, store_id in last.items()}
    stores_of: dict[tuple[int, int], list[str]] = {}
    for store_id in expected:
        stores_of.setdefault((store_id.operator_id, store_id.partition), []).append(store_id.store)
    for store_id in expected:
        store = stores.get(store_id, StateStore(store_id, {}, {}))
        unique_id = _unique_id(ids, store_id, stores_of[store_id.operator_id, store_id.partition])
        if unique_id is None:
            kinds = [file.kind for file in store.files] or siblings.get(store_id.operator_id) or _kinds_of(conf)
            chain = yield from chain_v1(store, batch_id + 1, kinds)
        else:
            chain = yield from chain_v2(store, batch_id + 1, unique_id, codec, decompressors)
        whole.names += chain.names
        whole.missing += chain.missing
        whole.repaired += chain.repaired
    whole.missing += whole.lost
    return whole


def _kinds_of(conf: Mapping[str, str | None]) -> list[layout.StateFileKind]:
    return ["delta"] if "HDFSBacked" in (conf.get(STATE_PROVIDER) or "") else ["changelog"]


def _conf(offsets: OffsetSeq) -> Mapping[str, str | None]:
    return offsets.metadata.conf if offsets.metadata else {}


class _StateStores(Mapping[StateStoreId, StateStore]):
    """The state stores of a checkpoint; what was listed of one is put together when it is asked for."""

    def __init__(self, view: CheckpointView, broken: Mapping[str, str]) -> None:
        self._view, self._broken = view, broken
        places = map(layout.parse, view.names_below(layout.STATE))
        ids = {place.store_id for place in places if isinstance(place, StateFile | layout.StateTable)}
        self._ids = dict.fromkeys(sorted(ids))

    def __getitem__(self, store_id: StateStoreId) -> StateStore:
        self._ids[store_id]
        view = self._view
        store = StateStore(store_id, {}, {}, self._broken, _has_families(view, store_id.operator_id))
        for name in view.names_below(store_id.directory):
            place = layout.parse(name)
            if isinstance(place, StateFile) and place.store_id == store_id:
                store.files[place] = view.objects[name]
            elif isinstance(place, layout.StateTable) and place.store_id == store_id:
                store.tables[name] = view.objects[name]
        return store

    def __contains__(self, store_id: object) -> bool:
        return store_id in self._ids

    def __iter__(self) -> Iterator[StateStoreId]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def _has_families(view: CheckpointView, operator_id: int) -> bool:
    return any(view.names_below(f"{layout.STATE}/{operator_id}/_stateSchema"))


def _expected_stores(
    view: CheckpointView,
    stores: Mapping[StateStoreId, StateStore],
    batch_id: int,
    ids: StateUniqueIds,
    whole: Chain,
) -> Reads[tuple[StateStoreId, ...]]:
    """Every store that a restart opens: what an operator has in one partition, or says it has, it must have in all."""
    shuffle_partitions = state_partitions(_conf(view.offset_seq(batch_id)))
    expected: set[StateStoreId] = set()
    for operator_id in sorted(_operators(view, stores) | ids.keys()):
        own = [store_id for store_id in stores if store_id.operator_id == operator_id]
        if not any(view.names_below(f"{layout.STATE}/{operator_id}")):
            whole.missing.append(f"{layout.STATE}/{operator_id}")
            continue
        metadata = yield from operator_metadata(view, operator_id, batch_id)
        if operator_id in ids:
            opened = Partitions(frozenset(range(len(ids[operator_id]))), len(ids[operator_id]) == 1)
        else:
            seen = {store_id.partition for store_id in own}
            operator = metadata.operator_name if metadata else None
            opened = yield from partitions_of(view, operator_id, seen, shuffle_partitions, operator)
        _tell(opened, operator_id, shuffle_partitions, whole)
        names = store_names({store_id.store for store_id in own}, metadata)
        expected |= {StateStoreId(operator_id, partition, name) for partition in opened.ids for name in names}
    return tuple(sorted(expected))


def _partition(operator_id: int, partition: int) -> str:
    return StateStoreId(operator_id, partition).directory


def _operators(view: CheckpointView, stores: Collection[StateStoreId]) -> set[int]:
    """Ids of the operators that have anything in the listing, and the first one that is missing below them."""
    seen = {store_id.operator_id for store_id in stores}
    for name in view.names_below(layout.STATE):
        if "/_" in name and (operator_id := jvm_text.parse_long(name.split("/")[1])) is not None:
            seen.add(operator_id)
    missing = next(operator_id for operator_id in count() if operator_id not in seen)
    return seen | {missing} if seen and missing < max(seen) else seen


def _tell(opened: Partitions, operator_id: int, shuffle_partitions: int | None, whole: Chain) -> None:
    place = f"{layout.STATE}/{operator_id}"
    if opened.single:
        whole.single.append(operator_id)
    if opened.single is None:
        whole.unknown.append(
            f"{place}: only partition 0 has state, and no file says whether the operator has one partition or "
            f"{shuffle_partitions or 'more'}"
        )
    for span in opened.lost:  # the first of each means all
        whole.lost += missing_names(span, partial(_partition, operator_id))[1:]


def _unique_id(all_ids: StateUniqueIds, store_id: StateStoreId, own: Sequence[str]) -> str | None:
    """The id in the file names of state checkpoint format 2; None in format 1.

    The ids of a partition are in the alphabetical order of its store names, which are ``own``.
    """
    partitions = all_ids.get(store_id.operator_id)
    if partitions is None or store_id.partition >= len(partitions):
        return None
    ids = partitions[store_id.partition]
    position = own.index(store_id.store) if len(ids) == len(own) else 0
    return ids[position] if position < len(ids) else None
