"""Where the data of a query's sources ends: asked of the broker, the table, the directory, and never of Spark.

* An end is a condition: all that had been written to a source at a time is in a committed batch.
* It never holds too early. Where it can hold late, or never, the module of the kind says why.
* Nothing is written, no consumer group is joined, no topic is created.

One module a kind, loaded when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.source_kind import Question
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, StoreError, located
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.offer import hint_of
from airflow_provider_ckpt.sources.table_loss import Unread
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.waiting import Condition, OffsetsReached, all_of


class SourceEnd(Protocol):
    """The end of one source. An object may remember what it has read, and is asked again at each poll."""

    def end_at(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> Condition:
        """All that had been written at a time (epoch milliseconds), or up to now (None), is in a committed batch.

        Args:
            at_ms: The time; not one that is still to come.
            committed: The offset of the newest committed batch; None before the first.
            slack: Number of units of the source that may be missing.

        Raises:
            StoreUnavailableError: It does not answer; another try can help.
            StoreError: It cannot be read, or it is not what the query reads from.
        """


class TableEnd(SourceEnd, Protocol):
    """The end of a table or a directory, of which can be counted what is left to be read."""

    def unread_now(self, committed: SourceOffset | None) -> Unread:
        """Data that no committed batch has read yet. Args and errors as :meth:`SourceEnd.end_at`."""


@dataclass(frozen=True, slots=True)
class Access:
    """How sources are come by.

    Args:
        open_store: Opens the directory of a table or of files.
        checkpoint: The checkpoint of the query: a file source keeps a log there.
        kafka_config: Options of librdkafka, or as Spark takes them, with ``kafka.`` before each key.
        option: Option of a declaration, for hints: ``--source `` on the command line.
        kafka_configs: Options for some servers, by these; ``kafka_config`` wins over them.
    """

    open_store: Callable[[str], Store]
    checkpoint: Store | None = None
    kafka_config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    option: str = ""
    kafka_configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    def kafka_config_of(self, servers: str) -> dict[str, Any]:
        """Options of the client that asks some servers."""
        return {**self.kafka_configs.get(servers, {}), **self.kafka_config}


def module_of(source_type: str | None, question: Question) -> Any:
    """The module that answers a question about sources of a type: one of its folder, or the only one of the type."""
    module = import_module(f"{__package__}.{source_type}")
    return import_module(f"{module.__name__}.{question}") if hasattr(module, "__path__") else module


def open_table_end(declared: Source, source_id: str, access: Access) -> TableEnd:
    """The end of a table or a directory: of any kind but Kafka. Raises as :func:`open_end`."""
    end: TableEnd = module_of(declared.type, "end").End(declared, source_id, access)
    return end


def open_end(declared: Source, source_id: str, access: Access) -> SourceEnd:
    """The end of one source, which the offset log calls ``source_id`` (``"0"``, or its name).

    Raises StoreError: the library for it is missing, or it cannot be opened.
    """
    end: SourceEnd = module_of(declared.type, "end").End(declared, source_id, access)
    return end


class DeclaredEnds:
    """The ends of all sources that a user declares of a query (:class:`~airflow_provider_ckpt.waiting.SourceEnds`).

    Args:
        sources: The sources by id, those of a type without an end included, such as ``rate``. A source that is not
            named at all is an error as soon as an end is asked for: forgetting one would make a wait end too early.
        access: The means to open them.

    Raises:
        StoreError: A source has no place, or a library for it is missing.
    """

    def __init__(self, sources: Mapping[str, Source], access: Access) -> None:
        self._endless = {source_id for source_id, source in sources.items() if source.is_endless}
        asked = sorted(sources.keys() - self._endless)
        for source_id in asked:
            if not sources[source_id].is_asked:
                raise _no_end(source_id, sources[source_id], access)
        self._ends = {source_id: open_end(sources[source_id], source_id, access) for source_id in asked}
        self._access = access
        if not self._ends:
            raise CheckpointError(
                "the condition needs the latest offsets of the sources, but no source was declared",
                location=access.checkpoint.location if access.checkpoint is not None else None,
                hint=hint_of(access.checkpoint, option=access.option),
            )

    def end_at(self, at_ms: int | None, progress: Progress, *, slack: int = 0) -> Condition:
        """All that was written to the sources at a time; None is now. May be short of it by ``slack`` units in all.

        Raises CheckpointError for a time that is still to come, or a source that the query does not have, and as
        :meth:`SourceEnd.end_at`.
        """
        with self._located():
            return self._end_at(at_ms, progress, slack)

    def _end_at(self, at_ms: int | None, progress: Progress, slack: int) -> Condition:
        if at_ms is not None and progress.polled_at_ms and at_ms > progress.polled_at_ms:
            raise CheckpointError(
                f"{time_text(at_ms)} is in the future, so the end of the data at that time is not known yet",
                hint="Start the wait after that time.",
            )
        self._require_all(progress)
        conditions = [
            end.end_at(at_ms, self._position(source_id, progress), slack) for source_id, end in self._ends.items()
        ]
        counted = [condition for condition in conditions if isinstance(condition, OffsetsReached)]
        others = [condition for condition in conditions if not isinstance(condition, OffsetsReached)]
        return all_of(*_as_one(counted, slack), *others)

    def files_at(self, source_id: str, at_ms: int, progress: Progress) -> Condition:
        """All files of one directory that were there at a time. Raises as :meth:`end_at`."""
        with self._located():
            unread = getattr(self._ends.get(source_id), "unread", None)
            if unread is None:
                raise CheckpointError(f"source {source_id} is not declared as a file source")
            found: Condition = unread(at_ms, self._position(source_id, progress))
            return found

    def _located(self) -> AbstractContextManager[None]:
        return located(None if self._access.checkpoint is None else self._access.checkpoint.location)

    def _require_all(self, progress: Progress) -> None:
        ids = [source_id for source_id, _ in progress.offsets.offsets] if progress.offsets else []
        missing = [source_id for source_id in ids if source_id not in self._endless and source_id not in self._ends]
        if missing:
            offered = hint_of(self._access.checkpoint, missing, option=self._access.option).rstrip(".")
            raise CheckpointError(
                f"source {missing[0]} was not declared, so its latest offsets are not known",
                hint=f"{offered}. Or declare only its type, such as {missing[0]}=rate, if the wait should not include "
                "it.",
            )

    def _position(self, source_id: str, progress: Progress) -> SourceOffset | None:
        if progress.offsets is None:
            return None
        ids = [known for known, _ in progress.offsets.offsets]
        if source_id not in ids:
            raise CheckpointError(f"the query has no source {source_id!r}; its sources are {', '.join(ids)}")
        return progress.offsets.offset(source_id)


def _no_end(source_id: str, source: Source, access: Access) -> CheckpointError:
    """The error of a source of which it is not declared where it ends."""
    at = access.checkpoint.location if access.checkpoint is not None else None
    said = f"declared as {source.type} without its place" if source.type else "not declared"
    return StoreError(
        f"source {source_id} is {said}, so its latest offsets are not known",
        location=at,
        hint=hint_of(access.checkpoint, [source_id], option=access.option),
    )


def _as_one(conditions: list[OffsetsReached], slack: int) -> list[Condition]:
    """One condition for several sources, so that the slack is for all of them together."""
    offsets = {source_id: text for condition in conditions for source_id, text in condition.offsets.items()}
    source_types = {source_id: kind for condition in conditions for source_id, kind in condition.source_types.items()}
    return [OffsetsReached(offsets, source_types, slack)] if conditions else []
