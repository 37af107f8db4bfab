"""What is stopped and started at once: a query, or all queries of one application."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Member:
    """A query of an application.

    Args:
        query: The query.
        stores: Its checkpoint, and the other places of a change of it.
    """

    query: Query
    stores: Stores

    @property
    def checkpoint(self) -> Store:
        """Its checkpoint."""
        return self.stores.checkpoint


@dataclass(frozen=True, slots=True)
class Unit:
    """An application.

    Args:
        name: The query, or the group of its queries.
        declared: Where it runs.
        members: Its queries, by name in order.
        opener: Opens further locations.
    """

    name: str
    declared: DeclaredEngine
    members: tuple[Member, ...]
    opener: Callable[[str], Store] = Store.open

    @property
    def location(self) -> str:
        """The checkpoint of its first query, for messages."""
        return self.members[0].checkpoint.location


def as_declared(query: Query) -> DeploySpec:
    """What the entry of a query itself declares."""
    return query.deploy


def find_unit(
    file: QueryFile,
    name: str,
    opener: Callable[[str], Store],
    deploy_of: Callable[[Query], DeploySpec] = as_declared,
) -> Unit:
    """The application of a query.

    Args:
        file: The query file.
        name: The query, or a group of queries.
        opener: Opens locations.
        deploy_of: What is declared of a query, with its file of confs.

    Raises:
        EngineError: It declares no engine, or the queries of the group do not declare the same.
        CheckpointError: There is no such query.
    """
    groups = {query.engine.group for query in file.queries.values() if query.engine is not None}
    if name in groups and name not in file.queries:
        group: str | None = name
    else:
        declared = file.named(name).engine
        if declared is None:
            raise EngineError(
                f"{name} declares no engine in {file.place}, so nobody can be asked where it runs.",
                location=file.named(name).checkpoint,
                hint="Nothing was done. Say it in the query file: engine, and application.",
            )
        group = declared.group
        if group is None and name in groups:
            raise EngineError(
                f"{name} is a query and the application group of others in {file.place}.",
                hint="Nothing was done. Give the group a name of its own.",
            )
    queries = [file.named(name)] if group is None else _of_group(file, group)
    first = queries[0].engine
    assert first is not None
    members = tuple(_member(replace(query, deploy=deploy_of(query)), opener) for query in queries)
    place = hashlib.sha256(members[0].checkpoint.location.encode()).hexdigest()[:12]
    return Unit(group or queries[0].name, replace(first, place=place), members, opener)


def _of_group(file: QueryFile, group: str) -> list[Query]:
    found = [query for query in file.queries.values() if query.engine is not None and query.engine.group == group]
    for query in found[1:]:
        if query.engine != found[0].engine:
            raise EngineError(
                f"{query.name} and {found[0].name} are of the application group {group} in {file.place}, and do not "
                "declare the same engine, application, stop and start.",
                hint="Nothing was done. Say the same of all queries of the group.",
            )
    return sorted(found, key=lambda query: query.name)


def _member(query: Query, opener: Callable[[str], Store]) -> Member:
    stores = Stores.of(query.checkpoint, opener, sink=query.deploy.sink, undo=query.undo)
    return Member(query, stores)
