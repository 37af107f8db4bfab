"""A task on several queries at once: a list of names, or a Spark Declarative Pipeline, whose flows are its queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.declared_task import CHECKPOINT, CONNECTION, DeclaredTask
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.hooks.query_file import read_file

if TYPE_CHECKING:
    from airflow_provider_ckpt.fleet.pipeline import SeenPipeline
    from airflow_provider_ckpt.query.query_file import Query, QueryFile


class PipelineTask(DeclaredTask):
    """A task that takes the name of a pipeline, or a list of names, as its ``query``."""

    #: The pipeline, once the task runs; None when no pipeline is named.
    seen: SeenPipeline | None = None
    #: The queries of a list, by name, once the task runs; None when no list is given.
    listed: Mapping[str, Query] | None = None

    @property
    def is_several(self) -> bool:
        """True if the task is about a pipeline or a list of queries; known once it runs."""
        return self.seen is not None or self.listed is not None

    def declare_query(self) -> None:
        """Find the pipeline, the queries of the list, or the query. Raises as :meth:`declare`."""
        self.seen = self.listed = None
        if isinstance(self.query, list | tuple):
            names = [str(name) for name in self.query]
            file = self.declared_file = self.with_flows(read_file(self.query_file), names)
            self.listed = {name: file.named(name) for name in names}
            self.declared_queries = [*self.listed.values()]
            self._fill_place(file, [query.checkpoint for query in self.declared_queries])
        elif (
            isinstance(self.query, str) and self.query and self.query in (file := read_file(self.query_file)).pipelines
        ):
            from airflow_provider_ckpt.fleet.pipeline import with_flows  # what no single query needs
            from airflow_provider_ckpt.fleet.read_pipeline import read_pipeline

            try:
                self.seen = read_pipeline(file, self.query, self.opened(file))
            except ValueError as error:
                raise CheckpointError(str(error)) from None
            self.declared_file = with_flows(file, self.seen)
            self.declared_queries = [self.declared_file.queries[name] for name in self.seen.names]
            self._fill_place(file, self.seen.storage)
        else:
            super().declare_query()

    def _fill_place(self, file: QueryFile, checkpoint: str | list[str]) -> None:
        """Set where the task is, and what opens it: all else is of each query."""
        self._set(CHECKPOINT, checkpoint, file.place)
        self._set(CONNECTION, file.storage.conn_id, file.place)
        self.__dict__.pop("hook", None)

    def require_shared(self, given: Mapping[str, Any]) -> None:
        """Raise CheckpointError for an argument that is of one query.

        :param given: Arguments that are, by name.
        """
        wrong = [name for name, value in given.items() if not is_nothing(value)]
        if wrong:
            raise CheckpointError(f"{wrong[0]} is of one query; give it in the query file, or in a task of its own")
