"""The sensor that asks an engine whether a query runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.sensor import PokeReturnValue

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.sensors.base import CheckpointSensor
from airflow_provider_ckpt.triggers.runs import QueryRunTrigger

if TYPE_CHECKING:
    from airflow_provider_ckpt.running.find_status import Status

#: What can be waited for: nobody waits for what is not known.
STATES = ("live", "stopped", "ended")


class QueryStatusSensor(CheckpointSensor):
    """Waits until the engine of a query says that it is in a state, as ``ckpt status`` shows it.

    An engine that does not answer, or whose answer is unknown, is asked again: that is no state, and never a stop.

    :param query: A query of the query file, which declares its ``engine``.
    :param state: ``live``, ``stopped`` (with the receipt of a stop, of which nothing has changed since), ``ended`` (no
        run is there, and there is no receipt), or several of them.
    :param deferrable: Ask in the triggerer, which has to reach the engine.
    """

    does = "status"
    has_done = "The engine was asked for the runs of"
    template_fields: Sequence[str] = (*CheckpointSensor.template_fields, "state")

    def __init__(self, *, query: str | None = None, state: str | Sequence[str] = "live", **kwargs: Any) -> None:
        super().__init__(query=query, **kwargs)
        if self.start_from_trigger:
            raise ValueError("QueryStatusSensor begins in a worker, so start_from_trigger is not for it")
        self.state = state

    def poke(self, context: Any) -> Any:
        """Ask once."""
        found = self._ask()
        return PokeReturnValue(True, found) if found is not None else False

    def poll_before_deferring(self, context: Any) -> Any:
        """Ask once in the worker; returns the result if it is so already, else None."""
        return self._ask()

    def defer_wait(self) -> None:
        """Leave the wait to the triggerer."""
        self.defer(
            trigger=QueryRunTrigger(
                query=self.query_name,
                query_file=self.query_file,
                checkpoint_conn_id=self.checkpoint_conn_id,
                states=self._wanted(),
                poke_interval=self.poke_interval,
                deadline_ms=self.timeout_at_ms,
            ),
            method_name="execute_complete",
        )

    def result_of(self, event: dict[str, Any]) -> dict[str, Any]:
        """The value that the task returns."""
        return _result(event["found"])

    def _ask(self) -> dict[str, Any] | None:
        from airflow_provider_ckpt.hooks.engines import open_declared
        from airflow_provider_ckpt.running.find_status import find_status

        with airflow_errors():
            wanted = self._wanted()
            status: Status = find_status(*open_declared(self))
        self.say(status.unknown or f"{status.name} is {status.state}")
        return _result(status.to_dict()) if status.state in wanted else None

    def _wanted(self) -> tuple[str, ...]:
        """The states that are waited for. Raises CheckpointError for one that there is not."""
        wanted = (self.state,) if isinstance(self.state, str) else tuple(self.state)
        if not wanted or any(each not in STATES for each in wanted):
            raise CheckpointError(f"state must be of {', '.join(STATES)}, not {self.state!r:.60}")
        return wanted


def _result(status: Mapping[str, Any]) -> dict[str, Any]:
    return {"format_version": FORMAT_VERSION, "status": dict(status)}
