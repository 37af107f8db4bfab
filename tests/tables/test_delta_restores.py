"""What RESTOREs mean for a query, by logs that are written as one sign for a version.

``+`` adds rows, ``-`` takes rows away, ``.`` has no data, and ``3`` is a RESTORE to version 3; ``?`` goes nobody knows
where. The first sign is version 0.
"""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets.delta import BASE_INDEX, DeltaOffset
from airflow_provider_ckpt.tables.delta_commit import RESTORE, DataFile, DeltaCommit
from airflow_provider_ckpt.tables.delta_restores import Restores, Reverted, not_read, reverted, versions_text

COMMITS = {
    "+": DeltaCommit(added=(DataFile("a", 1), DataFile("b", 1))),
    "-": DeltaCommit(removed={"a": 1}),
    ".": DeltaCommit(),
}
RESTORED = DeltaCommit(RESTORE, removed={"a": 1})


def log(signs: str) -> tuple[dict[int, DeltaCommit], Restores]:
    commits = {version: COMMITS.get(sign, RESTORED) for version, sign in enumerate(signs)}
    targets = {at: None if sign == "?" else int(sign) for at, sign in enumerate(signs) if sign not in COMMITS}
    return commits, Restores(targets)


def found(signs: str, version: int, index: int = BASE_INDEX, *, first: bool = False) -> Reverted | None:
    commits, restores = log(signs)
    return reverted(DeltaOffset("t", version, index, first), commits, restores, len(signs) - 1)


#: The log, where the query is, and what that means: unread and reverted, read and reverted, the RESTORE to go past, kept.
CASES = {
    "no RESTORE": ("+++", 1, None),
    "one that was read": ("+++1+", 4, None),
    "unread versions": ("+++++2+", 3, ((3, 4), (), 5, ())),
    "unread versions, without data": ("+++..2+", 3, ((), (), 5, ())),
    "one unread version of two": ("+++++2+", 4, ((4,), (3,), 5, ())),
    "versions that were read": ("+++++2+", 5, ((), (3, 4), 5, ())),
    "a version that stays is unread": ("+++++3+", 3, ((4,), (), None, (3,))),
    "a delete that stays is unread": ("+++-+3+", 3, ((4,), (), None, (3,))),
    "a delete is reverted": ("+++-2+", 3, ((3,), (), 4, ())),
    "two RESTOREs": ("+++2+2+", 3, ((4,), (), 5, ())),
    "the second keeps what came between": ("++++2++5+", 3, ((3, 6), (), 4, ())),
    "the second takes the first back": ("+++2+3+", 2, ((4,), (), None, (2,))),
    "what was reverted comes back": ("++++24+", 3, ((3,), (), 5, ())),
    "what was reverted comes back, as it was": ("++++23+", 3, ((), (), 4, ())),
    "it comes back when it was passed": ("++++2+3+", 5, ((5,), (), None, (3,))),
    "all of it": ("+++0+", 1, ((1, 2), (), 3, ())),
    "nobody knows how far": ("+++?+", 1, None),
}  # fmt: skip


@pytest.mark.parametrize(("signs", "version", "expected"), CASES.values(), ids=CASES)
def test_what_a_restore_means(signs, version, expected):
    item = found(signs, version)
    if expected is None:
        assert item is None or (not item.known and item.past is None)
    else:
        assert item is not None and item.known
        assert (item.unread, item.read, item.past, item.kept) == expected


def test_in_the_middle_of_a_version_that_stays_its_rest_is_unread():
    item = found("+++++3+", 3, 0)
    assert item is not None and (item.past, item.kept) == (None, (3,))
    item = found("+++++3+", 3, 1)
    assert item is not None and (item.past, item.unread) == (5, (4,))


def test_in_the_middle_of_a_version_that_was_reverted_a_part_was_read():
    item = found("+++++2+", 3, 0)
    assert item is not None and (item.unread, item.read, item.past) == ((3, 4), (3,), 5)


def test_in_the_first_snapshot_no_reset_is_exact():
    item = found("+++++3+", 3, 0, first=True)
    assert item is not None and (item.unread, item.past) == ((4,), None)


def test_a_gap_in_the_log_hides_what_was_read_and_what_was_not():
    commits, restores = log("+++++2+")
    del commits[4]
    assert reverted(DeltaOffset("t", 3), commits, restores, 6) == Reverted((5,), known=False)


@pytest.mark.parametrize(("made", "left"), [(3, (3,)), (4, (3, 4)), (5, ()), (6, (6,))])
def test_what_a_move_leaves_out_is_what_the_table_has(made, left):
    commits, restores = log("+++++2+")
    assert tuple(not_read(DeltaOffset("t", 3), commits, restores, made)) == left


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ((3,), "version 3"),
        ((3, 4, 5), "versions 3 to 5"),
        ((3, 5), "versions 3 and 5"),
        ((1, 3, 5, 7, 9, 11, 13), "versions 1, 3, 5, 7, 9 and 2 more"),
    ],
)
def test_versions_are_named_shortly(versions, text):
    assert versions_text(versions) == text
