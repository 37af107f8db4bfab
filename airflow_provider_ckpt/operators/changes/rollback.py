"""The operator that rolls a checkpoint back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.operators.changes.in_place import (
    CheckpointFencingOperator,
    CheckpointTrimmingOperator,
)

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner


class CheckpointRollbackOperator(CheckpointTrimmingOperator, CheckpointFencingOperator):
    """Drops every batch after the given one, in place. The removed files are kept for ``ckpt undo``.

    Where to is one of ``to_batch``, ``to_timestamp``, ``to_watermark``, ``to_offsets``, ``to_backup`` and
    ``to_before_deploy``, or all of it is in ``plan``.
    After an interruption a second run completes it.

    :param to_batch: The last batch to keep.
    :param to_timestamp: The newest batch that began at or before this time (ISO 8601, or epoch milliseconds).
    :param to_watermark: The newest batch that ran with this watermark or a lower one.
    :param to_offsets: The newest batch that is not past these offsets, by source id; JSON when it is text.
    :param to_backup: The batch of a backup, as ``ROOT/ID``; its files come back from there when Spark has purged them.
    :param to_before_deploy: The batch that was the newest committed one when a gate has taken this bookmark:
        ``gate.output["bookmark"]``, or that as JSON text.
    :param sources: Types of the sources by id, such as ``{"0": "kafka"}``.
    :param trigger: The trigger of the query as the query file says it; with ``realTime`` the logs do not show every
        batch that the sink has rows of, so no effect on it is exact.
    :param downstream: Where checkpoints of other queries are searched for that have read what is dropped, beside those
        in the directory of this one: one location or several.
    :param backup_root: Where to search for an older batch when the checkpoint holds none any more.
    """

    does = "rollback"
    has_done = "A rollback was carried out of"

    @classmethod
    def request(cls) -> type[Planner]:
        """What it asks for."""
        from airflow_provider_ckpt.changes.rollback.make import RollbackRequest

        return RollbackRequest

    def __init__(
        self,
        *,
        to_batch: int | str | None = None,
        to_timestamp: int | str | None = None,
        to_watermark: int | str | None = None,
        to_offsets: str | Mapping[str, Any] | None = None,
        to_backup: str | None = None,
        to_before_deploy: str | Mapping[str, Any] | None = None,
        sources: Any = None,
        trigger: str | None = None,
        downstream: str | Sequence[str] = (),
        backup_root: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.to_batch = to_batch
        self.to_timestamp = to_timestamp
        self.to_watermark = to_watermark
        self.to_offsets = to_offsets
        self.to_backup = to_backup
        self.to_before_deploy = to_before_deploy
        self.sources = sources
        self.trigger = trigger
        self.downstream = downstream
        self.backup_root = backup_root
