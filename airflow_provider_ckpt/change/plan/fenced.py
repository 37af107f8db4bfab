"""Plans that are carried out behind a fence: its entry is in the place of the word that a query is stopped.

The entry stays as long as it is needed: a plan that removes it does so in the end, while the checkpoint is closed.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.change.plan.actions import Close, Open
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import Fenced, WriterStopped
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name


def with_fence(plan: Plan, fence: Fenced) -> Plan:
    """A plan that requires a fence, and no word on the query."""
    requirements = tuple(fence if isinstance(item, WriterStopped) else item for item in plan.requirements)
    note = f"{fence.name} is a fence: no query that was at batch {fence.batch_id - 1} can plan another batch."
    return replace(plan, requirements=requirements, notes=(*plan.notes, note))


def closed(plan: Plan, fence: Fenced) -> Plan:
    """The same between a closing and an opening of the checkpoint, behind the entry of the fence."""
    name = layout.offset_entry(fence.batch_id + 1)
    return replace(plan, actions=(Close(name), *plan.actions, Open(name)))


def idle_query_warning(location: str) -> str:
    """Warning about what a fence no longer prevents once a plan has removed it."""
    return (
        "The fence is removed with the last step but one: nothing holds a query afterwards that was idle all the time. "
        "With new records it goes on from its old batch, and breaks the checkpoint. If you cannot be sure that it has "
        f"ended, fence {location} alone, copy it to a new location, roll the copy back, and start the query there."
    )


def dropping_fence(plan: Plan, fence: Fenced) -> Plan:
    """A plan that removes the entry of the fence as well: after all else, right before it opens the checkpoint."""
    own = [action for action in plan.actions if action.place == "checkpoint" and main_name(action.name) == fence.name]
    others = [action for action in plan.actions if action not in own]
    told = idle_query_warning(plan.location)
    fenced = with_fence(replace(plan, actions=(*others, *own), warnings=(*plan.warnings, told)), fence)
    return closed(fenced, fence)
