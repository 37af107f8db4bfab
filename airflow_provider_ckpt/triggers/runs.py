"""The trigger that asks an engine for the runs of a query."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.declared_task import DeclaredTask

if TYPE_CHECKING:
    from airflow_provider_ckpt.running.find_status import Status


class QueryRunTrigger(DeclaredTask, BaseTrigger):
    """Fires once: when a query is in one of some states, or has committed; or when waiting is of no use.

    An engine that does not answer, and one whose answer is unknown, is asked again: silence is no state.

    :param query: A query of the query file.
    :param query_file: The query file, as an operator takes it.
    :param checkpoint: Its checkpoint, in place of ``query``.
    :param checkpoint_conn_id: Connection of type ``checkpoint``, or None.
    :param states: States that are waited for, such as ``live``; or None.
    :param from_batches: In place of it: newest committed batches before a start, by query. It fires when each query has
        committed a later one and a run is there, and when none is there any more.
    :param poke_interval: Seconds between two questions.
    :param deadline_ms: Wall-clock time at which the wait ends, epoch milliseconds.
    """

    def __init__(
        self,
        *,
        query: str | None = None,
        query_file: str | None = None,
        checkpoint: str | None = None,
        checkpoint_conn_id: str | None = None,
        states: Sequence[str] | None = None,
        from_batches: Mapping[str, int | None] | None = None,
        poke_interval: float = 15.0,
        deadline_ms: int,
    ) -> None:
        super().__init__()
        self.query = query
        self.query_file = query_file
        self.checkpoint = checkpoint
        self.checkpoint_conn_id = checkpoint_conn_id
        self.states = states
        self.from_batches = from_batches
        self.poke_interval = poke_interval
        self.deadline_ms = deadline_ms

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments."""
        path = "airflow_provider_ckpt.triggers.runs.QueryRunTrigger"
        arguments = {name: getattr(self, name) for name in signature(type(self)).parameters}
        return path, {**arguments, "checkpoint": self._before.get("checkpoint", self.checkpoint)}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until it is so, until the deadline, or until an error says that waiting is of no use."""
        while True:
            text = ""
            try:
                status = await asyncio.to_thread(self._ask)
                text = status.unknown or f"{status.name} is {status.state}"
                if self._is_over(status):
                    yield TriggerEvent({"status": "reached", "found": status.to_dict()})
                    return
            except CheckpointError as error:
                if not error.retryable:
                    yield TriggerEvent({"status": "error", "retryable": False, **error.to_dict()})
                    return
                text = str(error)
            self.log.info("%s", text)
            left_s = (self.deadline_ms - now_ms()) / 1000
            if left_s <= 0:
                yield TriggerEvent({"status": "timeout", "text": text})
                return
            await asyncio.sleep(min(self.poke_interval, left_s))

    def _ask(self) -> Status:
        from airflow_provider_ckpt.hooks.engines import open_declared
        from airflow_provider_ckpt.running.find_status import find_status

        self.declare()
        return find_status(*open_declared(self))

    def _is_over(self, status: Status) -> bool:
        if self.from_batches is None:
            return status.state in (self.states or ())
        if status.state in ("ended", "stopped"):
            return True
        return status.state == "live" and all(
            each.batch_id is not None and _is_later(each.batch_id, self.from_batches.get(each.query))
            for each in status.queries
        )


def _is_later(batch_id: int, before: int | None) -> bool:
    return before is None or batch_id > before
