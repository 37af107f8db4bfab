"""What is printed of the runs of a query: ``status``, ``stop``, ``start``, ``deploy`` and ``hold``."""

from __future__ import annotations

from typing import Annotated, Any

from airflow_provider_ckpt.documents import Document
from airflow_provider_ckpt.documents.as_document import DocumentOf

RunFields = Annotated[dict[str, Any], DocumentOf("engines.run", "Run")]
QueryStatusFields = Annotated[dict[str, Any], DocumentOf("running.find_status", "QueryStatus")]
StoppedQueryFields = Annotated[dict[str, Any], DocumentOf("running.receipt", "StoppedQuery")]
StatusFields = Annotated[dict[str, Any], DocumentOf("running.find_status", "Status")]
StopReceiptFields = Annotated[dict[str, Any], DocumentOf("running.receipt", "StopReceipt")]
StartReceiptFields = Annotated[dict[str, Any], DocumentOf("running.receipt", "StartReceipt")]


class StatusDocument(Document):
    """Where a query runs."""

    status: Annotated[StatusFields, "what is known of it"]


class RunDocument(Document):
    """What a stop, a start, a hold or a deploy would do, or what it has done."""

    status: Annotated[StatusFields, "what was known of the query before"]
    steps: Annotated[list[str], "what is done, a sentence for each step"]
    executed: Annotated[bool, "whether it was carried out"]
    stop: Annotated[StopReceiptFields | None, "the receipt of the stop, or null"]
    start: Annotated[StartReceiptFields | None, "the receipt of the start, or null"]
    back: Annotated[StartReceiptFields | None, "the receipt of the start of the version before, or null"]
