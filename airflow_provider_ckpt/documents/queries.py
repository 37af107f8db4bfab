"""``queries``: the queries of a query file."""

from __future__ import annotations

from typing import Annotated, Any

from airflow_provider_ckpt.documents import Document
from airflow_provider_ckpt.documents.as_document import DocumentOf

NewestBackupFields = Annotated[dict[str, Any], DocumentOf("fleet.queries.row", "NewestBackup")]
NewestChangeFields = Annotated[dict[str, Any], DocumentOf("fleet.queries.row", "NewestChange")]
ThresholdFields = Annotated[dict[str, Any], DocumentOf("fleet.queries.thresholds", "Threshold")]
QueryRowFields = Annotated[dict[str, Any], DocumentOf("fleet.queries.row", "QueryRow")]


class QueriesDocument(Document):
    """Every query of a query file."""

    file: Annotated[str, "the query file"]
    queries: Annotated[list[QueryRowFields], "a row each, in the order of the file"]
