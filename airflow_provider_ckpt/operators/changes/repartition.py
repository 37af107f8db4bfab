"""The operator that gives the state another number of partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.repartition.request import RepartitionRequest
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.base import plain, texts_by_text
from airflow_provider_ckpt.operators.changes.asked import asked_of, rendered_fields
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator
from airflow_provider_ckpt.query.sink import Sink


class CheckpointRepartitionOperator(CheckpointChangeOperator):
    """Gives the state another number of partitions, through Spark's own manager (4.2 or later), in a Spark of its own.

    The Spark runs on the worker, as ``local[*]`` unless ``confs`` name another master, and needs PySpark and Java.
    Killed at any moment, a retry goes on; ``ckpt undo`` takes it back.

    :param partitions: How many partitions the state will have. The next start of the query runs with
        that number.
    :param confs: Confs of the Spark, such as ``spark.driver.memory`` or what it needs to reach the checkpoint. Those of
        the state are taken from the checkpoint.
    """

    kind: ClassVar[Kind] = "repartition"
    does = "repartition"
    has_done = "The state was given another number of partitions of"
    template_fields: Sequence[str] = rendered_fields(RepartitionRequest, CheckpointChangeOperator.template_fields)

    def __init__(
        self, *, partitions: int | str | None = None, confs: Mapping[str, str] | str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.partitions = partitions
        self.confs = confs

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or that of a repartition that was interrupted."""
        asked = asked_of(self, RepartitionRequest, partitions=self._number())
        stores = self._stores(asked.confs, asked.sink)
        return make_repartition(stores, self._number(), sink=asked.sink), stores

    def stores(self) -> Stores:
        """Where, and with what Spark reaches it."""
        return self._stores(texts_by_text("confs", plain("confs", self.confs)))

    def _stores(self, confs: Mapping[str, str], sink: Sink | None = None) -> Stores:
        return Stores.of(self.checkpoint, self.store, sink=sink, undo=self.undo_root, spark_confs=confs)

    def _number(self) -> int:
        number = plain("partitions", self.partitions)
        if not isinstance(number, int) or isinstance(number, bool):
            raise CheckpointError(f"partitions is a whole number, such as 64, and not {self.partitions!r:.60}")
        return number
