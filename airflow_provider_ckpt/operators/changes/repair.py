"""The operator that completes the log of a file sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner


class CheckpointRepairOperator(CheckpointChangeOperator):
    """Completes the log of a file sink, ``_spark_metadata``, in place, as ``ckpt repair`` does.

    ``sink`` is the file sink of the query; or all of it is in ``plan``. A missing entry gets the data files that are
    proven to be those of its batch; where that is not proven, the batch has to be decided about. ``ckpt undo`` takes it
    back.

    :param copy: Copy of the output directory or of its ``_spark_metadata``, from which missing entries are taken.
    :param adopt: Batches that get the data files that may be their own, or one of them: ``4`` or ``4=part-….parquet``.
    :param empty: Batches that get an entry without files: readers do not get their rows.
    :param compact_interval: The query's value of ``spark.sql.streaming.fileSink.log.compactInterval``; by default 10.
    """

    does = "repair"
    has_done = "The log of the file sink was completed of"

    @classmethod
    def request(cls) -> type[Planner]:
        """What it asks for."""
        from airflow_provider_ckpt.changes.repair.make import RepairRequest

        return RepairRequest

    def __init__(
        self,
        *,
        copy: str | None = None,
        adopt: int | str | Sequence[int | str] = (),
        empty: int | str | Sequence[int | str] = (),
        compact_interval: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.copy = copy
        self.adopt = adopt
        self.empty = empty
        self.compact_interval = compact_interval

    def lineage_trims(self) -> bool:
        """True unless only a plan is made: a repair writes to the sink."""
        return not self.plan_only
