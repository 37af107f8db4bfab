"""What a salvage tells: the batch, how it was put together, what is lost, and what nobody can judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_provider_ckpt.checks.state import has_state_ids
from airflow_provider_ckpt.restart.judged import STATE_TABLES, not_checked
from airflow_provider_ckpt.salvage.tree import Assembled
from airflow_provider_ckpt.untrusted.spans import batches_text

#: Pieces and batches that are told one by one.
MOST_TOLD = 8


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
    yield from _lost(tree.batch_id, tree.last, newest)
    for name in sorted(tree.stale)[:MOST_TOLD]:
        yield f"{name} is removed: it is damaged, and the file that it belongs to is whole by itself."


def _lost(batch_id: int, last: int, newest: int | None) -> Iterator[str]:
    if last > batch_id:
        yield f"Batch {last} runs again, from the offsets and to the offsets of its entry."
    if newest is None or newest <= last:
        yield "No state is lost."
        return
    yield (
        f"No state up to batch {batch_id} is lost. The state and the offsets of {batches_text(last + 1, newest)} are "
        "given up: what they read is read again, as far as the sources still have it, and is cut into batches anew."
    )


def unjudged(found: Assembled) -> tuple[str, ...]:
    """What nobody can judge from the files; sentences."""
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
    said += [f"{problem}." for problem in found.chosen.unknown]
    return tuple(said)


def why_nothing(problems: Mapping[int, str]) -> str:
    """Why no batch can be saved, by the newest candidates; the end of a sentence."""
    told: Sequence[int] = sorted(problems, reverse=True)[:3]
    return "; ".join(f"batch {batch}: {problems[batch]}" for batch in told)
