"""The operator that gives the state another number of partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.operators.base import plain, texts_by_text
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner
    from airflow_provider_ckpt.change.places import Stores


class CheckpointRepartitionOperator(CheckpointChangeOperator):
    """Gives the state another number of partitions, through Spark's own manager (4.2 or later), in a Spark of its own.

    The Spark runs on the worker, as ``local[*]`` unless ``confs`` name another master, and needs PySpark and Java.
    Killed at any moment, a retry goes on; ``ckpt undo`` takes it back.

    :param partitions: How many partitions the state will have. The next start of the query runs with
        that number.
    :param confs: Confs of the Spark, such as ``spark.driver.memory`` or what it needs to reach the checkpoint. Those of
        the state are taken from the checkpoint.
    """

    does = "repartition"
    has_done = "The state was given another number of partitions of"

    @classmethod
    def request(cls) -> type[Planner]:
        """What it asks for."""
        from airflow_provider_ckpt.changes.repartition.make import RepartitionRequest

        return RepartitionRequest

    def __init__(
        self, *, partitions: int | str | None = None, confs: Mapping[str, str] | str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.partitions = partitions
        self.confs = confs

    def stores(self) -> Stores:
        """Where, and with what Spark reaches it."""
        from airflow_provider_ckpt.change.places import Stores

        confs = texts_by_text("confs", plain("confs", self.confs))
        return Stores.of(self.checkpoint, self.store, undo=self.undo_root, spark_confs=confs)
