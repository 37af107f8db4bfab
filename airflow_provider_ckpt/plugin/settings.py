"""Settings of the pages: the section ``[ckpt]`` of Airflow's configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow.providers.common.compat.sdk import conf

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.query_file import SECTION, configured_file, read_file, with_connection
from airflow_provider_ckpt.plugin.stores import connected, open_connected
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.query.typed_commands import Typed
from airflow_provider_ckpt.storage.roots import NO_ROOTS, OutsideRootsError, Root, Roots, parse_roots


@dataclass(frozen=True, slots=True)
class Settings:
    """Content that the pages may show, and DAGs that they start.

    Args:
        roots: Locations below which checkpoints are shown, those of the query file as well; nothing else is.
        index: URL of the index of the fleet; None when there is none.
        index_conn_id: Connection that opens the index; None for none.
        backup_roots: Roots of backups, as URLs.
        rollback_dag: The DAG that starts a rollback; None when there is none.
        reset_dag: The DAG that starts a reset of offsets; None when there is none.
        data_roots: Locations below which previews may read sinks and tables, besides the other roots.
        queries: The query file; None when there is none, or when it cannot be read.
        queries_problem: Why it cannot be read.
        brokers: Brokers that previews may ask: bootstrap servers as ``host:port``, connections as ``conn=ID``.
    """

    roots: Roots = NO_ROOTS
    index: str | None = None
    index_conn_id: str | None = None
    backup_roots: Roots = NO_ROOTS
    rollback_dag: str | None = None
    reset_dag: str | None = None
    data_roots: Roots = NO_ROOTS
    queries: QueryFile | None = None
    queries_problem: str = ""
    brokers: frozenset[str] = frozenset()

    def opened(self, value: Any) -> Any:
        """A location, or a field with some, as ckpt opens it where the file says that the cluster spells it so."""
        return value if self.queries is None else self.queries.paths.opened_all(value)

    def query_at(self, location: str) -> Query | None:
        """The query of the file with this checkpoint; None when there is none."""
        return None if self.queries is None else self.queries.find(location)

    def typed(self, about: Query | None) -> Typed | None:
        """How the commands of a page about a query are typed; None where there is no file."""
        return None if self.queries is None else Typed(self.queries, about, self.queries.place)

    def location_of(self, name: str) -> str:
        """The checkpoint of a query of the file.

        Raises:
            OutsideRootsError: There is no such query.
            CheckpointError: The file cannot be read.
        """
        if self.queries_problem:
            raise CheckpointError(self.queries_problem)
        if self.queries is None or name not in self.queries.queries:
            raise OutsideRootsError
        return self.queries.queries[name].checkpoint


def read_settings() -> Settings:
    """The section as it is now. Raises CheckpointError for roots that make no sense, naming the option."""
    index, index_conn_id = with_connection(_said("index") or "")
    queries, problem = _queries()
    return Settings(
        roots=_roots("roots").with_more(_roots_of(queries)),
        index=index or None,
        index_conn_id=index_conn_id,
        backup_roots=_roots("backup_roots"),
        rollback_dag=_said("rollback_dag"),
        reset_dag=_said("reset_dag"),
        data_roots=_roots("data_roots"),
        queries=queries,
        queries_problem=problem,
        brokers=frozenset(re.split(r"[,\s]+", _said("brokers") or "")) - {""},
    )


def _queries() -> tuple[QueryFile | None, str]:
    """The query file, or why it cannot be read: the pages of what the other options name are there all the same."""
    place = configured_file()
    if place is None:
        return None, ""
    try:
        with connected(with_connection(place)[1], place):
            return read_file(place, open_connected), ""
    except CheckpointError as error:
        return None, str(error)


def _roots_of(file: QueryFile | None) -> Iterator[Root]:
    if file is not None:
        for query in file.queries.values():
            yield Root(query.checkpoint, file.storage.conn_id, file.storage.options)


def _roots(option: str) -> Roots:
    try:
        return parse_roots(_said(option) or "")
    except ValueError as error:
        raise CheckpointError(
            f"the option {option} of the section [{SECTION}] of Airflow's configuration: {error}"
        ) from None


def _said(option: str) -> str | None:
    return (conf.get(SECTION, option, fallback="") or "").strip() or None
