"""Batches of a damaged checkpoint to try, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from airflow_provider_ckpt.change.plan.facts import batch_of
from airflow_provider_ckpt.changes.salvage.entries import commit_again
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.state import has_state_ids
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata

#: How many batches are tried, each of which may read a whole state.
MOST_TRIED = 1_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A batch, and what is kept after it.

    Args:
        batch_id: The newest committed batch that is kept.
        last: The newest planned batch that is kept: the same, or the one after it, which runs again as it was planned.
        keeps_state: True if the state files of the later batch stay, which was never committed.
    """

    batch_id: int
    last: int
    keeps_state: bool = False


def candidates(view: CheckpointView, broken: Mapping[str, str], others: Iterable[int]) -> Iterator[Candidate]:
    """Yield the batches to try, newest first; each with the batch after it first, where that alone was planned.

    Args:
        view: The checkpoint, with every text file read.
        broken: Its text files that are not whole.
        others: Batches whose commits are lost and that have another way: temporary files, backups, other entries.
    """
    newest = view.latest_planned
    keeps = newest is not None and layout.offset_entry(newest) not in broken
    tried = sorted({batch for batch in (*view.committed, *others) if batch >= 0}, reverse=True)
    for batch_id in tried[:MOST_TRIED]:
        if keeps and newest == batch_id + 1:
            if not any(committed > batch_id for committed in view.committed):
                yield Candidate(batch_id, newest, keeps_state=True)
            yield Candidate(batch_id, newest)
        yield Candidate(batch_id, batch_id)


def known_commits(view: CheckpointView, broken: Mapping[str, str]) -> dict[str, str]:
    """The commit entries that are lost and that the entries of the next batches tell, by name."""
    whole: dict[str, Encodable] = {name: entry for name, entry in view.entries.items() if name not in broken}
    found: dict[str, str] = {}
    is_plain = not has_state_ids(view) and not any(
        isinstance(entry, CommitMetadata) and entry.version > 1 for entry in whole.values()
    )
    for batch_id in view.planned:
        name = layout.commit_entry(batch_id)
        if name not in whole and (text := commit_again(batch_id, whole, is_plain)) is not None:
            found[name] = text
    return found


def has_each_batch(view: CheckpointView) -> bool:
    """True if the logs have entries of batches that follow each other, as all queries write them but async ones.

    A gap is then a hole: Spark searches for the entry of the very batch before.
    """
    return any(later == earlier + 1 for log in (view.planned, view.committed) for earlier, later in pairwise(log))


def newest_seen(view: CheckpointView, temporaries: Iterable[str]) -> int | None:
    """The newest batch of which the checkpoint has any file: it may have reached the sink."""
    names = (*view.objects, *temporaries)
    return max((batch for name in names if (batch := batch_of(name)) is not None), default=None)
