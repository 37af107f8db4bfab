"""A position in one cluster as a position in another one that mirrors its topics, by the timestamps of the records.

A mirror (MirrorMaker 2, Replicator) copies the records of a partition to the partition of the same number, in order and
with their timestamps, but not to the same offsets: it may have begun later, transactions leave holes, and a copy may be
cut off at another place. So T is the time from which on all unread records are. The first record there
whose timestamp is not before T comes before the copy of every unread record, because the copies have their timestamps.
That needs no timestamps that rise: T is the least timestamp of all unread records, which are read for that.

A copy may also lack unread records: it was begun late, or has deleted its first records. It lacks none when its first
record since T is the first one here since T, which is an unread one at the latest, because it has all that follow. They
have the same timestamp then, and the same content; or an older record comes before in the copy, which is a read one.

Records are read twice where their timestamp equals T, or where they are out of order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ckpt.codec.offsets.kafka import Partition, to_json
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.sources.kafka.starting_options import FORMS

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import TranslatedFields


#: The timestamp of a record, epoch milliseconds, and what is in it: its key and its value.
Seen = tuple[int | None, tuple[bytes | None, bytes | None]]


@dataclass(frozen=True, slots=True)
class Copied:
    """One partition in both clusters.

    Args:
        at: The partition in the cluster that the query reads.
        there: Its copy.
        position: The first offset that was not read; None for a partition that the query does not know yet.
        earliest: The first offset that is left.
        end: The end.
        there_earliest: The first offset of the copy.
        there_end: The end of the copy, asked for before the end here.
        at_ms: The least timestamp of the unread records that were read; None when there are none.
        upto: They were read up to this offset, exclusive.
        rises: True if the broker has given the records their timestamps, one after the other.
        first_there: The first record of the copy whose timestamp is not before ``at_ms``; None without one.
        is_found: True if it is that record; False: it is where the search for it has ended, and it comes later.
        first_here: The first record here whose timestamp is not before ``at_ms``; where no unread record is in the
            copy, not before that of the last record of the copy. None without one.
        last_is_here: True if the last record of the copy has the timestamp of ``first_here``.
        seen_here: The first record here whose timestamp is not before ``at_ms``, or the first of all where nothing was
            read; None without one, or when the search for it has ended before.
        seen_there: The same of the copy.
        has_older: True if a record of the copy comes before ``first_there``, or before its end where that is None.
    """

    at: Partition
    there: Partition
    position: int | None
    earliest: int
    end: int
    there_earliest: int
    there_end: int
    at_ms: int | None = None
    upto: int = 0
    rises: bool = False
    first_there: int | None = None
    is_found: bool = True
    first_here: int | None = None
    last_is_here: bool = False
    seen_here: Seen | None = None
    seen_there: Seen | None = None
    has_older: bool = False

    @property
    def first_unread(self) -> int:
        """Where the unread records that are left begin."""
        return self.earliest if self.position is None else max(self.position, self.earliest)


@dataclass(frozen=True, slots=True)
class Translated:
    """Where a query goes on in the other cluster.

    Args:
        at: The partition in the cluster that the query has read.
        there: Its copy.
        position: The first offset that was not read here; None for a partition that the query does not know yet.
        offset: Where to begin there.
        at_ms: The timestamp that was searched for; None when that was not needed.
        read_again: Greatest number of offsets that are read a second time.
        not_proven: Unread offsets that may be skipped, because they may not be in the copy, or not from ``offset`` on.
            0: nothing is skipped.
        doubts: Why that is not proven, as sentences.
        notes: Further notes, as sentences.
    """

    at: Partition
    there: Partition
    position: int | None
    offset: int
    at_ms: int | None
    read_again: int
    not_proven: int
    doubts: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> TranslatedFields:
        """JSON-ready."""
        return {
            "topic": self.at[0],
            "partition": self.at[1],
            "position": self.position,
            "to_topic": self.there[0],
            "offset": self.offset,
            "timestamp_ms": self.at_ms,
            "read_again": self.read_again,
            "not_proven": self.not_proven,
            "notes": [*self.doubts, *self.notes],
        }


def offset_of(translated: Iterable[Translated]) -> SourceOffset:
    """The position in the other cluster, as an entry of its own would have it."""
    return SourceOffset(to_json({item.there: item.offset for item in translated}))


def text_of(form: str, translated: Iterable[Translated]) -> str:
    """The position in the other cluster as what a reader takes; the form is one of FORMS for Kafka."""
    return FORMS[form].text(offset_of(translated), "")


def translate(copied: Copied) -> Translated:
    """Where a query goes on in one partition of the other cluster: nothing unread that is there comes before it."""
    offset, again = _beginning(copied)
    doubts = list(_doubts(copied))
    return Translated(
        copied.at,
        copied.there,
        copied.position,
        offset,
        at_ms=copied.at_ms if copied.position else None,
        read_again=max(0, again),
        not_proven=sum(number for number, _ in doubts),
        doubts=tuple(text for _, text in doubts),
        notes=tuple(_notes(copied)),
    )


def _beginning(copied: Copied) -> tuple[int, int]:
    """The offset there, and how many offsets of what was read follow it at most."""
    if not copied.position:  # nothing was read
        return copied.there_earliest, 0
    since = copied.earliest if copied.first_here is None or not copied.is_found else copied.first_here
    if copied.at_ms is not None and copied.first_there is not None:
        return copied.first_there, copied.position - since
    # No unread record was copied before the end there was asked for; what was read and not copied comes after it.
    return copied.there_end, copied.position - since - copied.last_is_here


def _doubts(copied: Copied) -> Iterator[tuple[int, str]]:
    """How many unread offsets may be skipped, and why."""
    name, copy = (f"{topic}-{number}" for topic, number in (copied.at, copied.there))
    if copied.position is not None and copied.position < copied.earliest:
        lost = copied.earliest - copied.position
        yield (
            lost,
            f"At most {lost} unread records of {name} are gone here; they are not searched for in the copy, which may "
            "have them.",
        )
    left = copied.end - copied.upto
    if _may_lack(copied):
        unread = copied.end - copied.first_unread
        yield (
            unread,
            f"Unread records of {name} may be missing in {copy}: it seems that the copy was begun later, or that "
            "records of it were deleted.",
        )
    elif copied.at_ms is not None and not copied.rises and left > 0:
        yield (
            left,
            f"The timestamps of {left} unread offsets of {name} were not read, and one that is older than the others "
            "may come before; read more with --read-at-most.",
        )


def _may_lack(copied: Copied) -> bool:
    """True if the copy may lack an unread record that comes before others of its records."""
    here, there = copied.seen_here, copied.seen_there
    if here is None and copied.at_ms is None:  # nothing is unread
        return False
    if there is None:  # no unread record was copied yet, unless it was copied and deleted
        return not copied.has_older and copied.there_end > 0
    if here is None or here[0] != there[0]:
        return True
    return here[1] != there[1] and not copied.has_older


def _notes(copied: Copied) -> Iterator[str]:
    name = f"{copied.at[0]}-{copied.at[1]}"
    if copied.position is None:
        yield f"The query does not know {name} yet, so it begins with the first record of the copy."
    if copied.position and copied.at_ms is not None and copied.first_there is None:
        yield f"No unread record of {name} was copied yet, so the query waits for them at the end of the copy."
