"""Documents of queries and the places between them."""

from __future__ import annotations

from typing import Annotated, TypedDict

from airflow_provider_ckpt.documents import Document


class KnownFields(TypedDict):
    """What is known of a source, a sink or a version of Spark."""

    text: Annotated[str | None, "as it is declared, such as `delta:s3://lake/orders`; null when nothing is proven"]
    proven: Annotated[list[str], "what proves it, a sentence each: the file, and what it holds"]
    say: Annotated[str | None, "what a person has to say; null when nothing is left"]
    perhaps: Annotated[str | None, "a declaration that fits what was seen, for a person to confirm; null without one"]


class InitQueryFields(TypedDict):
    """A query that was found."""

    name: Annotated[str | None, "its name in the file; null for a checkpoint that could not be read"]
    location: Annotated[str, "URI of the checkpoint"]
    query_id: Annotated[str | None, "id of the query"]
    sources: Annotated[dict[str, KnownFields] | None, "its sources, by source id; null when they cannot be read"]
    sink: Annotated[KnownFields | None, "its sink; null for a checkpoint that could not be read"]
    spark_version: Annotated[KnownFields | None, "the Spark that ran its newest batch; null as the sink"]
    error: Annotated[str | None, "why it could not be read"]


class EdgeFields(TypedDict):
    """A place that one query writes and another one reads."""

    writer: Annotated[str, "name of the query that writes it"]
    reader: Annotated[str, "name of the query that reads it"]
    source_id: Annotated[str, "the source by which it is read"]
    place: Annotated[str, "the place, such as `delta:s3://lake/orders`"]
    proven: Annotated[list[str], "what proves it, a sentence each"]


class InitDocument(Document):
    """What `ckpt init` has found, and the query file that it makes of that."""

    file: Annotated[str | None, "the file that was written; null when it was printed"]
    queries: Annotated[list[InitQueryFields], "the queries, in the order of their locations"]
    edges: Annotated[list[EdgeFields], "which query feeds which"]
    problems: Annotated[list[str], "places that could not be read, a sentence each"]
    text: Annotated[str, "the query file"]
