"""The flows of declarative pipelines among the queries of a file; a pipeline that cannot be read is a row itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.pipeline import pipeline_of
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.fleet.read_pipeline import with_pipelines
from airflow_provider_ckpt.query.query_file import QueryFile
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class WantedQueries:
    """Queries that are to be read.

    Args:
        file: The query file, with the flows of the pipelines.
        names: Names of the queries, in the order of the file.
        failures: A row for each pipeline that cannot be read.
        unknown: Names that are none.
    """

    file: QueryFile
    names: tuple[str, ...]
    failures: tuple[QueryRow, ...] = ()
    unknown: tuple[str, ...] = ()


def read_flows(file: QueryFile, names: Sequence[str], opener: Callable[[str], Store]) -> WantedQueries:
    """The queries with some names, of a pipeline all of its flows; all queries and flows of the file without names.

    Args:
        file: The query file.
        names: Names of queries, of flows and of pipelines.
        opener: Opens directories.
    """
    pipelines = {pipeline_of(file, name) for name in names} if names else {*file.pipelines}
    failures: dict[str, QueryRow] = {}
    for name in file.pipelines:
        if name not in pipelines:
            continue
        try:
            file = with_pipelines(file, [name], opener)
        except CheckpointError as error:
            failures[name] = QueryRow(name, file.pipelines[name].spec, failure=error)
        except ValueError as error:
            failures[name] = QueryRow(name, file.pipelines[name].spec, failure=CheckpointError(str(error)))
    if not names:
        return WantedQueries(file, tuple(file.queries), tuple(failures.values()))
    wanted, unknown = set[str](), list[str]()
    for name in names:
        of_pipeline = pipeline_of(file, name)
        if name in file.queries or name in file.aliases:
            wanted.add(file.aliases.get(name, name))
        elif of_pipeline == name:
            wanted.update(query for query in file.queries if query.startswith(f"{name}."))
        elif of_pipeline not in failures:
            unknown.append(name)
    chosen = tuple(name for name in file.queries if name in wanted)
    return WantedQueries(file, chosen, tuple(failures.values()), tuple(unknown))
