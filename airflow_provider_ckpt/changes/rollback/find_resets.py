"""Finding the resets that a rollback meets: those whose positions it keeps, and those that it takes back by the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Replace
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Resets:
    """Resets whose offsets are in the log now.

    Args:
        batch_id: The target of the rollback.
        kept: The reset that has moved the position after the target; None without one.
        dropped: Those that have moved the position after later batches; oldest first.
    """

    batch_id: int
    kept: Plan | None
    dropped: tuple[Plan, ...]

    def warnings(self) -> Iterator[str]:
        """Warnings for a reader of the plan; sentences."""
        if self.kept is not None:
            yield (
                f"Batch {self.batch_id + 1} begins where the reset {self.kept.plan_id} has moved the query to, and not "
                f"where batch {self.batch_id} had ended. {self.kept.notes[0] if self.kept.notes else ''}".rstrip()
            )
        for plan in self.dropped:
            yield (
                f"The reset {plan.plan_id}, which moved the query after batch {plan.batch_id}, is dropped with that "
                f"batch: batch {self.batch_id + 1} begins where batch {self.batch_id} ended. How much is read again is "
                "not known, because the offsets do not tell what was read before the reset and after it."
            )


def find_resets(stores: Stores, batch_id: int, entry: OffsetSeq) -> Resets:
    """The resets that matter for a rollback.

    Args:
        stores: The checkpoint and the other places of the change.
        batch_id: The target.
        entry: The offset entry of that batch, as the rollback leaves it.

    Raises:
        StoreError: A record of a change is damaged.
    """
    text, kept, dropped = entry.encode(), None, list[Plan]()
    for change in history(stores.checkpoint, stores.undo):
        step = next((action for action in change.plan.actions if isinstance(action, Replace)), None)
        if change.plan.kind != "reset" or step is None or change.plan.batch_id < batch_id:
            continue
        if change.plan.batch_id == batch_id and text == step.data.encode():
            kept = change.plan
        elif _is_there(stores.checkpoint, step):
            dropped.append(change.plan)
    return Resets(batch_id, kept, tuple(dropped))


def _is_there(checkpoint: Store, step: Replace) -> bool:
    """True if an entry has the content that a reset has given it."""
    try:
        return checkpoint.read_up_to(step.name, step.new_size + 1) == step.data.encode()
    except CheckpointNotFoundError:
        return False
