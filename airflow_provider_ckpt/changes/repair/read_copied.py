"""Taking the entries that the log of a file sink lacks from a copy of it, which has to be one of this very log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_ckpt.changes.repair.data_file import name_below
from airflow_provider_ckpt.changes.repair.lacking import Lacking
from airflow_provider_ckpt.changes.repair.read_log import read_copy
from airflow_provider_ckpt.changes.repair.refusals import NOTHING
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import SinkFileStatus, decode_sink
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


def read_copied(log: Lacking, copy: Store, sink: Store) -> dict[str, bytes]:
    """The entries of the copy that the log lacks. Raises PlanError for the copy of another log."""
    lacking = [log.shape.entry(batch) for batch in log.lacking]
    whole = [name for name in log.contents.log.live.values() if name not in log.contents.damaged]
    found = read_copy([*lacking, *whole], copy)
    for name in whole:
        if name in found and found[name] != sink.read(name):
            raise PlanError(
                f"{copy.location} is not a copy of this log: its entry is another one.",
                location=sink.location,
                name=name,
                hint=f"{NOTHING} Give another copy with --copy, or none.",
            )
    return {name: data for name, data in found.items() if name in lacking}


def copied_statuses(log: Lacking) -> Iterable[SinkFileStatus]:
    """The files that the entries of the copy name."""
    for name, data in log.copied.items():
        yield from decode_sink(data, name).entries


def require_whole_copy(log: Lacking, sink: Store, files: Mapping[str, StoredObject]) -> None:
    """Raise PlanError where the copy names files that are gone, or does not name files that the log names."""
    for name, data in log.copied.items():
        named = {name_below(root, status) for status in decode_sink(data, name).entries for root in _roots(sink)}
        before = log.contents.singles if name.endswith(layout.COMPACT) else {}
        earlier = (status for batch, own in before.items() if batch <= log.shape.base for status in own)
        wanted = {name_below(root, status) for status in earlier for root in _roots(sink)}
        gone, left_out = named - files.keys() - {None}, wanted - named - {None}
        if gone or left_out:
            problem = (
                f"names {min(map(str, gone))}, which is not there"
                if gone
                else f"does not name {min(map(str, left_out))}"
            )
            raise PlanError(
                f"the entry of the copy does not fit the output directory: it {problem}.",
                location=sink.location,
                name=name,
                hint=f"{NOTHING} Give another copy with --copy, or none.",
            )


def _roots(sink: Store) -> set[str]:
    return {sink.root, sink.real_root}


def names_in(sink: Store, statuses: Iterable[SinkFileStatus]) -> set[str]:
    """Names of files in entries, relative to the output directory. Raises PlanError for any other name."""
    named: set[str] = set()
    for status in statuses:
        name = next((name for root in _roots(sink) if (name := name_below(root, status)) is not None), None)
        if name is None:
            raise PlanError(
                f"an entry of the log names {status.path!r:.300}, which is not in this output directory: the table was "
                "moved, and readers do not find its files.",
                location=sink.location,
                name=layout.SINK_LOG,
                hint=f"{NOTHING} Move the table back, or let the query write to a new directory.",
            )
        named.add(name)
    return named
