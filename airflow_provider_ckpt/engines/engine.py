"""What every engine can do. To stop a query is not among it: an engine alone stops inside a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from airflow_provider_ckpt.engines.run import Run, Seen


@dataclass(frozen=True, slots=True)
class Application:
    """What is started: as the query file declares it, with the content of the files that it names.

    Args:
        engine: Name of the engine.
        said: The keys of ``application``.
        files: Content of the files that its keys name, by key, such as ``manifest``.
    """

    engine: str
    said: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for the record of a start."""
        said = {key: list(value) if isinstance(value, tuple) else value for key, value in self.said.items()}
        return {"engine": self.engine, "said": said, "files": dict(self.files)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Application:
        """The application of a record."""
        said = {key: tuple(each) if isinstance(each, list) else each for key, each in value["said"].items()}
        return cls(str(value["engine"]), said, dict(value["files"]))


class Engine(Protocol):
    """Where an application runs, for one name: a query, or the queries of one application.

    Each method raises EngineUnknownError where there is no answer, and EngineError where the engine refuses, such as
    for wrong credentials: then nothing is known.
    """

    #: Seconds within which the engine starts a run again that has ended: all is over once two answers that are
    #: so far apart agree.
    settle_s: float
    #: Seconds after which a start that was interrupted is in the list of runs, if it began one; None where the list
    #: does not find runs by their token, so that nobody but a person knows.
    submit_s: float | None

    def look(self, known: Sequence[str]) -> Seen:
        """The runs of the name, and each run with one of these ids."""

    def disarm(self) -> bool:
        """Keep the engine from starting a run again. Idempotent. False where that cannot be without ending the run."""

    def arm(self) -> None:
        """Take that back, where a start does not do it. Idempotent."""

    def end(self, run: Run) -> None:
        """Ask for the end of a run. Idempotent; that it has ended is seen later."""

    def start(self, application: Application, token: str) -> Run:
        """Begin a run that is marked with a token; where the token has a run, that one."""
