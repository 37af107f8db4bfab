"""What the operators have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.report import Table, render
from airflow_provider_ckpt.store import Store


class CheckpointOperator(BaseOperator):
    """What the operators have in common.

    :param checkpoint: The checkpointLocation of the query, relative to the connection's base or any fsspec URL.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    """

    template_fields: Sequence[str] = ("checkpoint", "checkpoint_conn_id")
    ui_color = "#e6f0f9"

    def __init__(self, *, checkpoint: str, checkpoint_conn_id: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.checkpoint = checkpoint
        self.checkpoint_conn_id = checkpoint_conn_id

    @cached_property
    def hook(self) -> CheckpointHook:
        """The hook."""
        return CheckpointHook(self.checkpoint_conn_id)

    def store(self, location: str | None = None) -> Store:
        """The checkpoint's store, or that of another location."""
        return self.hook.store(location or self.checkpoint)

    def report(self, *tables: Table) -> None:
        """One log entry with tables."""
        self.log.info("\n%s", render(tables))
