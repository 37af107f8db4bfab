"""Places that two queries of a file may not share, because then one name would mean, or delete, what is of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.query.query_file import ANY_FLOW, Pipeline, Query
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.yaml_text import Path

_ADVICE = "put {query} into it, which means the name"
_ONE_WRITER = "a file sink is of one query: it goes by batch ids alone, and skips those that it has of another"


def shared_places(
    queries: Mapping[str, Query], pipelines: Mapping[str, Pipeline], paths: Paths
) -> Iterator[tuple[Path, str]]:
    """What is shared: its key, which ``defaults`` may have in place of a query, and what is wrong about it.

    One root may hold the records of the changes of several checkpoints: each has a directory of its own there.

    Args:
        queries: The queries by name.
        pipelines: The pipelines by name.
        paths: Locations that the cluster spells otherwise.
    """
    checkpoints, roots, outputs = dict[str, str](), dict[str, str](), dict[str, str]()
    for name, query in queries.items():
        other = checkpoints.setdefault(paths.place(query.checkpoint), name)
        if other != name:
            yield ("queries", name, "checkpoint"), f"the query {other} has the same checkpoint"
    for name, pipeline in pipelines.items():
        shared = pipeline.any_flow.backups
        if shared is not None and ANY_FLOW not in shared:
            yield ("defaults", "backups"), f"each flow of the pipeline {name} has it, and {_why('one')}; {_ADVICE}"
    for path, name, query in _declared(queries, pipelines):
        other = name if query.backups is None else roots.setdefault(paths.place(query.backups), name)
        if other != name:
            yield (*path, "backups"), f"{other} has the same, and {_why(name)}; {_ADVICE}"
        for key, sink in _file_sinks(query):
            other = outputs.setdefault(paths.place(sink.location), name)
            if other != name:
                yield (*path, *key), f"{other} has the same sink, and {_ONE_WRITER}"
    yield from _roots_inside(queries, pipelines, paths)


def _roots_inside(
    queries: Mapping[str, Query], pipelines: Mapping[str, Pipeline], paths: Paths
) -> Iterator[tuple[Path, str]]:
    """Roots that are in the checkpoint or the output directory of a query, which lists what is there as its own."""
    owned = {paths.place(query.checkpoint): f"the checkpoint of {name}" for name, query in queries.items()}
    for _, name, query in _declared(queries, pipelines):
        owned |= {paths.place(sink.location): f"the sink of {name}" for _, sink in _file_sinks(query)}
    for path, _, query in _declared(queries, pipelines):
        for key, root in (("backups", query.backups), ("undo", query.undo)):
            found = [owned[place] for place in _upwards(paths.place(root or "")) if place in owned]
            if root is not None and found:
                yield (*path, key), f"it is in {found[0]}; give a place outside of it"


def _upwards(place: str) -> Iterator[str]:
    """A place and the directories above it."""
    while place.strip("/"):
        yield place
        place = place.rpartition("/")[0]


def _declared(
    queries: Mapping[str, Query], pipelines: Mapping[str, Pipeline]
) -> Iterator[tuple[tuple[str, ...], str, Query]]:
    for name, query in queries.items():
        yield ("queries", name), name, query
    for name, pipeline in pipelines.items():
        for flow, query in pipeline.flows.items():
            if ANY_FLOW not in (query.backups or ""):
                yield ("pipelines", name, "flows", flow), f"{name}.{flow}", query


def _file_sinks(query: Query) -> Iterator[tuple[Path, Sink]]:
    declared = [(("sink",), query.deploy.sink), *((("sinks", at), sink) for at, sink in enumerate(query.sinks))]
    yield from ((key, sink) for key, sink in declared if sink is not None and sink.kind == "file")


def _why(name: str) -> str:
    return f"ckpt prune of {name} would delete backups of the other as well"
