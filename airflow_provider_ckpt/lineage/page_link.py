"""The buttons of a task instance in Airflow that lead to the pages of its checkpoints."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import BaseOperatorLink

from airflow_provider_ckpt.hooks.links import ROUTE, page_link

#: A task with a list of checkpoints has at most so many buttons.
MOST = 20


class CheckpointLink(BaseOperatorLink):
    """Leads to the page of a checkpoint. The worker makes the link when a try ends, fails or defers.

    :param number: Position of this checkpoint among several, counted from 0.
    """

    def __init__(self, number: int = 0) -> None:
        self.number = number

    @property
    def name(self) -> str:
        """Label of the button."""
        return f"Checkpoint {self.number + 1}" if self.number else "Checkpoint"

    @property
    def xcom_key(self) -> str:
        """Where Airflow keeps the link."""
        return f"_link_checkpoint_{self.number}"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The link; empty, which shows no button, when the task has not learnt where the checkpoint is."""
        locations = operator.linked_checkpoints()
        return page_link(locations[self.number]) if self.number < len(locations) else ""


class CheckpointsLink(BaseOperatorLink):
    """Leads to the page of all checkpoints, for a task on the backups of any number of them."""

    name = "Checkpoints"
    xcom_key = "_link_checkpoints"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The link."""
        return f"plugin/{ROUTE}"


def links_of(checkpoint: Any) -> tuple[CheckpointLink, ...]:
    """A button for each checkpoint of a list; one for all else, such as a template, which may become a list.

    Airflow must know the buttons before it renders anything; a template that becomes a list leads to its first.
    """
    given = len(checkpoint) if isinstance(checkpoint, list | tuple) else 1
    return tuple(map(CheckpointLink, range(max(1, min(given, MOST)))))
