"""The groups of actors that `make interleavings` lets meet, and what of that `make test` does."""

from __future__ import annotations

from collections.abc import Callable

from tests.interleavings import backups, changes, fences
from tests.interleavings.search import Scenario
from tests.interleavings.stores import ROOTS

PAIRS: tuple[Callable[[str], Scenario], ...] = (
    changes.rollback_and_query,
    changes.undo_and_query,
    changes.reset_and_query,
    changes.undo_of_reset_and_query,
    changes.rollback_and_rollback,
    changes.undo_and_rollback,
    changes.undo_and_undo,
    changes.reset_and_rollback,
    changes.crash_and_undo,
    changes.crash_and_again,
    changes.rollback_crash_and_query,
    changes.undo_crash_and_again,
    changes.reset_crash_and_undo,
    changes.crash_and_undo_with_checksums,
    changes.reset_with_checksums,
    changes.query_crash_and_rollback,
    changes.query_crash_and_undo,
    fences.fence_and_query,
    fences.fence_and_query_in_flight,
    fences.fence_and_rollback,
    fences.fence_and_fence,
    fences.fence_and_backup,
    fences.fence_crash_and_fence,
    fences.fence_crash_and_undo,
    fences.fence_crash_and_query,
    fences.undo_of_fence_and_query,
    fences.fenced_rollback_and_query,
    backups.backup_and_query,
    backups.backup_and_rollback,
    backups.backup_and_undo,
    backups.backup_and_reset,
    backups.backup_and_backup,
    backups.backup_and_prune,
    backups.backup_and_prune_of_base,
    backups.backup_crash_and_prune,
    backups.slow_backup_and_prune,
    backups.prune_and_prune,
    backups.prunes_that_disagree,
    backups.prune_crash_and_prune,
    backups.restore_and_prune,
    backups.restore_and_restore,
    backups.restore_crash_and_again,
    backups.exchange_and_prune,
    backups.exchange_and_query,
    backups.exchange_crash_and_again,
)
#: What `make test` leaves out, for it takes seconds.
LONG = (
    changes.crash_and_undo_with_checksums,
    changes.crash_and_again,
    changes.undo_crash_and_again,
    backups.backup_and_prune,
    backups.exchange_crash_and_again,
)
#: Three actors each.
THREES: tuple[Callable[[str], Scenario], ...] = (
    changes.crash_and_two_rescuers,
    changes.rollback_query_and_undo,
    changes.rollback_rollback_and_query,
    fences.query_crash_fence_and_query,
    fences.fence_query_and_rollback,
    backups.backup_query_and_prune,
    backups.restore_backup_and_prune,
)


def sample() -> list[tuple[Callable[[str], Scenario], str]]:
    """What `make test` searches: each pair on one storage, of two neighbours one on each."""
    kinds = tuple(ROOTS)
    return [(pair, kinds[number % len(kinds)]) for number, pair in enumerate(PAIRS) if pair not in LONG]
