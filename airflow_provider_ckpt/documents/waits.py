"""How a wait ended: ``wait``, the sensor and the trigger."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from airflow_provider_ckpt.documents import Document


class ProgressFields(TypedDict):
    """The position of the query when a wait ended."""

    batch_id: Annotated[int | None, "latest committed batch"]
    watermark_ms: Annotated[int | None, "watermark with which that batch ran, epoch milliseconds"]
    query_id: Annotated[str | None, "id of the query"]
    met: Annotated[list[str], "names of the conditions that are met"]


class OutcomeFields(ProgressFields):
    """How a wait ended."""

    status: Annotated[str, "`reached`, `timeout`, or `progress` of a watcher"]


class WaitDocument(OutcomeFields, Document):
    """How a wait ended."""

    location: Annotated[str, "URI of the checkpoint"]
    reached: Annotated[bool, "whether the condition was met"]
    text: Annotated[str, "the result as a sentence"]
    condition: Annotated[dict[str, Any], "the condition: its name in `condition`, and its arguments"]


class WaitResultDocument(ProgressFields, Document):
    """Result of `CheckpointProgressSensor`."""
