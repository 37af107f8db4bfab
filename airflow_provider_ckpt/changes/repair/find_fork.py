"""Finding the restore with which a query began as a fork."""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Create
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.repair.fork import Fork
from airflow_provider_ckpt.codec import layout


def find_fork(stores: Stores, query_id: str | None) -> Fork | None:
    """The restore that gave a query its id; None when no record tells of one.

    Raises StoreError for a record that is damaged.
    """
    done = [record for record in history(stores.checkpoint, stores.undo) if record.state == "applied"]
    own = [record for record in done if record.plan.query_id == query_id and _gives_an_id(record.plan)]
    return Fork(own[-1].plan.batch_id, own[-1].begun_at_ms or 0) if own else None


def _gives_an_id(plan: Plan) -> bool:
    return plan.kind == "restore" and any(
        isinstance(step, Create) and step.name == layout.METADATA for step in plan.actions
    )
