"""The operator that gives a fork of the live query its first batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.operators.base import CheckpointOperator, task_of, texts_of
from airflow_provider_ckpt.query.sink import parse_sink

if TYPE_CHECKING:
    from airflow_provider_ckpt.blue_green.stage_range import Opened
    from airflow_provider_ckpt.documents.tasks import StagedRangeDocument
    from airflow_provider_ckpt.lineage.datasets import Named
    from airflow_provider_ckpt.storage.store import Store


_GIVEN = ("fork", "last_batch", "sink", "shadow_sink", "shadow_args")


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
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, *_GIVEN)

    def __init__(
        self,
        *,
        fork: str,
        last_batch: int | str | None = None,
        sink: str | None = None,
        shadow_sink: str | None = None,
        shadow_args: str | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.fork = fork
        self.last_batch = last_batch
        self.sink = sink
        self.shadow_sink = shadow_sink
        self.shadow_args = shadow_args

    def execute(self, context: Any) -> StagedRangeDocument:
        """Stage the range, and say what it is."""
        from airflow_provider_ckpt.blue_green.require import require_apart
        from airflow_provider_ckpt.blue_green.stage_range import stage_range

        with self.running(context):
            last = None if self.last_batch in (None, "") else _number("last_batch", self.last_batch)
            live, fork = self.store(), self.store(self.fork)
            sink, shadow = (_opened(declared, self.store) for declared in (self.sink, self.shadow_sink))
            if sink is not None and shadow is not None:
                require_apart(live.location, sink, shadow)
            self._require_directed(live, fork, sink)
            staged = stage_range(live, fork, last, shadow=shadow, by=task_of(context))
            if staged.stateful and staged.last_batch > staged.first_batch:
                self.log.warning(
                    "The query keeps state: its results may depend on where batches are cut. The fork runs batches %d "
                    "to %d as one. To compare exactly, stage one batch.",
                    staged.first_batch,
                    staged.last_batch,
                )
            return self.tell(context, staged.to_dict())

    def _require_directed(self, live: Store, fork: Store, sink: Opened | None) -> None:
        """Raise PlanError for arguments that would let the new version use what the live query uses."""
        from airflow_provider_ckpt.blue_green.arguments import misdirected

        if self.shadow_args is None:
            return
        used = [live.location, self.checkpoint]
        if sink is not None and sink[1] is not None:
            used += [sink[0].location, sink[1].location]
        reason = misdirected(texts_of("shadow_args", self.shadow_args), [fork.location, self.fork], used)
        if reason is not None:
            raise PlanError(
                f"shadow_args would not lead the new version to the fork: {reason}.",
                location=fork.location,
                hint="Nothing was done. Give the arguments with the fork and the shadow sink in the place of the live "
                "checkpoint and the live sink. If the application finds them elsewhere, give shadow_args=None.",
            )

    @staticmethod
    def require_unstarted(
        fork: str,
        batches: Mapping[str, Any],
        shadow_sink: str | None = None,
        checkpoint_conn_id: str | None = None,
        query: str | None = None,
    ) -> None:
        """Fail when an application has run on a fork; for ``pre_execute`` of the task that starts the new version.

        Whoever mends the application and clears that task would have the rows of the first one compared.

        :param fork: Location of the fork.
        :param batches: The return value of this operator.
        :param shadow_sink: The sink of the new version.
        :param checkpoint_conn_id: Connection of type ``checkpoint``.
        :param query: Name of the live query, whose query file says how storage is opened.
        """
        from airflow_provider_ckpt.blue_green.require import require_unstarted
        from airflow_provider_ckpt.blue_green.stage_range import staged_of

        with airflow_errors():
            task = CheckpointStageOperator(
                task_id="require_unstarted",
                checkpoint=None if query else fork,
                query=query,
                fork=fork,
                shadow_sink=shadow_sink,
                checkpoint_conn_id=checkpoint_conn_id,
            )
            task.declare()
            try:
                staged = staged_of(batches)
            except ValueError as error:
                raise CheckpointError(f"batches: {error}") from error
            require_unstarted(task.store(task.fork), staged.first_batch, _opened(task.shadow_sink, task.store))

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The fork."""
        from airflow_provider_ckpt.lineage.datasets import checkpoint

        if (fork := self.hook.known_url(self.fork)) is not None:
            yield checkpoint(fork, change="ALTER" if told else "")


def _opened(declared: str | None, open_store: Callable[[str], Store]) -> Opened | None:
    from airflow_provider_ckpt.change.open_sinks import open_sink

    if declared in (None, ""):
        return None
    sink = parse_sink(declared)
    return sink, open_sink(sink, open_store)


def _number(name: str, value: Any) -> int:
    """A batch id, which a template may have made a text. Raises CheckpointError."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise CheckpointError(f"{name} must be the id of a batch, not {value!r:.60}")
