"""Files of a checkpoint besides those that a restart after one batch needs: left out for a reason, or kept.

Whatever has no reason to be left out is *unknown* and kept: sources, catalogs and people put files beside Spark's (the
schema log of Delta, ``_schemas`` of Auto Loader), and a restart may need them. Objects that nothing can copy are left
out and named. Empty directories are not kept: object stores have none, and nothing that Spark writes depends on one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.jvm_text import abbreviate
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Why a backup of a batch leaves an object out.
Reason = Literal[
    "of a later batch",
    "older than needed",
    "temporary",
    "checksum file of a file that is left out",
    "misspelt entry",
    "a name that no backup can hold, or not readable",
    "a link",
    "a file under the name of a directory",
    "a checkpoint of another query, which needs a backup of its own",
]
#: What is left out although nobody knows that it is not needed.
ODD: tuple[Reason, ...] = (
    "a name that no backup can hold, or not readable",
    "a link",
    "a file under the name of a directory",
    "a checkpoint of another query, which needs a backup of its own",
)


@dataclass(frozen=True, slots=True)
class Contents:
    """The objects of a checkpoint that a restart after a batch is not known to need.

    Args:
        unknown: Unknown files that are kept, in the order of names, sidecars after their objects.
        left_out: Files that a backup leaves out, by name, and why.
    """

    unknown: tuple[str, ...]
    left_out: Mapping[str, Reason]

    @property
    def odd_texts(self) -> list[str]:
        """One sentence for each reason why files that cannot be copied are left out."""
        odd = {why: [abbreviate(name) for name, its in sorted(self.left_out.items()) if its == why] for why in ODD}
        return [f"not in the backup is {listed_shortly(names)}: {why}" for why, names in odd.items() if names]

    @property
    def counted(self) -> dict[str, int]:
        """How many objects are left out, by reason."""
        return dict(sorted(Counter(self.left_out.values()).items()))


def contents(
    view: CheckpointView, batch_id: int, needed: Collection[str], *, can_hold: Callable[[str], bool] = lambda _: True
) -> Contents:
    """Sort what is in a checkpoint and not in the restart set of a batch.

    Args:
        view: The whole checkpoint, with the offset log entry of the batch.
        batch_id: The committed batch.
        needed: The names of its restart set.
        can_hold: Tells if the copy can have an object of a name.
    """
    needed, judge = frozenset(needed), _Judge(view, batch_id)
    directories = {parent for name in view.objects for parent in parents(name)}
    unknown: list[str] = []
    left_out: dict[str, Reason] = {f"{root}/": ODD[-1] for root in view.inside}
    for name in sorted(view.objects):
        if name in needed:
            continue
        reason = None if view.objects[name].is_unreachable else judge.reason(name, needed)
        if reason is None:
            reason = _oddity(view.objects[name], can_hold, directories)
        if reason is None:
            unknown.append(name)
        else:
            left_out[name] = reason
    return Contents(tuple(sorted(unknown, key=_beside_its_object)), left_out)


def _oddity(stored: StoredObject, can_hold: Callable[[str], bool], directories: Collection[str]) -> Reason | None:
    """Why nothing can copy an object; None when it can be copied."""
    if stored.is_link:
        return "a link"
    if stored.is_unreachable or not can_hold(stored.name):
        return "a name that no backup can hold, or not readable"
    return "a file under the name of a directory" if stored.name in directories else None


def parents(name: str) -> Iterator[str]:
    """The directories that a name is in, from the inner ones to the outer ones."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def unknown_names(view: CheckpointView) -> tuple[str, ...]:
    """Listed names that are unknown for every batch; in the order of names."""
    names = {name for name, stored in view.objects.items() if _is_unknown(name) and not stored.is_unreachable}
    return tuple(sorted(names, key=_beside_its_object))


def listed_shortly(names: Iterable[str], most: int = 5) -> str:
    """The first of some names, and how many there are more."""
    shown = list(names)
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return f"{', '.join(shown[:most])}{more}"


class _Judge:
    """Knows why an object is left out of a backup of one batch."""

    def __init__(self, view: CheckpointView, batch_id: int) -> None:
        self._view, self._batch_id = view, batch_id
        entry = view.entries.get(layout.offset_entry(batch_id))
        offsets = entry.offsets if isinstance(entry, OffsetSeq) else ()
        #: How far each file source has read its own log.
        self._log_offsets = {
            source_id: end
            for source_id, offset in offsets
            if (end := file_log_offset(view, source_id, offset)) is not None
        }

    def reason(self, name: str, needed: frozenset[str]) -> Reason | None:
        place = layout.parse(name)
        if not isinstance(place, layout.Sidecar):
            return self._reason_of(place)
        main = main_object(name)
        if main in needed or _is_unknown(main):
            return None
        left_out = main not in self._view.objects or self._reason_of(layout.parse(main)) is not None
        return "checksum file of a file that is left out" if left_out else None

    def _reason_of(self, place: layout.Place) -> Reason | None:
        match place:
            case layout.Temporary():
                return "temporary"
            case layout.LogEntry(_, batch, canonical):
                return self._compared(batch, self._batch_id) if canonical else "misspelt entry"
            case layout.StateFile(version=version):
                return self._compared(version, self._batch_id + 1)
            case layout.StateTable():
                return "older than needed"  # or newer: no version that is read names it
            case layout.OperatorMetadataFile(_, int(batch)) | layout.StateSchemaFile(_, int(batch)):
                return "of a later batch" if batch > self._batch_id else None
            case layout.SourceLogEntry(source_id, entry_id) if source_id in self._log_offsets:
                return self._compared(entry_id, self._log_offsets[source_id])
        return None

    @staticmethod
    def _compared(number: int, end: int) -> Reason:
        """One of the batch itself that is not needed was left by another try, or is of a partition that is not read."""
        return "of a later batch" if number > end else "older than needed"


def main_object(name: str) -> str:
    """The object that a checksum file belongs to in the end: a checksum file may have one itself."""
    while isinstance(place := layout.parse(name), layout.Sidecar):
        name = place.of
    return name


def _is_unknown(name: str) -> bool:
    return isinstance(layout.parse(main_object(name)), layout.Other | layout.SinkLogEntry)


def _beside_its_object(name: str) -> tuple[str, int, str]:
    main = main_object(name)
    return main, len(name) if name != main else 0, name
