"""The operator that gives the state another number of partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_provider_ckpt.change.kinds import Kind
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.base import texts_by_text
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator, plain


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
    template_fields: Sequence[str] = (*CheckpointChangeOperator.template_fields, "partitions", "confs")

    def __init__(
        self, *, partitions: int | str | None = None, confs: Mapping[str, str] | str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.partitions = partitions
        self.confs = confs

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or that of a repartition that was interrupted."""
        sink = self.declared_sink()
        stores = Stores.of(self.checkpoint, self.store, sink=sink, undo=self.undo_root, spark_confs=self._spark_confs())
        return make_repartition(stores, self._number(), sink=sink), stores

    def stores(self) -> Stores:
        """Where, and with what Spark reaches it."""
        return Stores.of(self.checkpoint, self.store, undo=self.undo_root, spark_confs=self._spark_confs())

    def _number(self) -> int:
        number = plain("partitions", self.partitions)
        if not isinstance(number, int) or isinstance(number, bool):
            raise CheckpointError(f"partitions is a whole number, such as 64, and not {self.partitions!r:.60}")
        return number

    def _spark_confs(self) -> dict[str, str]:
        return texts_by_text("confs", plain("confs", self.confs))
