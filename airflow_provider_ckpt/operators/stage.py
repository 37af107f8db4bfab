"""The operator that gives a fork of the live query its first batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.lineage.datasets import Named, checkpoint
from airflow_provider_ckpt.operators.base import CheckpointOperator, task_of
from airflow_provider_ckpt.shadow.stage_range import stage_range

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import StagedRangeDocument


class CheckpointStageOperator(CheckpointOperator):
    """Gives a fork of the live query ``checkpoint`` its first batch: as long as batches of the live query together.

    A new version that is started on the fork runs that batch first, with the very offsets of the live query, whatever
    its trigger is and whatever the source has by then. So its output can be compared with that of the live query. The
    live query may go on running; nothing of it is changed. A second run finds the batch there.

    Returns ``first_batch`` (which is also the batch of the fork), ``last_batch`` and ``stateful``.

    :param fork: Location of the fork: a restored backup with a new query id, which nobody has started.
    :param last_batch: The batch of the live query that the range ends with, inclusive; the newest committed by default.
        A range of one batch is exact for every deterministic query. Results of stateful operators may depend on where
        batches are cut, and then a longer range may differ.
    """

    does = "stage"
    has_done = "A range of batches was staged of"
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "fork", "last_batch")

    def __init__(self, *, fork: str, last_batch: int | str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fork = fork
        self.last_batch = last_batch

    def execute(self, context: Any) -> StagedRangeDocument:
        """Stage the range, and say what it is."""
        with airflow_errors():
            last = None if self.last_batch in (None, "") else _number("last_batch", self.last_batch)
            staged = stage_range(self.store(), self.store(self.fork), last, by=task_of(context))
            if staged.stateful and staged.last_batch > staged.first_batch:
                self.log.warning(
                    "The query keeps state: its results may depend on where batches are cut. The fork runs batches %d "
                    "to %d as one. To compare exactly, stage one batch.",
                    staged.first_batch,
                    staged.last_batch,
                )
            result: StagedRangeDocument = {"format_version": FORMAT_VERSION, **staged.to_dict()}  # type: ignore[typeddict-item]  # its fields
            return self.tell(context, result)

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The fork."""
        if (fork := self.hook.known_url(self.fork)) is not None:
            yield checkpoint(fork, change="ALTER" if told else "")


def _number(name: str, value: Any) -> int:
    """A batch id, which a template may have made a text. Raises CheckpointError."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise CheckpointError(f"{name} must be the id of a batch, not {value!r:.60}")
