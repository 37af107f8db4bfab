"""The trigger: waits in the triggerer for a condition, or watches a stream for an asset."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.hooks.declared_task import DeclaredTask
from airflow_provider_ckpt.hooks.query_file import configured_file
from airflow_provider_ckpt.lineage.facts import asset_extra
from airflow_provider_ckpt.triggers.shared_polls import SharedPoller, poll_pool
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.progress import Progress
    from airflow_provider_ckpt.sources.kafka.foresee_wait import WaitForesight
    from airflow_provider_ckpt.waiting import Condition, Needs, SourceEnds
    from airflow_provider_ckpt.waiting.wait import Lost, Pending, Reached, Waiting

BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Seen:
    """The position of a stream when it was last told of.

    Args:
        query_id: Id of the query.
        batch_id: The newest committed batch.
        boundary_ms: The newest window end that the watermark had passed, epoch milliseconds; None without windows.
    """

    query_id: str | None
    batch_id: int | None
    boundary_ms: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any] | None) -> Self | None:
        """Parse the result of :meth:`to_dict`; None for None."""
        return None if fields is None else cls(**fields)


class Every:
    """How often a watcher fires.

    Args:
        every: ``batch``, or the length of event-time windows as ISO 8601.
        timezone: The zone of the windows.

    Raises:
        CheckpointError: That is no length of windows.
    """

    def __init__(self, every: str, timezone: str = "UTC") -> None:
        from airflow_provider_ckpt.waiting.windows import Windows

        self._windows = None if every == BATCH else Windows(every, timezone)

    @property
    def needs(self) -> Needs:
        """Data that a poll must read: an event tells of the watermark."""
        from airflow_provider_ckpt.waiting import Needs

        return Needs(offsets=True)

    def seen(self, progress: Progress) -> Seen | None:
        """The position of a stream; None while there is nothing to tell of."""
        if progress.batch_id is None:
            return None
        if self._windows is None:
            return Seen(progress.query_id, progress.batch_id)
        if not progress.watermark_ms:
            return None
        return Seen(progress.query_id, progress.batch_id, self._windows.boundary(progress.watermark_ms))

    def is_news(self, before: Seen | None, now: Seen) -> bool:
        """True if the stream has progressed, or has become another one."""
        if before is None or before.query_id != now.query_id:
            return True
        if self._windows is None:
            return before.batch_id != now.batch_id
        return now.boundary_ms is not None and (before.boundary_ms is None or now.boundary_ms > before.boundary_ms)


#: A log line at most so often, seconds: ten thousand waits share one process.
LOG_S = 60.0
#: What a watcher has seen is remembered so long after its event, seconds: by then the event is in the database.
SETTLE_S = 3.0


class CheckpointProgressTrigger(DeclaredTask, BaseEventTrigger):
    """Fires when the committed progress of a checkpoint meets a condition; without a condition it fires repeatedly.

    With a ``condition`` it fires once and ends; that is what the sensor defers to. Without, it is for an
    ``AssetWatcher`` and fires for each poll that shows newly committed batches, or with ``every="PT1H"`` for each
    that shows the watermark past another full hour. It then stores the last position in the asset's state store, so
    that batches that are committed while the triggerer is down fire later. Airflow before 3.3 has no such store, so
    each start of the triggerer fires once. An event is never lost, but may come twice when the triggerer ends within
    seconds of it.

    All waits on the same checkpoint share one poller. A storage that does not answer is asked again. What is wrong with
    the checkpoint, with what was asked for or with the access to it (any other CheckpointError) is the one event of a
    wait, with the status ``error``; a watcher says it in the log of the triggerer and polls again, because its events
    start DAGs. All else is no event: the trigger fails with it. The pause adapts: a quarter of ``poke_interval`` when
    the condition is nearly met, up to four times it when the stream is slow.

    :param checkpoint: Location of the checkpoint.
    :param condition: The condition, as :meth:`~airflow_provider_ckpt.waiting.Condition.to_dict` writes it.
    :param every: For a watcher: ``batch``, or the length of event-time windows as ISO 8601.
    :param timezone: For a watcher: the time zone of days, weeks and months.
    :param start: The position of the query when the wait began; None to begin now.
    :param sources: Where each source reads from, by id, such as ``{"0": "kafka:host:9092"}``.
    :param source_options: Options of the query's Kafka sources, such as ``{"0.maxOffsetsPerTrigger": 1000}``.
    :param trigger: The trigger of the query, such as ``availableNow``.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client.
    :param checkpoint_conn_id: Connection of type ``checkpoint``, or None.
    :param query: Name of the query in the query file, in place of ``checkpoint`` and of all else that the file declares
        of it; the triggerer reads the file when it begins.
    :param query_file: The query file, as an operator takes it.
    :param storage_options: Options of the fsspec driver, or None.
    :param kafka_options: Settings of Kafka's client, or None.
    :param kafka_clusters: What the query file says of several Kafka clusters, by their servers, or None.
    :param poke_interval: Seconds between two polls.
    :param deadline_ms: Wall-clock time at which the wait fails, epoch milliseconds, or None.

    Raises CheckpointError for ``every`` that is no length of windows.
    """

    def __init__(
        self,
        *,
        checkpoint: str | None = None,
        condition: dict[str, Any] | None = None,
        every: str = "batch",
        timezone: str = "UTC",
        start: dict[str, Any] | None = None,
        sources: dict[str, str] | None = None,
        source_options: Mapping[str, Any] | None = None,
        trigger: str | None = None,
        kafka_conn_id: str | None = None,
        checkpoint_conn_id: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        kafka_options: Mapping[str, str] | None = None,
        kafka_clusters: Mapping[str, Mapping[str, Any]] | None = None,
        query: str | None = None,
        query_file: str | None = None,
        poke_interval: float = 30.0,
        deadline_ms: int | None = None,
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self.condition = condition
        self.every = every
        self.timezone = timezone
        self.start = start
        self.sources = sources
        self.source_options = source_options
        self.trigger = trigger
        self.kafka_conn_id = kafka_conn_id
        self.checkpoint_conn_id = checkpoint_conn_id
        self.storage_options = storage_options
        self.kafka_options = kafka_options
        self.kafka_clusters = kafka_clusters
        self.query = query
        self.query_file = query_file
        self.require_named()
        self.poke_interval = poke_interval
        self.deadline_ms = deadline_ms
        self._every = Every(every, timezone)
        self._said: tuple[float, str] = (float("-inf"), "")
        self._spread = random.uniform(0.9, 1.1)  # so that many triggers do not poll in step

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments."""
        path = "airflow_provider_ckpt.triggers.checkpoint.CheckpointProgressTrigger"
        return path, {name: getattr(self, name) for name in signature(type(self)).parameters}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the condition is reached, the deadline has passed, or an error says that waiting is of no use."""
        if self._asks_file and (problem := await self._declared()) is not None:
            yield TriggerEvent({"status": "error", "retryable": problem.retryable, **problem.to_dict()})
            return
        async with poll_pool().of(self.checkpoint_conn_id, self.checkpoint, self.hook.storage_options) as poller:
            if self.condition is not None:
                yield TriggerEvent(await self._outcome(poller, self.condition))
                return
            async for event in self._watch(poller):
                yield event

    @property
    def _asks_file(self) -> bool:
        """True where no sensor has read the query file already; a watcher has none."""
        return self.is_declared or (self.condition is None and configured_file() is not None)

    async def _declared(self) -> CheckpointError | None:
        """Take what the query file declares; what is wrong with it ends a wait, and a watcher asks again."""
        with poll_pool().kept() as pool:
            while True:
                try:
                    return await pool.in_thread(self.declare)
                except CheckpointError as error:
                    if self.condition is not None:
                        return error
                    self.log.warning("The query file cannot be read as it is, and is read until it can: %s", error)
                await asyncio.sleep(self._spread * self.poke_interval)

    # --- a wait ------------------------------------------------------------------------------------------------

    async def _outcome(self, poller: SharedPoller, condition: dict[str, Any]) -> Mapping[str, Any]:
        """The one event: what has become of the wait, or why waiting is of no use."""
        from airflow_provider_ckpt.waiting import condition_from_dict

        try:
            return await self._wait(poller, condition_from_dict(condition))
        except CheckpointError as error:
            return {"status": "error", "retryable": error.retryable, **error.to_dict()}

    async def _wait(self, poller: SharedPoller, condition: Condition) -> Mapping[str, Any]:
        """Wait until the condition is reached, or the deadline has passed. Raises CheckpointError when it cannot be."""
        from airflow_provider_ckpt.waiting import start_from_dict
        from airflow_provider_ckpt.waiting.wait import Lost, Reached, TimedOut, Waiting, outcome

        waiting = Waiting(
            self.checkpoint,
            condition,
            start_from_dict(self.start) if self.start is not None else None,
            await poller.pool.ask_sources(self._ends) if condition.asks_ends and self.sources else None,
            interval_s=self.poke_interval,
            spread=self._spread,
            deadline_ms=self.deadline_ms,
            foresee=await poller.pool.ask_sources(self._foresight) if self.source_options or self.trigger else None,
        )
        pause_s = 0.0 if self.start is None else self._spread * self.poke_interval / 2
        while True:
            step = await self._step(waiting, poller, pause_s)
            if isinstance(step, Lost):
                raise step.error
            if isinstance(step, Reached):
                return {**outcome("reached", await poller.with_offsets(step.progress), step.condition)}
            if isinstance(step, TimedOut):
                progress = await poller.with_offsets(step.progress) if step.progress else None
                return {**outcome("timeout", progress), "text": step.text}
            self._say(step)
            pause_s = step.pause_s

    @staticmethod
    async def _step(waiting: Waiting, poller: SharedPoller, pause_s: float) -> Reached | Pending | Lost:
        try:
            progress = await poller.within(pause_s, waiting.needs)
        except StoreUnavailableError as error:
            return waiting.unanswered(error, now_ms())
        if not waiting.asks_sources:
            return waiting.step(progress, now_ms())
        return await poller.pool.ask_sources(waiting.step, progress, now_ms())

    def _ends(self) -> SourceEnds:
        """Where the sources end, for a condition that asks; opens the storage."""
        sources = self.sources or {}
        return self.hook.source_ends(self.checkpoint, sources, self.kafka_conn_id)

    def _foresight(self) -> WaitForesight | None:
        """Make the forecast for the wait; opens the storage."""
        said = (self.sources or {}, self.source_options, self.trigger, self.kafka_conn_id)
        return self.hook.foresight(self.checkpoint, *said)

    def _say(self, step: Pending) -> None:
        """A line in the log: for each poll without an answer, else when there is news and the last line is old."""
        if step.unanswered:
            self.log.warning("The checkpoint or a source cannot be read now; it is polled again: %s", step.text)
            return
        said_at, said = self._said
        if step.text != said and time.monotonic() - said_at >= LOG_S:
            self.log.info("%s: %s", visible(scrub(self.checkpoint)), step.text)
            self._said = (time.monotonic(), step.text)

    # --- a watcher ---------------------------------------------------------------------------------------------

    async def _watch(self, poller: SharedPoller) -> AsyncIterator[TriggerEvent]:
        """An event for each poll that shows news, for ever."""
        from airflow_provider_ckpt.waiting.wait import outcome

        memory = getattr(self, "asset_state_store", None)
        seen = Seen.from_dict(await memory.aget("seen", None)) if memory is not None else None
        pause = 0.0
        while True:
            try:
                progress = await poller.within(pause, self._every.needs)
                now = self._every.seen(progress)
            except StoreUnavailableError as error:
                self.log.warning("The checkpoint cannot be read now, and is polled again: %s", error)
                now = None
            except CheckpointError as error:
                self.log.warning("The checkpoint cannot be read as it is, and is polled until it can: %s", error)
                now = None
            if now is not None and self._every.is_news(seen, now):
                found = outcome("progress", progress)
                extra = asset_extra("New batches are committed of", poller.url, found)
                yield TriggerEvent({**found, "checkpoint": self.checkpoint, **extra})
                seen = now
                if memory is not None:
                    await asyncio.sleep(SETTLE_S)
                    await memory.aset("seen", seen.to_dict())
            pause = self._spread * self.poke_interval
