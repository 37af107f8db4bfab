"""Findings of a task in few words, from the document that it returns. Everything has a bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from airflow_provider_ckpt.documents.lineage import (
    AssetExtraFields,
    FacetFindingFields,
    FacetPlanFields,
    FacetReceiptFields,
    FacetSinkFields,
    FacetSourceFields,
    TaskFacetFields,
)
from airflow_provider_ckpt.hooks.links import page_link
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

#: A list has at most so many items.
MOST = 20
#: A text has at most so many characters.
LONGEST = 1_000
#: Offsets of one source have at most so many characters; longer ones are left out, because half of them is no JSON.
LONGEST_OFFSETS = 20_000

_TEXTS = ("query_id", "status", "decision", "headline", "spark_error", "backup_id")
_NUMBERS = ("resumes_at_batch",)


def task_facts(task: str, checkpoints: Sequence[str], document: Mapping[str, Any]) -> TaskFacetFields:
    """Findings of a task.

    Args:
        task: Name of the task's work, such as ``gate``.
        checkpoints: Absolute locations.
        document: The document that it returns (``airflow_provider_ckpt/documents``); empty before it has one.
    """
    omitted = ["checkpoints"] if len(checkpoints) > MOST else []
    facts: dict[str, Any] = {"task": task, "checkpoints": [short(scrub(item)) for item in checkpoints[:MOST]]}
    facts |= {key: short(document[key]) for key in _TEXTS if isinstance(document.get(key), str)}
    facts |= {key: document[key] for key in _NUMBERS if document.get(key) is not None}
    facts |= {key: list(map(short, document[key][:MOST])) for key in ("met", "unknown") if document.get(key)}
    if (batch_id := batch_of(document)) is not None:
        facts["batch_id"] = batch_id
    if (watermark := watermark_of(document)) is not None:
        facts["watermark"] = watermark
    if offsets := document.get("start_offsets"):
        facts["positions"] = _offsets(offsets, omitted)
    if findings := list(_findings(document)):
        omitted += ["findings"] if len(findings) > MOST else []
        facts["findings"] = list(map(_finding, findings[:MOST]))
    if sources := list(_sources(document)):
        omitted += ["sources"] if len(sources) > MOST else []
        facts["sources"] = sources[:MOST]
    if "sink_effect" in document:
        facts["plan"] = _plan(document)
    if document.get("receipt") and "sink_effect" in document:
        facts["receipt"] = _receipt(document["receipt"])
    return cast(TaskFacetFields, {**facts, "omitted": omitted} if omitted else facts)


def asset_extra(text: str, location: str, document: Mapping[str, Any]) -> AssetExtraFields:
    """Text and facts for people in an event of an asset.

    Args:
        text: The work of the task, such as ``a backup was taken of``.
        location: Absolute location of the checkpoint.
        document: The document that the task returns.
    """
    batch_id, watermark = batch_of(document), watermark_of(document)
    shown = visible(scrub(location))
    at_batch = "" if batch_id is None else f" at batch {batch_id}"
    until = "" if watermark is None else f", with the watermark {watermark}"
    extra: AssetExtraFields = {
        "text": f"{text} {shown}{at_batch}{until}.",
        "location": shown,
        "link": page_link(location),
        "batch_id": batch_id,
        "watermark": watermark,
    }
    if isinstance(document.get("backup_id"), str):
        extra["backup_id"] = document["backup_id"]
    return extra


def batch_of(document: Mapping[str, Any]) -> int | None:
    """The committed batch that a document is about; None when it names none."""
    found = document.get("latest_committed_batch", document.get("batch_id"))
    return found if isinstance(found, int) else None


def watermark_of(document: Mapping[str, Any]) -> str | None:
    """The watermark of a document as ISO 8601; None when there is none."""
    found = document.get("watermark_ms")
    return time_text(found) if found else None  # 0 is Spark's word for none


def short(text: str) -> str:
    """A text of others in one line of bounded length."""
    shown = visible(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _offsets(offsets: Mapping[str, Any], omitted: list[str]) -> dict[str, str]:
    kept = {key: text for key, text in offsets.items() if isinstance(text, str) and len(text) <= LONGEST_OFFSETS}
    texts = sum(isinstance(text, str) for text in offsets.values())
    if len(kept) < texts or len(kept) > MOST:
        omitted.append("positions")
    return {short(key): visible(kept[key]) for key in list(kept)[:MOST]}


def _findings(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from document.get("findings") or ()
    for query in document.get("checkpoints") or ():
        yield from query.get("findings") or ()


def _finding(finding: Mapping[str, Any]) -> FacetFindingFields:
    return {
        "code": finding["code"],
        "severity": finding["severity"],
        "message": short(scrub(finding["message"])),
        "batch_id": finding.get("batch_id"),
        "name": None if finding.get("name") is None else short(finding["name"]),
    }


def _sources(document: Mapping[str, Any]) -> Iterator[FacetSourceFields]:
    for query in document.get("checkpoints") or ():
        for source in query.get("sources") or ():
            yield {
                "location": short(query["location"]),
                "source_id": short(source["source_id"]),
                "unit": source["unit"],
                "unread": source["total"],
                "lost": source["lost"],
            }


def _plan(document: Mapping[str, Any]) -> FacetPlanFields:
    effects: list[FacetSinkFields] = [
        {"sink": short(scrub(item["sink"])), "effect": item["effect"]} for item in document["sink_effects"][:MOST]
    ]
    return {
        "plan_id": document["plan_id"],
        "kind": document["kind"],
        "batch_id": document["batch_id"],
        "actions": document["actions"],
        "sink_effect": document["sink_effect"],
        "sink_effects": effects,
    }


def _receipt(receipt: Mapping[str, Any]) -> FacetReceiptFields:
    return {"status": receipt["status"], "actions": receipt["actions"], "record": short(scrub(receipt["record"]))}
