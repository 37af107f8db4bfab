"""Report of a salvage: the batch, the origin of its parts, losses, and what nobody can judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ckpt.changes.salvage.tree import Assembled
from airflow_provider_ckpt.checks.state import has_state_ids
from airflow_provider_ckpt.restart.judged import STATE_TABLES, not_checked
from airflow_provider_ckpt.untrusted.spans import batches_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.changes.salvage.pieces import Piece
    from airflow_provider_ckpt.documents.changes import SalvageFields

#: Pieces and batches that are told one by one.
MOST_TOLD = 8


@dataclass(frozen=True, slots=True)
class Report:
    """The report as a value; ``notes`` and ``warnings`` of the plan say the same in sentences.

    Args:
        batch_id: The newest committed batch that is saved.
        reruns_batch: The batch that runs again as it was planned, or None.
        backup_id: The backup that files come from, or empty.
        pieces: Objects that are put there, by name.
        not_whole: Files of the checkpoint that are damaged, and why.
        not_saved: Why later batches cannot be saved, by batch.
        given_up: The first and the last batch that are given up, or None.
        not_judged: Sentences on what nobody can judge.
    """

    batch_id: int
    reruns_batch: int | None
    backup_id: str
    pieces: tuple[Piece, ...]
    not_whole: Mapping[str, str]
    not_saved: Mapping[int, str]
    given_up: tuple[int, int] | None
    not_judged: tuple[str, ...] = ()

    def to_dict(self) -> SalvageFields:
        """JSON-ready."""
        first, last = self.given_up or (None, None)
        return {
            "batch_id": self.batch_id,
            "reruns_batch": self.reruns_batch,
            "backup_id": self.backup_id or None,
            "objects": [
                {
                    "name": piece.name,
                    "way": piece.way,
                    "source": piece.source,
                    "size": piece.size,
                    "sha256": piece.sha256,
                }
                for piece in self.pieces
            ],
            "not_whole": [{"name": name, "reason": why} for name, why in sorted(self.not_whole.items())],
            "not_saved": [
                {"batch_id": batch, "reason": why} for batch, why in sorted(self.not_saved.items(), reverse=True)
            ],
            "given_up": None if first is None or last is None else {"first_batch": first, "last_batch": last},
            "not_judged": list(self.not_judged),
        }


def report_of(found: Assembled, problems: Mapping[int, str], newest: int | None, backup_id: str = "") -> Report:
    """The report of a batch that was put together; the arguments are those of :func:`notes_of`."""
    tree = found.tree
    return Report(
        batch_id=tree.batch_id,
        reruns_batch=tree.last if tree.last > tree.batch_id else None,
        backup_id=backup_id if any(piece.way == "backup" for piece in found.pieces) else "",
        pieces=found.pieces,
        not_whole={name: why for name, why in tree.broken.items() if name in tree.view.objects},
        not_saved=dict(problems),
        given_up=given_up_of(found, newest),
        not_judged=unjudged(found),
    )


def notes_of(found: Assembled, problems: Mapping[int, str], newest: int | None, backup_id: str = "") -> tuple[str, ...]:
    """The report of a batch that was put together; sentences.

    Args:
        found: The batch.
        problems: Why newer batches cannot be saved, by batch.
        newest: The newest batch of which the checkpoint has a file.
        backup_id: The backup that pieces come from.
    """
    return tuple(_notes(found, problems, newest, backup_id))


def _notes(found: Assembled, problems: Mapping[int, str], newest: int | None, backup_id: str) -> Iterator[str]:
    tree, batch_id = found.tree, found.tree.batch_id
    pieces = found.pieces
    how = "with files put back in their places" if pieces else "and all that it needs is in its place"
    yield f"Batch {batch_id} is the newest batch that can be saved, {how}."
    for piece in pieces[:MOST_TOLD]:
        text = piece.text.replace("the backup", f"backup {backup_id}") if backup_id else piece.text
        yield f"{text}."
    if len(pieces) > MOST_TOLD:
        yield f"{len(pieces) - MOST_TOLD} more files are put back in the same ways."
    for batch in sorted(problems, reverse=True)[:MOST_TOLD]:
        yield f"Batch {batch} cannot be saved: {problems[batch]}."
    if len(problems) > MOST_TOLD:
        yield f"{len(problems) - MOST_TOLD} more batches before those cannot be saved either."
    yield from _lost(found, newest)
    for name in sorted(tree.stale)[:MOST_TOLD]:
        yield f"{name} is removed: it is damaged, and the file that it belongs to is whole by itself."


def _lost(found: Assembled, newest: int | None) -> Iterator[str]:
    batch_id, last = found.tree.batch_id, found.tree.last
    if last > batch_id:
        yield f"Batch {last} runs again, from the offsets and to the offsets of its entry."
    given_up = given_up_of(found, newest)
    if given_up is None:
        yield "No batch is given up of which there is any file; of one that has left no file nothing is known."
    else:
        those = batches_text(*given_up)
        what = "The state and the offsets" if found.after.stateful else "The offsets"
        yield (
            f"{what} of {those} are given up: what they read is read again, as far as the sources still have it, and "
            "is cut into batches anew."
        )
    if found.after.stateful:
        yield f"The state after batch {batch_id} is whole{', as far as the warnings say' if unjudged(found) else ''}."


def given_up_of(found: Assembled, newest: int | None) -> tuple[int, int] | None:
    """The first and the last batch that are given up, or None.

    Args:
        found: The batch.
        newest: The newest batch of which the checkpoint has a file.
    """
    last = found.tree.last
    return None if newest is None or newest <= last else (last + 1, newest)


def unjudged(found: Assembled) -> tuple[str, ...]:
    """Sentences on what nobody can judge from the files."""
    said = []
    missing = not_checked(found.after)
    if STATE_TABLES in missing:
        said.append(
            "Tables of RocksDB have no checksum file, so of those only the length was compared. Spark finds damage in "
            "one when it reads it."
        )
    if found.after.stateful and not has_state_ids(found.after):
        said.append(
            "Whether the last stateful operators are lost as a whole is not known: no file tells how many there were. "
            "Spark refuses to start then."
        )
    said += [
        f"{piece.source} holds no key, as {piece.like} does, so nothing but its name says that it is {piece.name}: if "
        "it is not, what that batch changed in this part of the state is lost."
        for piece in found.pieces
        if piece.like
    ]
    said += [f"{problem}." for problem in found.chosen.unknown]
    return tuple(said)


def why_nothing(problems: Mapping[int, str]) -> str:
    """Why no batch can be saved, by the newest candidates; the end of a sentence."""
    told: Sequence[int] = sorted(problems, reverse=True)[:3]
    return "; ".join(f"batch {batch}: {problems[batch]}" for batch in told)
