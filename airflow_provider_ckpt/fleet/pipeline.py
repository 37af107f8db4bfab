"""The flows of a Spark Declarative Pipeline: those that its storage has, and those that its files define."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from airflow_provider_ckpt.checkpoint.flows import Flow
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.pipeline_definitions import DefinedFlow, DefinedTarget, Definitions
from airflow_provider_ckpt.query.pipeline_spec import NAMESPACE, PipelineSpec
from airflow_provider_ckpt.query.query_file import ANY_FLOW, Pipeline, Query, QueryFile
from airflow_provider_ckpt.query.query_parser import IN_CHECKPOINT
from airflow_provider_ckpt.query.sink import FILE_FORMATS
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW

#: What keeps files with a log of them, as Spark calls it.
LOGGED_FORMATS = frozenset({*FILE_FORMATS, "avro"})

_NOT_IN_URI = re.compile(r"[\x00-\x20\"#%<>?\[\\\]^`{|}\x7f]")


@dataclass(frozen=True, slots=True)
class PipelineFlow:
    """One flow.

    Args:
        flow: Its version that runs, or the first one.
        replaced: Numbers of the earlier versions.
        is_there: True if the storage has a version of it.
        defined: Its definition; None where none was found.
    """

    flow: Flow
    replaced: tuple[int, ...] = ()
    is_there: bool = True
    defined: DefinedFlow | None = None

    @property
    def checkpoint(self) -> str:
        """URI of the checkpoint of the version that runs; of version 0 when the flow has not run."""
        return f"{self.flow.directory}/{self.flow.version}"

    @property
    def target(self) -> tuple[str, ...]:
        """Parts of the name of what it writes to."""
        return tuple(map(unquote, self.flow.parts))

    @property
    def key(self) -> tuple[tuple[str, ...], str]:
        """What it writes to, and its name."""
        return self.target, unquote(self.flow.name)

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, the shortest first: with database, catalog and table where there are such."""
        (*above, target), name = self.key
        longer = [".".join((*above[at:], name)) for at in reversed(range(len(above)))]
        return name, *longer, ".".join((*above, target, name))


@dataclass(frozen=True, slots=True)
class SeenPipeline:
    """A pipeline as its files and its storage show it.

    Args:
        name: Its name in the query file.
        place: Its specification: a path or a URL.
        spec: What that says.
        storage: URI of its storage, as ckpt opens it.
        flows: Its flows, by what they write to and their names.
        definitions: What its files define.
        targets: Its tables and sinks, by the whole names.
        namespace: Catalog and database of names without them.
    """

    name: str
    place: str
    spec: PipelineSpec
    storage: str
    flows: tuple[PipelineFlow, ...] = ()
    definitions: Definitions = field(default_factory=Definitions)
    targets: Mapping[tuple[str, ...], DefinedTarget] = field(default_factory=dict)
    namespace: tuple[str, str] = NAMESPACE

    def whole(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The whole name of a table or a sink that a definition names."""
        return _whole(parts, self.namespace, {parts for parts, target in self.targets.items() if target.is_sink})

    @property
    def by_name(self) -> dict[str, PipelineFlow]:
        """The flows by every name that only one of them has."""
        times = Counter(name for flow in self.flows for name in flow.names)
        return {name: flow for flow in self.flows for name in flow.names if times[name] == 1}

    @property
    def names(self) -> dict[str, PipelineFlow]:
        """Flows by ``PIPELINE.NAME``, NAME being the shortest name that no other flow has."""
        unique = self.by_name
        found: dict[str, PipelineFlow] = {}
        for flow in self.flows:
            name = next((name for name in flow.names if unique.get(name) == flow), flow.names[-1])
            found[f"{self.name}.{name}"] = flow
        return found

    def format_of(self, parts: tuple[str, ...]) -> str | None:
        """What a table or a sink keeps its rows in; None where nothing says it."""
        target = self.targets.get(parts)
        own = None if target is None else target.format
        return own or (None if target is not None and target.is_sink else self.spec.format)


def see_pipeline(
    name: str, place: str, spec: PipelineSpec, storage: str, there: Iterable[PipelineFlow], definitions: Definitions
) -> SeenPipeline:
    """The pipeline: the flows in the storage, each with its definition, then those defined that have not run.

    Args:
        name: Its name in the query file.
        place: Its specification.
        spec: What that says.
        storage: URI of its storage, as ckpt opens it.
        there: The flows that the storage has.
        definitions: What its files define.
    """
    found = {flow.key: flow for flow in there}
    namespace = _namespace(spec, found)
    sinks = {target.parts for target in definitions.targets if target.is_sink}
    targets = {_whole(target.parts, namespace, sinks): target for target in definitions.targets}
    unplaced = list[str]()
    for defined in definitions.flows:
        parts = _whole(defined.target, namespace, sinks)
        if parts not in targets:
            of_it = [
                key for key in found if key[1] == defined.name and key[0][-len(defined.target) :] == defined.target
            ]
            if len(of_it) != 1:
                target = ".".join(defined.target)
                unplaced.append(
                    f"{defined.file} line {defined.line}: {defined.name} writes to {target}, which no file that "
                    "was read defines, so where its checkpoint is, is not known"
                )
                continue
            parts = of_it[0][0]
        directories = tuple(map(_directory, parts))
        new = PipelineFlow(Flow(storage, directories, _directory(defined.name), 0), is_there=False)
        flow = found.get(new.key, new)
        found[new.key] = replace(flow, defined=defined)
    flows = tuple(found[key] for key in sorted(found))
    definitions = replace(definitions, not_read=[*definitions.not_read, *unplaced])
    return SeenPipeline(
        name, place, spec, storage, flows=flows, definitions=definitions, targets=targets, namespace=namespace
    )


def _namespace(spec: PipelineSpec, there: Iterable[tuple[tuple[str, ...], str]]) -> tuple[str, str]:
    """Catalog and database of names without them: of the specification, else the only ones that have flows."""
    catalog, database = spec.namespace
    known = {parts[:2] for parts, _ in there if len(parts) == 3}
    if len(known) == 1:
        ((only_catalog, only_database),) = known
        return spec.catalog or only_catalog, spec.database or only_database
    return catalog, database


def _whole(parts: tuple[str, ...], namespace: tuple[str, str], sinks: set[tuple[str, ...]]) -> tuple[str, ...]:
    return parts if parts in sinks else (*namespace[: max(0, 3 - len(parts))], *parts)


def with_flows(file: QueryFile, seen: SeenPipeline) -> QueryFile:
    """The query file with a query for each flow of a pipeline, named ``shop.bronze``, at the version that runs.

    Args:
        file: The query file.
        seen: The pipeline, which the file names.

    Raises:
        CheckpointError: Backups of a flow or records of its changes would be in its checkpoint.
        ValueError: Another name in the file means one of the flows.
    """
    pipeline, flows = file.pipelines[seen.name], seen.names
    directories = {file.paths.place(flow.flow.directory): name for name, flow in flows.items()}
    for query in file.queries.values():
        flow_name = directories.get(file.paths.place(query.checkpoint).rpartition("/")[0])
        if flow_name is not None and query.name not in flows:
            where = file.origin(query, "checkpoint") or file.place
            raise ValueError(
                f"{where}: the checkpoint of {query.name} is that of the flow {flow_name}, and one place has one name; "
                f"declare it under pipelines.{seen.name}.flows"
            )
    queries = {
        name: _query(name, flow, pipeline, seen, file) for name, flow in flows.items() if name not in file.queries
    }
    places = {flow.key: name for name, flow in flows.items()}
    aliases = {f"{seen.name}.{name}": places[flow.key] for name, flow in seen.by_name.items()}
    aliases |= directories
    return replace(
        file,
        queries={**file.queries, **queries},
        aliases={**file.aliases, **{name: to for name, to in aliases.items() if to in queries}},
    )


def _query(name: str, flow: PipelineFlow, pipeline: Pipeline, seen: SeenPipeline, file: QueryFile) -> Query:
    by_name = seen.by_name
    own = [said for key, said in pipeline.flows.items() if by_name.get(key.replace("`", "")) == flow]
    declared = own[0] if own else pipeline.any_flow
    confs = {**seen.spec.configuration, **(flow.defined.confs if flow.defined else {})}
    deploy, said_by = declared.deploy, dict[str, str]()
    if deploy.trigger is None:
        deploy = replace(deploy, trigger=AVAILABLE_NOW)
        said_by["trigger"] = f"spark-pipelines, which runs {seen.place}"
    if confs:
        deploy = deploy.with_confs({**confs, **deploy.confs})
        said_by["confs"] = seen.place if not declared.deploy.confs else f"{seen.place} and {file.place}"
    sink = _sink(seen.targets.get(flow.target), file)
    if deploy.sink is None and sink is not None and flow.defined is not None:
        deploy = replace(deploy, sink=sink.sink)
        said_by["sink"] = flow.defined.file
    return replace(
        declared,
        name=name,
        checkpoint=flow.checkpoint,
        deploy=deploy,
        backups=_root("backups", declared, name, flow, file),
        undo=_root("undo", declared, name, flow, file),
        said_by=said_by,
        pipeline=seen.name,
    )


def _directory(name: str) -> str:
    """The directory that Spark makes for a name: what a URI cannot have is escaped."""
    return _NOT_IN_URI.sub(lambda char: f"%{ord(char[0]):02X}", name)


def _root(key: str, declared: Query, name: str, flow: PipelineFlow, file: QueryFile) -> str | None:
    """Root of backups or of records of a flow; it is outside of the versions of its checkpoint."""
    said = declared.backups if key == "backups" else declared.undo
    root = None if said is None else said.replace(ANY_FLOW, name)
    if root is not None and file.paths.holds(flow.flow.directory, root):
        raise CheckpointError(f"{file.origin(declared, key)}, {key} of the flow {name}: {IN_CHECKPOINT}")
    return root


def _sink(target: DefinedTarget | None, file: QueryFile) -> DeploySpec | None:
    """What the definition of a sink says, where ckpt knows such sinks."""
    if target is None or not target.is_sink or target.format is None:
        return None
    path = target.options.get("path")
    kind = "file" if target.format in LOGGED_FORMATS else target.format
    text = kind if path is None else f"{kind}:{file.paths.opened(path)}"
    with suppress(ValueError, CheckpointError):
        return declare(DeploySpec(), {"sink": text})
    return None


def pipeline_of(file: QueryFile, word: str) -> str | None:
    """The pipeline that a word names, by itself or with one of its flows; None for none."""
    if word in file.queries:
        return None
    fitting = [name for name in file.pipelines if word == name or word.startswith(f"{name}.")]
    return max(fitting, key=len, default=None)
