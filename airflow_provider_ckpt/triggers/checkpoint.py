"""The trigger: polls a checkpoint in the triggerer until a target is reached."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.lifecycle import read_progress
from airflow_provider_ckpt.progress import Progress, target_from_dict
from airflow_provider_ckpt.store import Store


class CheckpointProgressTrigger(BaseEventTrigger):
    """Fires once when the committed progress of a checkpoint has reached a target.

    It keeps nothing but its arguments, so a restarted triggerer goes on where it was. Every look at the storage runs on
    a thread. A storage that does not answer is asked again; any other error is an event.

    :param checkpoint: Location of the checkpoint.
    :param target: The target, as :meth:`~airflow_provider_ckpt.progress.Target.to_dict` writes it.
    :param checkpoint_conn_id: Connection of type ``checkpoint``, or None.
    :param poke_interval: Seconds between two looks.
    :param deadline_ms: Wall-clock time to give up at, epoch milliseconds, or None.
    """

    def __init__(
        self,
        *,
        checkpoint: str,
        target: dict[str, Any],
        checkpoint_conn_id: str | None = None,
        poke_interval: float = 30.0,
        deadline_ms: int | None = None,
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self.target = target
        self.checkpoint_conn_id = checkpoint_conn_id
        self.poke_interval = poke_interval
        self.deadline_ms = deadline_ms
        self._store: Store | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments."""
        return (
            "airflow_provider_ckpt.triggers.checkpoint.CheckpointProgressTrigger",
            {
                "checkpoint": self.checkpoint,
                "target": self.target,
                "checkpoint_conn_id": self.checkpoint_conn_id,
                "poke_interval": self.poke_interval,
                "deadline_ms": self.deadline_ms,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the target is reached, the deadline has passed, or an error says that waiting is of no use."""
        try:
            target = target_from_dict(self.target)
            while True:
                progress = await asyncio.to_thread(self._look, target.needs_offsets)
                if progress is not None and target.reached(progress):
                    yield TriggerEvent(event_of(progress))
                    return
                if self.deadline_ms is not None and time.time() * 1000 >= self.deadline_ms:
                    yield TriggerEvent(event_of(progress, "timeout"))
                    return
                if progress is not None:
                    self.log.info("%s: %s", self.checkpoint, target.explain(progress))
                await asyncio.sleep(self._pause_s())
        except CheckpointError as error:
            yield TriggerEvent({"status": "error", "retryable": error.retryable, **error.to_dict()})

    def _look(self, with_offsets: bool) -> Progress | None:
        """One blocking look; None when the storage does not answer."""
        if self._store is None:
            self._store = CheckpointHook(self.checkpoint_conn_id).store(self.checkpoint)
        try:
            return read_progress(self._store, with_offsets=with_offsets)
        except StoreUnavailableError as error:
            self.log.warning("asking again in %.0f s: %s", self.poke_interval, error)
            return None

    def _pause_s(self) -> float:
        """The interval, a little varied so that many triggers do not poll in step, and never past the deadline."""
        pause = self.poke_interval * random.uniform(0.9, 1.1)
        if self.deadline_ms is None:
            return pause
        return max(0.0, min(pause, self.deadline_ms / 1000 - time.time()))


def event_of(progress: Progress | None, status: str = "reached") -> dict[str, Any]:
    """What an event says: how the wait ended, and where the query stood."""
    return {
        "status": status,
        "batch_id": progress.batch_id if progress else None,
        "watermark_ms": progress.watermark_ms if progress else None,
    }
