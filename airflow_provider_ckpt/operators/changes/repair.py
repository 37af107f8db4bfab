"""The operator that completes the log of a file sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.repair.make import make_repair
from airflow_provider_ckpt.changes.repair.request import RepairRequest
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.base import is_nothing, plain
from airflow_provider_ckpt.operators.changes.asked import asked_of, rendered_fields
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator


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

    kind: ClassVar[Kind] = "repair"
    does = "repair"
    has_done = "The log of the file sink was completed of"
    template_fields: Sequence[str] = rendered_fields(RepairRequest, CheckpointChangeOperator.template_fields)

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

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or that of a repair that was interrupted."""
        batches = {name: tuple(_batches(name, getattr(self, name))) for name in ("adopt", "empty")}
        asked = asked_of(self, RepairRequest, compact_interval=self._interval(), **batches)
        if asked.sink is None:
            raise CheckpointError(
                "sink must be the file sink whose log is to be completed, such as file:s3://lake/orders"
            )
        try:
            decisions = asked.decisions()
        except ValueError as error:
            raise CheckpointError(str(error)) from error
        stores = Stores.of(self.checkpoint, self.store, sink=asked.sink, undo=self.undo_root, backups=asked.copy)
        return make_repair(stores, asked.sink, decisions), stores

    def lineage_trims(self) -> bool:
        """True unless only a plan is made: a repair writes to the sink."""
        return not self.plan_only

    def _interval(self) -> int | None:
        interval = None if is_nothing(self.compact_interval) else plain("compact_interval", self.compact_interval)
        if interval is not None and (type(interval) is not int or interval < 1):
            raise CheckpointError(
                f"compact_interval must be a whole number of batches, not {self.compact_interval!r:.60}"
            )
        return interval


def _batches(name: str, value: Any) -> list[str]:
    """Batches of an argument as texts: one or a list, of which a template may have made numbers."""
    given = plain(name, value)
    if given is None or given == "":
        return []
    items = given if isinstance(given, list | tuple) else [given]
    if any(not isinstance(item, str | int) or isinstance(item, bool) for item in items):
        raise CheckpointError(f"{name} must be batch ids, one or a list, not {value!r:.60}")
    return [str(item) for item in items]
