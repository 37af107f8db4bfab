"""Positions in a mirror: nothing unread is passed over, and no more is read again than was said."""

from __future__ import annotations

import random

import pytest

from airflow_provider_ckpt.documents.positions import TranslatedFields
from airflow_provider_ckpt.sources.kafka.translation import Copied, Translated, translate
from tests.json_documents import problems

AT, THERE = ("t", 0), ("a.t", 0)


def first_since(stamps: dict[int, int], at_ms: int) -> int | None:
    """What a broker says: the first record in the order of offsets whose timestamp is not before a time."""
    return next((offset for offset, stamp in sorted(stamps.items()) if stamp >= at_ms), None)


def copied(
    here: dict[int, int],
    there: dict[int, int],
    position: int | None,
    *,
    ends: tuple[int, int] | None = None,
    most: int = 999,
    came_from: dict[int, int] | None = None,
) -> Copied:
    """What the brokers say of a partition and its copy, as the records are: timestamps by offset.

    A record of the copy has the content of the one here that it came from; the copy has changed it where that is not said.
    """
    end, there_end = ends or (max(here, default=-1) + 1, max(there, default=-1) + 1)
    earliest, there_earliest = min(here, default=end), min(there, default=there_end)
    first_unread = earliest if position is None else max(position, earliest)
    unread = [offset for offset in sorted(here) if offset >= first_unread][:most]
    upto = end if len(unread) < most else unread[-1] + 1
    at_ms = min((here[offset] for offset in unread), default=None)
    first_there = None if at_ms is None else first_since(there, at_ms)
    known_ms = at_ms if first_there is not None else there[max(there)] if there else None
    first_here = None if known_ms is None else first_since(here, known_ms)
    of_all = not position
    seen_here = min(here, default=None) if of_all else None if first_there is None else first_here
    seen_there = min(there, default=None) if of_all else first_there
    if of_all:
        at_ms = None
    return Copied(
        AT,
        THERE,
        position,
        earliest,
        end,
        there_earliest,
        there_end,
        at_ms,
        upto,
        False,
        first_there,
        True,
        first_here,
        first_there is None and first_here is not None and here[first_here] == known_ms,
        None if seen_here is None else (here[seen_here], (None, b"%d" % seen_here)),
        None
        if seen_there is None
        else (there[seen_there], (None, b"%d" % came_from[seen_there] if came_from else b"other")),
        not of_all and any(first_there is None or offset < first_there for offset in there),
    )


RISING = {offset: 1_000 + 10 * offset for offset in range(10)}


@pytest.mark.parametrize(
    ("here", "there", "position", "offset", "again"),
    [
        # the copy has other offsets
        (RISING, {offset + 100: stamp for offset, stamp in RISING.items()}, 4, 104, 0),
        # it has holes, as transactions leave them
        (RISING, {3 * offset: stamp for offset, stamp in RISING.items()}, 4, 12, 0),
        # it is behind: nothing unread was copied, and of what was read 2 and 3 follow
        (RISING, {offset: RISING[offset] for offset in range(2)}, 4, 2, 2),
        # nothing was copied
        (RISING, {}, 4, 0, 4),
        # nothing is unread
        (RISING, RISING, 10, 10, 0),
        # nothing is unread, and the copy is behind
        (RISING, {offset: RISING[offset] for offset in range(7)}, 10, 7, 3),
        # an empty partition
        ({}, {}, 0, 0, 0),
        # equal timestamps: those that were read come again
        ({0: 5, 1: 7, 2: 7, 3: 7, 4: 9}, {0: 5, 1: 7, 2: 7, 3: 7, 4: 9}, 3, 1, 2),
        # out of order: an unread record is older than those that were read
        ({0: 5, 1: 8, 2: 9, 3: 6, 4: 10}, {0: 5, 1: 8, 2: 9, 3: 6, 4: 10}, 3, 1, 2),
        # the first records here are gone
        ({offset: RISING[offset] for offset in range(3, 10)}, RISING, 4, 4, 0),
    ],
)
def test_where_a_query_goes_on(here, there, position, offset, again):
    translated = translate(copied(here, there, position))
    assert (translated.offset, translated.read_again, translated.not_proven) == (offset, again, 0)
    assert list(problems(translated.to_dict(), TranslatedFields)) == []


def test_records_that_were_not_read_are_not_proven_but_where_the_broker_stamps_them():
    partial = copied(RISING, RISING, 4, most=2)
    assert translate(partial).not_proven == 4
    stamped = Copied(**{name: getattr(partial, name) for name in Copied.__slots__} | {"rises": True})
    assert translate(stamped).not_proven == 0


def test_what_is_lost_here_or_not_copied_yet_is_said():
    lost = translate(copied({5: 50, 6: 60}, {5: 50, 6: 60}, 2, came_from={5: 5, 6: 6}))
    assert (lost.offset, lost.not_proven) == (5, 3)
    assert "At most 3 unread records of t-0 are gone" in lost.doubts[0]
    assert lost.to_dict()["notes"] == list(lost.doubts)
    behind = translate(copied(RISING, {0: 1_000}, 4))
    assert "No unread record of t-0 was copied yet" in behind.notes[0]
    assert "does not know t-0 yet" in translate(copied(RISING, RISING, None)).notes[0]


SAME = {offset: offset for offset in range(10)}


@pytest.mark.parametrize(
    ("here", "came_from", "position", "not_proven"),
    [
        # the copy was begun later, or its first records are gone
        (RISING, {0: 6, 1: 7}, 4, 6),
        (RISING, {6: 6, 7: 7}, 4, 6),
        # with the first unread record, and with one that was read
        (RISING, {0: 4, 1: 5}, 4, 0),
        (RISING, {0: 3, 1: 4}, 4, 0),
        # its first record has the timestamp of the first unread one, and is another
        ({0: 5, 1: 7, 2: 7, 3: 7}, {0: 2, 1: 3}, 1, 3),
        # its first record has the timestamp T, and is not the first unread one, which has a later timestamp
        ({0: 5, 1: 9, 2: 7}, {0: 2}, 1, 2),
        # records in its middle are missing
        (RISING, {0: 0, 1: 1, 2: 7}, 4, 6),
        # all that was copied was deleted
        (RISING, {}, 4, 6),
        # nothing was read, or the query does not know the partition
        (RISING, SAME, 0, 0),
        (RISING, SAME, None, 0),
        (RISING, {0: 1, 1: 2}, 0, 10),
        (RISING, {0: 1, 1: 2}, None, 10),
        # nothing is unread
        (RISING, {0: 6}, 10, 0),
        # all that was not read is gone here
        ({}, SAME, 7, 3),
    ],
)
def test_what_the_copy_may_lack_is_not_proven(here, came_from, position, not_proven):
    there = {offset: RISING[came] if here in ({}, RISING) else here[came] for offset, came in came_from.items()}
    ends = (10 if here in ({}, RISING) else max(here) + 1, max(there, default=9) + 1)
    translated = translate(copied(here, there, position, ends=ends, came_from=came_from))
    assert (translated.not_proven, len(translated.doubts)) == (not_proven, 1 if not_proven else 0)


def test_a_copy_with_other_contents_is_proven_by_an_older_record():
    assert translate(copied(RISING, RISING, 4)).not_proven == 0
    begun = {offset: RISING[offset] for offset in range(4, 10)}
    assert translate(copied(RISING, begun, 4)).not_proven == 6


def mirrored(seed: int) -> tuple[dict[int, int], dict[int, int], dict[int, int], int]:
    """A topic and its copy by chance: timestamps here, there, where each record went, and a position."""
    rng = random.Random(seed)
    here: dict[int, int] = {}
    at, stamp = 0, 1_000
    for _ in range(rng.randrange(12)):
        stamp += rng.choice((0, 0, 1, 5))
        here[at] = max(0, stamp + rng.choice((0, 0, 0, -7, 9)))
        at += rng.choice((1, 1, 2, 4))
    began, cut = rng.randrange(4), rng.randrange(13)
    went: dict[int, int] = {}
    there_at = rng.randrange(50)
    for number, offset in enumerate(here):
        if began <= number < max(cut, began):
            went[offset] = there_at
            there_at += rng.choice((1, 1, 3))
    there = {went[offset]: here[offset] for offset in went}
    return here, there, went, rng.randrange(max(here, default=0) + 2)


@pytest.mark.parametrize("start", range(0, 2_000, 200))
def test_nothing_unread_is_passed_over_whatever_the_timestamps_are(start):
    for seed in range(start, start + 200):
        here, there, went, position = mirrored(seed)
        translated = translate(copied(here, there, position))
        unread = {offset for offset in here if offset >= position}
        assert all(went[offset] >= translated.offset for offset in unread if offset in went), seed
        began = min(went, default=max(here, default=0) + 1)
        later = max(went, default=-1)  # what is copied from now on goes to the end
        again = [
            o for o in here if o < position and ((o in went and went[o] >= translated.offset) or o > max(later, began))
        ]
        assert len(again) <= translated.read_again, seed
        assert isinstance(translated, Translated)


@pytest.mark.parametrize("start", range(0, 2_000, 200))
def test_what_is_proven_is_there_or_is_copied_later(start):
    for seed in range(start, start + 200):
        here, there, went, position = mirrored(seed)
        for deleted in range(len(there) + 1):
            left = {offset: there[offset] for offset in sorted(there)[deleted:]}
            came_from = {went[offset]: offset for offset in went}
            ends = (max(here, default=-1) + 1, max(there, default=-1) + 1)
            translated = translate(copied(here, left, position, ends=ends, came_from=came_from))
            has = {offset for offset in went if went[offset] in left and went[offset] >= translated.offset}
            later = {offset for offset in here if not went or offset > max(went)}
            unread = {offset for offset in here if offset >= position}
            is_whole = not deleted and (not went or min(went) == min(here))
            if is_whole and position >= min(here, default=0):
                assert translated.not_proven == 0, seed
            if not unread <= has | later:
                assert translated.not_proven > 0, (seed, deleted)
