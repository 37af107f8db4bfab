"""What is refused behind a fence says that the fence stays, and how to take it back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.errors import CheckpointError


@contextmanager
def telling_of_fence(stores: Stores, name: str | None, plan_id: str = "") -> Iterator[None]:
    """Add to the hint of a refusal that the fence stays, where its entry is there and the change has no step done.

    Args:
        stores: The checkpoint and the other places of the change.
        name: The entry of the fence; None where the change is not behind one.
        plan_id: The plan of the change; empty where it could not be made.
    """
    try:
        yield
    except CheckpointError as error:
        hint, told = error.hint or "", f"The fence {name} stays; this takes it back: {stores.undo_command}"
        if name is not None and told not in hint and _is_left(stores, name, plan_id):
            hint = hint.replace("Nothing was done.", "Nothing was done but the fence.")
            error.hint = f"{hint} {told}".strip()
        raise


def _is_left(stores: Stores, name: str, plan_id: str) -> bool:
    """Whether the fence is there, and is the newest change."""
    with suppress(CheckpointError):
        begun = bool(plan_id) and journal.may_have_taken_steps(stores.record(plan_id).ls()[0])
        return not begun and stores.checkpoint.stat(name) is not None
    return False
