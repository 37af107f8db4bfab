"""Checks that a declared sink is that of the query: by its logs, and by the sink that was declared first.

Sinks that numbers cannot distinguish are remembered in ``<parent>/_ckpt_undo/<name>/sink.json``, beside the lock, by
commands that change something; all others only compare.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.checkpoint.observe import read_entries
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sinks.fit import Misfit, QueryBatches, misfit, misfit_of_backup
from airflow_provider_ckpt.sinks.memory import memory_of
from airflow_provider_ckpt.sinks.read_batch_times import read_fit
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class FittedSink:
    """The sink of a query, compared with it.

    Args:
        marker: What the sink remembers of the query.
        name: As it was declared, at its absolute location.
        doubt: Why it may be that of another query, which it does not prove; None where nothing says so.
    """

    marker: SinkMarker
    name: str
    doubt: Misfit | None = None

    def named(self, effect: SinkEffect) -> SinkEffect:
        """An effect on this sink, under the name by which a plan knows it; it is unknown where the sink is in doubt."""
        if self.doubt is not None:
            return SinkEffect(self.name, "unknown", f"it {self.doubt.reason}", self.doubt.hint)
        return replace(effect, sink=self.name)


def fit_sink(stores: Stores, view: CheckpointView, said: Sink | None, batch_id: int) -> FittedSink:
    """Read the sink of a query, and compare it with the checkpoint.

    Args:
        stores: Where both are.
        view: The checkpoint as it is now.
        said: The sink, as it was declared; None when nothing was said, and a file sink where there is its place.
        batch_id: How far back to search in the sink: to the newest batch up to this one.

    Raises:
        PlanError: It is not that of the query.
        StoreError: It cannot be read.
    """
    sink = stores.declared(said)
    store = stores.sink if sink.directory else None
    marker = read_marker(sink, store, view.query_id, batch_id)
    doubt = require_fit(stores.checkpoint, stores.undo, view, sink, store, marker)
    return FittedSink(marker, sink.at(store).name, doubt)


# --- refusing ------------------------------------------------------------------------------------------------------


def require_fit(
    checkpoint: Store,
    undo: Store | None,
    view: CheckpointView,
    sink: Sink,
    store: Store | None,
    marker: SinkMarker,
) -> Misfit | None:
    """What makes it doubtful that a sink is the query's own. Raises PlanError when it is not.

    Args:
        checkpoint: The checkpoint.
        undo: Root of its records; None for the directory beside it.
        view: The checkpoint as it is now.
        sink: The sink, as it was declared.
        store: The store of its directory; None when it has none.
        marker: Its memory of the query.
    """
    known = require_remembered(checkpoint, view.query_id, sink, store)
    if store is None:
        return None
    now = QueryBatches(last_written(checkpoint, view), view.latest_planned)
    before = [
        QueryBatches(record.from_batch, record.from_batch + 1)
        for record in journal.history(checkpoint, undo)
        if record.from_batch is not None
    ]
    _refuse(misfit(marker, now, before, known=known), checkpoint, sink, store)
    if known or marker.kind != "file":
        return None
    rerun_up_to = max((standing.planned for standing in before if standing.planned is not None), default=-1)
    fit = read_fit(checkpoint, view, store, rerun_up_to)
    if fit.is_proof:
        _refuse(fit.misfit, checkpoint, sink, store)
    return fit.misfit


def require_fit_of_backup(
    target: Store, query_id: str, batch_id: int, sink: Sink, store: Store | None, marker: SinkMarker
) -> None:
    """Raise PlanError for a sink that is not that of the query whose backup is restored under its own id."""
    require_remembered(target, query_id, sink, store)
    if store is None:
        return
    _refuse(misfit_of_backup(marker, batch_id), target, sink, store)


def _refuse(found: Misfit | None, checkpoint: Store, sink: Sink, store: Store) -> None:
    if found is not None:
        raise PlanError(
            f"the sink {sink.at(store).name} does not fit the query: it {found.reason}.",
            location=checkpoint.location,
            hint=f"Nothing was changed. {found.hint}",
        )


def require_remembered(checkpoint: Store, query_id: str | None, sink: Sink, store: Store | None) -> bool:
    """True if a sink is remembered. Raises PlanError when others are, wherever this one is; none at all is no other."""
    memory = memory_of(checkpoint, query_id) if sink.kind else None
    if memory is None:
        return False
    if sink.name not in memory.sinks if store is None else not memory.knows(store):
        raise PlanError(
            f"the sink {sink.at(store).name} is not the sink that was declared before for this checkpoint, which "
            f"is {' and '.join(memory.sinks)}{f' (declared by {memory.by})' if memory.by else ''}.",
            location=checkpoint.location,
            hint="Nothing was changed. If the query now writes to another sink on purpose, delete the file "
            f"{memory.location}.",
        )
    return True


def last_written(checkpoint: Store, view: CheckpointView) -> int | None:
    """The newest committed batch that the sink was given: a batch that repartitions the state is not given to it."""
    batch = view.latest_committed
    while batch is not None and _repartitions(checkpoint, batch):
        batch = max((other for other in view.committed if other < batch), default=None)
    return batch


def _repartitions(checkpoint: Store, batch_id: int) -> bool:
    """True if the shuffle partitions changed with a batch; only Spark's repartition can change them."""
    decoded, _ = read_entries(checkpoint, (batch_id - 1, batch_id))
    entries = [entry for entry in decoded.values() if isinstance(entry, OffsetSeq) and entry.metadata]
    partitions = [entry.metadata.conf.get(SHUFFLE_PARTITIONS) for entry in entries if entry.metadata]
    return len(partitions) == 2 and partitions[0] != partitions[1]
