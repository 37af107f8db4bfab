"""Checks that a change can leave each file as its query needs it: with the owner, the group and the mode that it has
now.

Files that a change writes get those by themselves (the storage does it): a file its old ones, a new file those of the
newest beside it. Checked here, before anything is changed, is if this user can give them; a storage without modes needs
no check.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Action
from airflow_provider_ckpt.errors import PlanError


def require_access(stores: Stores, actions: Iterable[Action], called: str) -> None:
    """Raise PlanError for a step after which the query may not be able to read or replace a file; nothing was done.

    Args:
        stores: The checkpoint and the other places of the change.
        actions: The steps that are left.
        called: Name of the change, in a word.
    """
    for action in actions:
        store = stores.place(action.place)
        obstacle = store.obstacle(action.name)
        if obstacle is not None:
            raise PlanError(
                f"this {called} cannot leave its files as the query needs them: {obstacle}",
                location=store.location,
                name=action.name,
                hint="Nothing was done. Run the same command as the owner of the files (sudo -u OWNER ckpt …), or as "
                "root, which gives them to their owner. See who owns what: ls -ln.",
            )
