"""The trigger: waits in the triggerer for a target, or watches a stream for an asset."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.lifecycle import Wait, begin, outcome
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.triggers.polls import SharedLooks, polls
from airflow_provider_ckpt.triggers.watch import Every, Seen
from airflow_provider_ckpt.waiting import SourceEnds, Target, start_from_dict, target_from_dict
from airflow_provider_ckpt.waiting.pace import eta_text, pause_s

#: A log line at most so often, seconds: ten thousand waits share one process.
LOG_S = 60.0
#: What a watcher has seen is remembered so long after its event, seconds: by then the event is in the database.
SETTLE_S = 3.0


class CheckpointProgressTrigger(BaseEventTrigger):
    """Fires when the committed progress of a checkpoint has reached a target; without one, again and again.

    With a ``target`` it fires once and ends; that is what the sensor defers to. Without, it is for an ``AssetWatcher``
    and fires for each look that shows newly committed batches, or with ``every="PT1H"`` for each that shows the
    watermark past another full hour. It then remembers what it has seen in the asset's state store, so that what is
    committed while the triggerer is down is told of later; Airflow before 3.3 has no such store, and there each start
    begins with an event. An event is never lost; when the triggerer dies within seconds of one, it may come twice.

    All that wait on one checkpoint share their looks. A storage that does not answer is asked again. Any other error is
    an event for a wait, and for a watcher a line in the log of the triggerer. The pause follows the stream: a quarter
    of ``poke_interval`` near the target, four times it when the stream is slow.

    :param checkpoint: Location of the checkpoint.
    :param target: The target, as :meth:`~airflow_provider_ckpt.waiting.Target.to_dict` writes it.
    :param every: For a watcher: ``batch``, or the length of event-time windows as ISO 8601.
    :param timezone: For a watcher: the zone whose days, weeks and months the windows are.
    :param start: Where the query stood when the wait began; None to begin now.
    :param sources: Where each source reads from, by id, such as ``{"0": "kafka:host:9092"}``.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client.
    :param checkpoint_conn_id: Connection of type ``checkpoint``, or None.
    :param poke_interval: Seconds between two looks.
    :param deadline_ms: Wall-clock time to give up at, epoch milliseconds, or None.

    Raises CheckpointError for ``every`` that is no length of windows.
    """

    def __init__(
        self,
        *,
        checkpoint: str,
        target: dict[str, Any] | None = None,
        every: str = "batch",
        timezone: str = "UTC",
        start: dict[str, Any] | None = None,
        sources: dict[str, str] | None = None,
        kafka_conn_id: str | None = None,
        checkpoint_conn_id: str | None = None,
        poke_interval: float = 30.0,
        deadline_ms: int | None = None,
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self.target = target
        self.every = every
        self.timezone = timezone
        self.start = start
        self.sources = sources
        self.kafka_conn_id = kafka_conn_id
        self.checkpoint_conn_id = checkpoint_conn_id
        self.poke_interval = poke_interval
        self.deadline_ms = deadline_ms
        self._every = Every(every, timezone)
        self._said: tuple[float, str] = (float("-inf"), "")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments."""
        names = (
            "checkpoint",
            "target",
            "every",
            "timezone",
            "start",
            "sources",
            "kafka_conn_id",
            "checkpoint_conn_id",
            "poke_interval",
            "deadline_ms",
        )
        path = "airflow_provider_ckpt.triggers.checkpoint.CheckpointProgressTrigger"
        return path, {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until the target is reached, the deadline has passed, or an error says that waiting is of no use."""
        try:
            async with polls().of(self.checkpoint_conn_id, self.checkpoint) as looks:
                if self.target is not None:
                    yield TriggerEvent(await self._wait(looks, target_from_dict(self.target)))
                    return
                async for event in self._watch(looks):
                    yield event
        except CheckpointError as error:
            yield TriggerEvent({"status": "error", "retryable": error.retryable, **error.to_dict()})

    # --- a wait ------------------------------------------------------------------------------------------------

    async def _wait(self, looks: SharedLooks, target: Target) -> dict[str, Any]:
        """Wait for the one event: the target is reached, or the deadline has passed."""
        asks = target.asks_ends or target.asks_ends_again
        ends = await looks.polls.in_thread(self._ends) if asks and self.sources else None
        wait = Wait(self.checkpoint, target, start_from_dict(self.start), ends) if self.start is not None else None
        pause = 0.0 if wait is None else self._jitter(self.poke_interval / 2)
        progress: Progress | None = None
        while True:
            try:
                progress = await looks.within(pause, target.needs)
                if wait is None:
                    wait = await looks.polls.in_thread(self._begin, target, progress, ends)
                again = wait.target.asks_ends_again
                standing = await looks.polls.in_thread(wait.standing, progress) if again else wait.standing(progress)
                if standing.reached(progress):
                    return outcome("reached", progress, standing)
                self._say(standing, progress, looks.earlier)
                pause = pause_s(self.poke_interval, standing, progress, looks.earlier)
            except StoreUnavailableError as error:  # the storage, or a source that was asked for its end
                self.log.warning("asking again: %s", error)
                pause = self.poke_interval
            if self.deadline_ms is not None and time.time() * 1000 >= self.deadline_ms:
                return outcome("timeout", progress)
            pause = self._before_deadline(self._jitter(pause))

    def _begin(self, target: Target, progress: Progress, ends: SourceEnds | None) -> Wait:
        return begin(self.checkpoint, target, progress, at_ms=progress.looked_at_ms, ends=ends)

    def _ends(self) -> SourceEnds:
        """Where the sources end, for a target that asks; opens the storage."""
        sources = self.sources or {}
        return CheckpointHook(self.checkpoint_conn_id).source_ends(self.checkpoint, sources, self.kafka_conn_id)

    def _say(self, target: Target, progress: Progress, earlier: Progress | None) -> None:
        """A line in the log, when there is something new to say and the last one is a while ago."""
        said_at, said = self._said
        if time.monotonic() - said_at < LOG_S:
            return
        text = f"{target.explain(progress)}{eta_text(target, progress, earlier)}"
        if text != said:
            self.log.info("%s: %s", self.checkpoint, text)
            self._said = (time.monotonic(), text)

    @staticmethod
    def _jitter(pause: float) -> float:
        """A little varied, so that many triggers do not look in step."""
        return pause * random.uniform(0.9, 1.1)

    def _before_deadline(self, pause: float) -> float:
        return pause if self.deadline_ms is None else max(0.0, min(pause, self.deadline_ms / 1000 - time.time()))

    # --- a watcher ---------------------------------------------------------------------------------------------

    async def _watch(self, looks: SharedLooks) -> AsyncIterator[TriggerEvent]:
        """An event for each look that shows news, for ever."""
        memory = getattr(self, "asset_state_store", None)
        seen = Seen.from_dict(await memory.aget("seen", None)) if memory is not None else None
        pause = 0.0
        while True:
            try:
                progress = await looks.within(pause, self._every.needs)
                now = self._every.seen(progress)
            except CheckpointError as error:  # an event would start DAGs: a watcher tells of progress alone
                self.log.warning("looking again: %s", error)
                now = None
            if now is not None and self._every.is_news(seen, now):
                yield TriggerEvent({**outcome("progress", progress), "checkpoint": self.checkpoint})
                seen = now
                if memory is not None:
                    await asyncio.sleep(SETTLE_S)
                    await memory.aset("seen", seen.to_dict())
            pause = self._jitter(self.poke_interval)
