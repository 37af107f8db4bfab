"""The triggers of positions: they wait for a lag, or for a loss that is near, in the triggerer."""

from __future__ import annotations

import asyncio
import random
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.hooks.declared_task import DeclaredTask
from airflow_provider_ckpt.triggers.position_polls import LagPoll, LossPoll, Polled, PositionPoll, Queries
from airflow_provider_ckpt.triggers.shared_polls import PollPool, poll_pool
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

#: A line in the log of the triggerer at most so often, seconds: many waits share one process.
LOG_S = 60.0


class CheckpointPositionTrigger(DeclaredTask, BaseTrigger):
    """Polls the positions of a query until they are as its sensor waits for.

    A storage or a source that does not answer is asked again until the deadline; any other CheckpointError is the one
    event, with the status ``error``. The polls block, so they run in threads, a bounded number at once.

    :param checkpoint: Location of the checkpoint.
    :param sources: Where each source reads from, by id, such as ``{"0": "kafka:host:9092"}``.
    :param source_options: Options of the query's sources, such as ``{"0.maxOffsetsPerTrigger": 1000}``.
    :param trigger: The trigger of the query, such as ``availableNow``.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param checkpoint_conn_id: Connection of type ``checkpoint``, or None.
    :param query: Name of the query in the query file, in place of ``checkpoint`` and of all else that the file declares
        of it; the triggerer reads the file when it begins.
    :param query_file: The query file, as an operator takes it.
    :param storage_options: Options of the fsspec driver, or None.
    :param kafka_options: Settings of Kafka's client, or None.
    :param kafka_clusters: What the query file says of several Kafka clusters, by their servers, or None.
    :param poke_interval: Seconds between two polls.
    :param deadline_ms: Wall-clock time at which the wait fails, epoch milliseconds, or None.
    """

    needs = ("checkpoint", "sources")
    declared_as: ClassVar = {"sources": "asked_sources"}
    takes_several = True
    #: The arguments, by which another triggerer makes the trigger again.
    arguments: tuple[str, ...] = (
        *("checkpoint", "sources", "source_options", "trigger", "kafka_conn_id", "checkpoint_conn_id"),
        *("storage_options", "kafka_options", "kafka_clusters", "query", "query_file", "poke_interval", "deadline_ms"),
    )

    def __init__(
        self,
        *,
        checkpoint: str | Sequence[str] | None = None,
        sources: Mapping[str, Any] | None = None,
        source_options: Mapping[str, Any] | None = None,
        trigger: str | None = None,
        kafka_conn_id: str | None = None,
        checkpoint_conn_id: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        kafka_options: Mapping[str, str] | None = None,
        kafka_clusters: Mapping[str, Mapping[str, Any]] | None = None,
        query: str | None = None,
        query_file: str | None = None,
        poke_interval: float = 60.0,
        deadline_ms: int | None = None,
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self.sources: Any = sources
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
        self._said: tuple[float, str] = (float("-inf"), "")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {name: getattr(self, name) for name in self.arguments}

    @abstractmethod
    def poll_of(self, queries: Queries) -> PositionPoll:
        """The poll that is made each time."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until it is done, the deadline has passed, or an error says that waiting is of no use."""
        with poll_pool().kept() as pool:
            try:
                yield TriggerEvent(await self._outcome(pool))
            except CheckpointError as error:
                yield TriggerEvent({"status": "error", "retryable": error.retryable, **error.to_dict()})

    async def _outcome(self, pool: PollPool) -> dict[str, Any]:
        if self.is_declared:
            await pool.in_thread(self.declare)
        queries = Queries(self.checkpoint, self.sources, self.kafka_conn_id, self.hook)
        poll, spread = self.poll_of(queries), random.uniform(0.9, 1.1)  # so that many triggers do not poll in step
        while True:
            text = await self._poll(pool, poll)
            if isinstance(text, Polled):
                return {"status": "reached", "result": text.result}
            left_s = float("inf") if self.deadline_ms is None else (self.deadline_ms - now_ms()) / 1000
            if left_s <= 0:
                return {"status": "timeout", "text": text}
            self._say(text)
            await asyncio.sleep(min(spread * self.poke_interval, left_s))

    @staticmethod
    async def _poll(pool: PollPool, poll: PositionPoll) -> Polled | str:
        """Result of a poll that ends the wait; otherwise the result in words, for people."""
        try:
            polled = await pool.ask_sources(poll.poll)
        except StoreUnavailableError as error:
            return f"the checkpoint or a source cannot be read now; it is polled again: {error}"
        return polled if polled.is_done else polled.text

    def _say(self, text: str) -> None:
        said_at, said = self._said
        if text != said and time.monotonic() - said_at >= LOG_S:
            self.log.info("%s: %s", visible(scrub(str(self.checkpoint))), text)
            self._said = (time.monotonic(), text)


class CheckpointLagTrigger(CheckpointPositionTrigger):
    """Fires when a query is behind its sources by no more than it may be.

    :param most: Amount of each source that may be unread, in its unit.
    :param max_age: The oldest unread data may be as old as this, such as ``PT5M``, or seconds.

    The other parameters are those of :class:`CheckpointPositionTrigger`.
    """

    arguments = (*CheckpointPositionTrigger.arguments, "most", "max_age")

    def __init__(
        self,
        *,
        most: int | str | None = None,
        max_age: float | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.most = most
        self.max_age = max_age

    def poll_of(self, queries: Queries) -> LagPoll:
        """The poll for the lag of the queries."""
        return LagPoll(queries, self.most, self.max_age, self.source_options, self.trigger)


class CheckpointDataLossTrigger(CheckpointPositionTrigger):
    """Fires when a query has lost what it has not read, stops at it, or may lose some soon.

    :param will_lose_data_within: So long before the first unread record may be deleted, such as ``PT6H``, or seconds.

    The other parameters are those of :class:`CheckpointPositionTrigger`.
    """

    arguments = (*CheckpointPositionTrigger.arguments, "will_lose_data_within")

    def __init__(
        self,
        *,
        will_lose_data_within: float | str,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.will_lose_data_within = will_lose_data_within

    def poll_of(self, queries: Queries) -> LossPoll:
        """The poll for lost data of the queries."""
        return LossPoll(queries, self.will_lose_data_within, self.source_options, self.trigger)
