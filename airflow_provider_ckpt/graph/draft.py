"""The text of a query file from a graph: what files prove as declarations, the rest as comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.documents.graphs import InitDocument
from airflow_provider_ckpt.fleet.pipeline import SeenPipeline
from airflow_provider_ckpt.graph.draft_pipeline import DraftedPipeline, drafted, with_tables
from airflow_provider_ckpt.graph.graph import Graph, Known, Node
from airflow_provider_ckpt.graph.names import names_of
from airflow_provider_ckpt.graph.proven_types import Proof
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.untrusted.secrets import may_be_secret, scrub
from airflow_provider_ckpt.visible import visible

_HEAD = """\
# Written by ckpt init. "proven" says what proves the line below it. "say" is what no file proves: write it down, or
# take the # away where a line is offered.
format_version: 1
# defaults:
#   backups: ROOT/{query}    # say: where the backups of the queries are
#   undo: ROOT/{query}       # say: where the records of changes are kept, if not beside the checkpoints
"""
_ESCAPES = {'"': '\\"', "\\": "\\\\"}
#: What YAML reads as a truth or as nothing.
_WORDS_OF_YAML = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
#: More proofs than a person reads.
_MOST_PROOFS = 3


@dataclass(frozen=True, slots=True)
class DraftedFile:
    """A query file that is drafted.

    Args:
        graph: What was found.
        names: The names of the queries, by checkpoint location.
        text: The file.
    """

    graph: Graph
    names: Mapping[str, str]
    text: str

    def to_dict(self, file: str | None) -> InitDocument:
        """As the keys of a JSON document; ``file`` is where it was written, None when it was printed."""
        return {
            "format_version": FORMAT_VERSION,
            "file": file,
            "queries": [node.to_dict(self.names.get(node.stream.location)) for node in self.graph.nodes],
            "edges": [edge.to_dict(self.names) for edge in self.graph.edges],
            "problems": list(self.graph.problems),
            "text": self.text,
        }


def draft_file(graph: Graph, seen: Iterable[SeenPipeline], place: str) -> DraftedFile:
    """The query file of what was found. Raises ValueError when it could not be read again.

    Args:
        graph: What was found.
        seen: The pipelines whose flows are among it.
        place: What an error calls the file.
    """
    pipelines = drafted(seen, names_in(graph).values())
    graph = with_tables(graph, pipelines)
    text = draft(graph, pipelines)
    parse_query_file(text, place)
    return DraftedFile(graph, names_in(graph, pipelines), text)


def names_in(graph: Graph, pipelines: Sequence[DraftedPipeline] = ()) -> dict[str, str]:
    """The name of each query that can be read, by its checkpoint location; of a flow with that of its pipeline."""
    flows = {at: f"{each.name}.{name}" for each in pipelines for at, (name, _) in each.flows.items()}
    locations = [node.stream.location for node in graph.nodes if not node.stream.error]
    others = [location for location in locations if location not in flows]
    names = dict(zip(others, names_of(others), strict=True))
    return {location: flows.get(location) or names[location] for location in locations}


def draft(graph: Graph, pipelines: Sequence[DraftedPipeline] = ()) -> str:
    """The text.

    Args:
        graph: What was found.
        pipelines: The pipelines that have flows among the queries.
    """
    names = names_in(graph, pipelines)
    of_pipelines = {location for pipeline in pipelines for location in pipeline.flows}
    flows: dict[str, list[str]] = {}
    feeding: dict[tuple[str, str], list[str]] = {}
    for edge in graph.edges:
        feeding.setdefault((edge.reader, edge.source_id), []).append(names[edge.writer])
    queries, left_out = list[str](), list[str]()
    for node in graph.nodes:
        location = node.stream.location
        if node.stream.error:
            left_out.append(_comment(f"not read: {node.stream.error}"))
        elif may_be_secret("checkpoint", location):
            left_out.append(_comment(f"left out: {scrub(location)} may hold a secret, which belongs into no file"))
        else:
            own = {source_id: of for (reader, source_id), of in feeding.items() if reader == location}
            if location in of_pipelines:
                flows[location] = [*_declarations(node, own)]
                continue
            lines = [*_query(names[location], node, own)]
            problem = _problem_of(lines)
            queries += [] if problem else ["", *lines]
            left_out += [_comment(f"left out: {location}, which cannot be declared: {problem}")] if problem else []
    left_out += [_comment(f"not read: {problem}") for problem in graph.problems]
    head = "queries:" if queries else "queries: {}"
    piped = [line for pipeline in pipelines for line in _pipeline(pipeline, flows)]
    piped = ["", "pipelines:", *piped] if piped else []
    return "\n".join([_HEAD.rstrip("\n"), head, *queries, *piped, *(["", *left_out] if left_out else [])]) + "\n"


def _pipeline(pipeline: DraftedPipeline, flows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of a pipeline; a flow of which nothing can be declared is a comment."""
    yield f"  {_key(pipeline.name)}:"
    yield f"    spec: {_quoted(pipeline.seen.place)}"
    yield from (f"    {_comment(sentence)}" for sentence in pipeline.says)
    told = list[str]()
    for location, (name, _) in pipeline.flows.items():
        lines = [f"    {line}" for line in flows.get(location, ())]
        is_said = any(not line.lstrip().startswith("#") for line in lines)
        told += ["", f"      {_key(name) if is_said else _comment(f'{name}:')}{':' if is_said else ''}", *lines]
    if any(not line.lstrip().startswith("#") for line in told if line):
        yield "    flows:"
    yield from told


def _problem_of(lines: Sequence[str]) -> str:
    """Why these lines are no query of a file, as of a location that ends with a space; empty when they are one."""
    try:
        parse_query_file("\n".join(["format_version: 1", "queries:", *lines]))
    except ValueError as error:
        return str(error)
    return ""


def _query(name: str, node: Node, feeding: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield f"  {_key(name)}:"
    yield f"    checkpoint: {_quoted(node.stream.location)}"
    yield from _declarations(node, feeding)


def _declarations(node: Node, feeding: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from _declared("spark_version", node.spark)
    yield from _sources(node.sources, feeding)
    yield from _declared("sink", node.sink)


def _declared(key: str, known: Known) -> Iterator[str]:
    """The lines of one key of a query; a comment alone where nothing is proven."""
    if known.text and not may_be_secret(key, known.text):
        yield from _of_proofs(known.proofs)
        yield from _say(known)
        yield f"    {key}: {_quoted(known.text)}"
        return
    yield from _say(known)
    if known.perhaps:
        yield f"    {_comment(f'{key}: {_quoted(known.perhaps)}')}"
    if known.perhaps_sinks:
        yield f"    {_comment(f'sinks: [{_quoted(known.perhaps_sinks)}]')}"


def _sources(sources: Mapping[str, Known] | None, feeding: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not sources:
        yield f"    {_comment('say: its sources; the offset log has none that can be read')}"
        return
    is_list = list(sources) == [str(number) for number in range(len(sources))]
    yield "    sources:"
    for source_id, known in sources.items():
        for line in (*_of_proofs(known.proofs), *_say(known)):
            yield f"  {line}"
        if source_id in feeding:
            yield f"      {_comment('written by ' + ', '.join(sorted(feeding[source_id])))}"
        text = "" if may_be_secret("source", known.text) else known.text
        if known.perhaps:
            yield f"      {_comment(('- ' if is_list else f'{_key(source_id)}: ') + _quoted(known.perhaps))}"
        yield f"      {'-' if is_list else f'{_key(source_id)}:'} {_quoted(text) if text else 'null'}"


def _of_proofs(proofs: Iterable[Proof]) -> Iterator[str]:
    for proof in [*proofs][:_MOST_PROOFS]:
        yield f"    {_comment(f'proven: {proof.text}')}"


def _say(known: Known) -> Iterator[str]:
    if known.say:
        yield f"    {_comment(f'say: {known.say}')}"


def _comment(text: str) -> str:
    return f"# {''.join(map(_plain, visible(scrub(text))))}"


def _key(name: str) -> str:
    """A key; a word that YAML would read as a number, a truth or nothing is quoted."""
    is_plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum() and name[0].isalpha()
    return name if is_plain and name.lower() not in _WORDS_OF_YAML else _quoted(name)


def _quoted(text: str) -> str:
    return f'"{"".join(_ESCAPES.get(char) or _plain(char) for char in text)}"'


def _plain(char: str) -> str:
    """A character that people can see, or its escape: YAML has no other ones, and takes some for the end of a line."""
    return char if char.isprintable() else f"\\U{ord(char):08x}"
