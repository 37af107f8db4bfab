"""The entry of a pipeline in a query file that is drafted: its flows, what is proven of each, and what nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_provider_ckpt.fleet.pipeline import PipelineFlow, SeenPipeline
from airflow_provider_ckpt.graph.graph import Graph, Known, Node
from airflow_provider_ckpt.graph.names import numbered, plain_name
from airflow_provider_ckpt.graph.proven_types import Proof
from airflow_provider_ckpt.query.paths import plain_place

#: What no file says of any pipeline.
_NOBODY_KNOWS = "what views do, and the options of sources and sinks: no file that is read has them"


@dataclass(frozen=True, slots=True)
class DraftedPipeline:
    """A pipeline that is drafted.

    Args:
        name: Its name in the file.
        seen: The pipeline.
    """

    name: str
    seen: SeenPipeline

    @property
    def flows(self) -> dict[str, tuple[str, PipelineFlow]]:
        """The flows that have run, with their names, by their checkpoint locations."""
        names = {flow.key: name.removeprefix(f"{self.seen.name}.") for name, flow in self.seen.names.items()}
        return {flow.checkpoint: (names[flow.key], flow) for flow in self.seen.flows if flow.is_there}

    @property
    def says(self) -> Iterator[str]:
        """What a person has to know or to say, a sentence each."""
        yield "say: remote, its Connect server, such as sc://host:15002"
        for flow in self.seen.flows:
            if flow.defined is not None and not flow.is_there:
                yield f"never ran: {flow.flow.called}, which {flow.defined.file} defines in line {flow.defined.line}"
            elif flow.defined is None and self.seen.definitions.flows and not self.seen.definitions.not_read:
                yield f"no file defines: {flow.flow.called} (CKPT208)"
        yield from (f"not read whole: {sentence}" for sentence in self.seen.definitions.not_read)
        yield f"say: {_NOBODY_KNOWS}"


def drafted(seen: Iterable[SeenPipeline], taken: Iterable[str]) -> list[DraftedPipeline]:
    """Pipelines with names of their own.

    Args:
        seen: The pipelines.
        taken: Names that others have.
    """
    pipelines = [*seen]
    names = numbered([plain_name(pipeline.spec.name) or "pipeline" for pipeline in pipelines], taken)
    return [DraftedPipeline(name, pipeline) for name, pipeline in zip(names, pipelines, strict=True)]


def with_tables(graph: Graph, pipelines: Sequence[DraftedPipeline]) -> Graph:
    """The graph with the tables of files that flows write: where the flows read files that their definitions call so.

    Spark resolves the name of a table to its directory, so a flow that reads one table alone, and whose source log
    names the files of one directory, proves where the table is.

    Args:
        graph: What the files of the checkpoints and tables prove.
        pipelines: The pipelines.
    """
    nodes = {node.stream.location: node for node in graph.nodes}
    sinks: dict[str, Known] = {}
    for pipeline in pipelines:
        sinks |= _sinks(pipeline, nodes)
    return replace(
        graph,
        nodes=tuple(
            replace(node, sink=sinks[node.stream.location])
            if not node.sink.text and node.stream.location in sinks
            else node
            for node in graph.nodes
        ),
    )


def _sinks(pipeline: DraftedPipeline, nodes: Mapping[str, Node]) -> dict[str, Known]:
    """The sink of each flow into a table whose directory a reader proves, or into a sink that a definition places."""
    seen, flows = pipeline.seen, pipeline.flows
    tables = {parts: Known() for parts, target in seen.targets.items() if target.options.get("path")}  # read each time
    for location, (name, flow) in flows.items():
        node, reads = nodes.get(location), flow.defined.reads if flow.defined else ()
        sources = list((node.sources or {}).values()) if node is not None else []
        if len(reads) == len(sources) == 1 and (directory := _directory(sources[0])):
            defined = flow.defined
            assert defined is not None  # it has reads
            proof = Proof(
                f"{defined.file} line {defined.line}", f"has {name} read this table alone, by the files there"
            )
            tables[seen.whole(reads[0])] = Known(f"file:{directory}", (*sources[0].proofs, proof))
    return {location: tables[flow.target] for location, (_, flow) in flows.items() if flow.target in tables}


def _directory(source: Known) -> str | None:
    """The directory that a source of files is proven to read, or may read."""
    text = source.text if source.text.startswith("file:") else source.perhaps
    return text.removeprefix("file:") if text.startswith("file:") else None


def is_spec(location: str) -> bool:
    """True if the location of a root is that of a specification."""
    return location.endswith((".yml", ".yaml"))


def beside(seen: SeenPipeline) -> list[str]:
    """Where Spark puts the tables of a pipeline when no conf says another place: beside its storage or its files."""
    above = {plain_place(seen.storage).rpartition("/")[0], plain_place(seen.place).rpartition("/")[0]}
    return [f"{directory}/spark-warehouse" for directory in sorted(above) if directory]
