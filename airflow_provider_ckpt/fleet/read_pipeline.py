"""Reading a Spark Declarative Pipeline: its specification, the files that define it, and its storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_provider_ckpt.checkpoint.flows import CHECKPOINTS, Flow
from airflow_provider_ckpt.checkpoint.own_files import UNDO_DIRECTORY
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.fleet.pipeline import PipelineFlow, SeenPipeline, pipeline_of, see_pipeline, with_flows
from airflow_provider_ckpt.fleet.read_query_file import read_text
from airflow_provider_ckpt.query.pipeline_definitions import Definitions
from airflow_provider_ckpt.query.pipeline_spec import PipelineSpec, parse_pipeline_spec
from airflow_provider_ckpt.query.query_file import QueryFile
from airflow_provider_ckpt.storage.store import Store

#: More files than any pipeline has.
MOST_FILES = 1_000
#: Levels below the checkpoints of a pipeline at which a flow may be: of a sink with one part or two, and of a table.
_FIRST, _LAST = 2, 4


def read_pipeline(file: QueryFile, name: str, opener: Callable[[str], Store] = Store.open) -> SeenPipeline:
    """A pipeline of the query file, as it is now.

    Args:
        file: The query file.
        name: The pipeline.
        opener: Opens directories.

    Raises:
        StoreError: The specification or the storage cannot be read.
        ValueError: It is no specification; the message names the file and the key.
    """
    return see(name, file.pipelines[name].spec, opener, file.paths.opened)


def see(
    name: str, place: str, opener: Callable[[str], Store] = Store.open, opened: Callable[[str], str] = str
) -> SeenPipeline:
    """A pipeline by its specification.

    Args:
        name: What it is called.
        place: The specification: a path or a URL.
        opener: Opens directories.
        opened: What ckpt opens for a location of the cluster.

    Raises:
        StoreError: The specification or the storage cannot be read.
        ValueError: It is no specification; the message names the file and the key.
    """
    spec = parse_pipeline_spec(read_text(place, opener), place)
    storage = opener(opened(spec.storage))
    there = tuple(_flows(storage.child(CHECKPOINTS), storage.location, ()))
    return see_pipeline(name, place, spec, storage.location, there, _read_definitions(spec, place, opener))


def with_pipelines(
    file: QueryFile, words: Sequence[str] | None = None, opener: Callable[[str], Store] = Store.open
) -> QueryFile:
    """The query file with a query for each flow of the pipelines that some words name.

    Args:
        file: The query file.
        words: Names, and locations, which name the pipelines that have a checkpoint there; None is all pipelines.
        opener: Opens directories.

    Raises:
        StoreError: A specification or a storage cannot be read.
        ValueError: It is no specification; the message names the file and the key.
    """
    places = [file.paths.place(word) for word in words or () if f"/{CHECKPOINTS}/" in word]
    for name in file.pipelines:
        is_named = words is None or name in (pipeline_of(file, word) for word in words)
        if is_named or (places and _has_one(file, name, places, opener)):
            file = with_flows(file, read_pipeline(file, name, opener))
    return file


def _has_one(file: QueryFile, name: str, places: Sequence[str], opener: Callable[[str], Store]) -> bool:
    """True if one of some locations is below the storage of a pipeline; one that cannot be read has none."""
    place = file.pipelines[name].spec
    try:
        spec = parse_pipeline_spec(read_text(place, opener), place)
    except (CheckpointError, ValueError):
        return False
    storage = file.paths.place(spec.storage)
    return any(each.startswith(f"{storage}/") for each in places)


def _flows(directory: Store, storage: str, parts: tuple[str, ...]) -> Iterator[PipelineFlow]:
    """Flows below a directory; a number is a version where a flow may be and a checkpoint is in it."""
    names = [name for name in sorted(directory.ls()[1]) if name != UNDO_DIRECTORY and directory.can_name(name)]
    if len(parts) >= _FIRST:
        versions = sorted(int(name) for name in names if _is_version(directory, name))
        if versions:
            *target, flow = parts
            yield PipelineFlow(Flow(storage, tuple(target), flow, versions[-1]), tuple(versions[:-1]))
            return
    if len(parts) < _LAST:
        for name in names:
            yield from _flows(directory.child(name), storage, (*parts, name))


def _is_version(directory: Store, name: str) -> bool:
    if not name.isascii() or not name.isdecimal() or len(name) > 18:
        return False
    objects, directories = directory.child(name).ls()
    of_spark = {layout.OFFSETS, layout.COMMITS, layout.SOURCES, layout.STATE}
    return layout.METADATA in objects or bool(of_spark & {*directories}) or not (objects or directories)


def _read_definitions(spec: PipelineSpec, place: str, opener: Callable[[str], Store]) -> Definitions:
    """What the files of a pipeline define, without running them."""
    found = Definitions()
    directory = place.rpartition("/")[0] or ("/" if place.startswith("/") else ".")
    try:
        store = opener(directory)
        names = sorted({name for pattern in spec.libraries for name in _matching(store, pattern)})
    except CheckpointError as error:
        found.not_read.append(f"the files of the pipeline cannot be listed: {error}")
        return found
    if not names:
        found.not_read.append(f"no file was found that defines it, at {', '.join(spec.libraries) or 'no pattern'}")
    if len(names) > MOST_FILES:
        found.not_read.append(f"it has more than {MOST_FILES:,} files")
    for name in names[:MOST_FILES]:
        try:
            text = read_text(f"{directory.rstrip('/')}/{name}", opener)
        except (StoreError, ValueError) as error:
            found.not_read.append(f"{name} cannot be read: {error}")
            continue
        add = found.add_sql if name.endswith(".sql") else found.add_python
        add(text, name)
    return found


def _matching(store: Store, pattern: str) -> Iterator[str]:
    """Files of a library: a file by its name, or all below a directory, as ``spark-pipelines`` takes them."""
    directory, stars, _ = pattern.removeprefix("./").partition("/**")
    if not stars:
        yield directory
        return
    for name in store.find(directory):
        if "__pycache__" not in name.split("/") and name.endswith((".py", ".sql")):
            yield name
