"""What an engine says of the runs of an application."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from airflow_provider_ckpt.documents.as_document import Documented


class Presence(StrEnum):
    """Whether a run is there.

    LIVE is whatever may still write or may come back by itself: starting, queued, stopping, waiting for a retry.
    ENDED is said by the engine itself of a run that it knows. ABSENT is a run that the engine does not have, and
    UNKNOWN is everything else: neither is ever taken for stopped.
    """

    LIVE = "live"
    ENDED = "ended"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Restarts(StrEnum):
    """Whether the engine starts a run again by itself, once it has ended."""

    NONE = "none"
    ARMED = "armed"
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"


#: Where a run may come back by itself.
MAY_RESTART = (Restarts.ARMED, Restarts.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Run(Documented):
    """One life of an application."""

    id: Annotated[str, "how the engine names it"]
    presence: Annotated[Presence, "`live`, `ended`, `absent` or `unknown`"]
    native: Annotated[str, "the engine's own word for its state"] = ""
    generation: Annotated[int | None, "number of the start that began it, or null"] = None
    ui: Annotated[str | None, "address at which people see it, or null"] = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What an engine said at one moment.

    Args:
        runs: The runs of the name, and each run that was asked for by its id.
        restarts: Whether they come back by themselves.
        complete: True if no other run of the name can be: the list covers all of them.
    """

    runs: tuple[Run, ...] = ()
    restarts: Restarts = Restarts.UNKNOWN
    complete: bool = False

    def of(self, presence: Presence) -> tuple[Run, ...]:
        """The runs with this presence."""
        return tuple(run for run in self.runs if run.presence is presence)

    def unknown(self, known: tuple[str, ...] = ()) -> str | None:
        """Why it is not known which runs are there, in words; None when it is known.

        Args:
            known: Ids of the runs that have to be accounted for.
        """
        if runs := self.of(Presence.UNKNOWN):
            return f"the run {runs[0].id} is in the state {runs[0].native or 'unknown'}"
        if missing := [each for each in known if each not in {run.id for run in self.runs}]:
            return f"nothing was said of the run {missing[0]}"
        if not self.complete and (gone := self.of(Presence.ABSENT)):
            return f"the run {gone[0].id} was not found, and the list may lack runs"
        return None

    @property
    def is_quiet(self) -> bool:
        """True if no run is there: each has ended, or is absent from a list that has all."""
        return self.unknown() is None and not self.of(Presence.LIVE)


def token_of(name: str, generation: int) -> str:
    """What marks the run of one start, such as ``orders-7``.

    Args:
        name: The query, or the group of queries of one application.
        generation: The number of the start.
    """
    return f"{name}-{generation}"


def generation_of(name: str, token: str) -> int | None:
    """The number of the start that a mark is of; None for what is no mark of this name."""
    head, dash, number = token.rpartition("-")
    is_own = dash and head == name and number.isdecimal() and number.isascii() and len(number) <= 18
    return int(number) if is_own and str(int(number)) == number else None
