"""Finding the earlier change that is asked for once more after the query has gone on.

A task with a fixed batch, run again a week later, would give up the batches of that week.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.untrusted.spans import batches_text


def repeated_warnings(stores: Stores, is_same: Callable[[Plan], bool], committed: Iterable[int]) -> tuple[str, ...]:
    """What a plan says that does once more what was done before; nothing where no batch was committed since.

    Args:
        stores: The checkpoint and the other places of the change.
        is_same: Whether an earlier plan had the same goal.
        committed: The batches of the commit log.

    Raises:
        StoreError: A record of a change is damaged.
    """
    done = [item for item in history(stores.checkpoint, stores.undo) if item.state == "applied" and is_same(item.plan)]
    if not done:
        return ()
    last = done[-1]
    since = [batch for batch in committed if batch > last.plan.batch_id]
    if not since:
        return ()
    when = f" at {time_text(last.begun_at_ms)}" if last.begun_at_ms else ""
    by = f" by {last.by}" if last.by else ""
    return (
        f"The query has committed {batches_text(since[0], since[-1])} since the {last.plan.called} {last.plan.plan_id}"
        f"{when}{by}, which had the same goal. If this one is only asked for again, as by another run of a DAG whose "
        "goal is fixed, do not carry it out.",
    )
