"""Where a query is, kept before a restart: what a continuation is compared with, and what a deploy is taken back to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from typing import Annotated, Any

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.documents import FORMAT_VERSION, is_current
from airflow_provider_ckpt.documents.as_document import Versioned
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.fields import LONGEST_NAME

_FROM_A_GATE = "Give the bookmark of a gate: the file of ckpt gate --bookmark, or gate.output['bookmark'] in a DAG."

#: Offset text by source id; None means a source without an offset.
Offsets = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Bookmark(Versioned):
    """A bookmark: the position of a query."""

    query_id: Annotated[str | None, "id of the query"]
    batch_id: Annotated[int | None, "latest committed batch; null before the first one"]
    offsets: Annotated[Offsets, "end offset of each source in that batch, JSON text by source id"] = field(
        default_factory=dict
    )
    watermark_ms: Annotated[int | None, "watermark, epoch milliseconds"] = None
    in_flight: Annotated[int | None, "batch that is planned and not committed"] = None
    in_flight_offsets: Annotated[
        Offsets, "end offset of each source in the in-flight batch, JSON text by source id"
    ] = field(default_factory=dict)
    batch_timestamp_ms: Annotated[
        int | None, "when that batch was planned, epoch milliseconds: after a rollback the same number is another batch"
    ] = None
    location: Annotated[str | None, "URI of the checkpoint; null in bookmarks of earlier versions"] = None

    @property
    def next_batch(self) -> int:
        """The batch that comes next."""
        return 0 if self.batch_id is None else self.batch_id + 1


def bookmark_from_dict(fields: Mapping[str, Any]) -> Bookmark:
    """The bookmark that :meth:`Bookmark.to_dict` wrote; the first ones had no version.

    Raises CheckpointError for anything else.
    """
    if not isinstance(fields, Mapping):
        raise CheckpointError(
            f"not a bookmark: {fields!r:.60} is not an object",
            hint=_FROM_A_GATE,
        )
    if not is_current(fields.get("format_version", FORMAT_VERSION)):
        raise CheckpointError(
            f"the bookmark has the version {fields['format_version']!r:.60}; this release reads version "
            f"{FORMAT_VERSION}",
            hint="Take a new bookmark before the deploy, with this version of ckpt.",
        )
    known = {item.name for item in dataclass_fields(Bookmark)}
    if strange := sorted(map(str, fields.keys() - known - {"format_version"})):
        raise CheckpointError(f"not a bookmark: it has the key {strange[0]!r:.60}", hint=_FROM_A_GATE)
    if "query_id" not in fields or "batch_id" not in fields:
        raise CheckpointError("not a bookmark: it has no query_id and no batch_id", hint=_FROM_A_GATE)
    bookmark = Bookmark(**{key: value for key, value in fields.items() if key != "format_version"})
    _require_types(bookmark)
    return bookmark


def _require_types(bookmark: Bookmark) -> None:
    """Raise CheckpointError for a value that ``take_bookmark`` gives none of."""
    if not isinstance(bookmark.query_id, str | None) or len(bookmark.query_id or "") > LONGEST_NAME:
        raise CheckpointError(f"not a bookmark: query_id is {bookmark.query_id!r:.60}, not the id of a query")
    if not isinstance(bookmark.location, str | None) or bookmark.location == "":
        raise CheckpointError(f"not a bookmark: location is {bookmark.location!r:.60}, not where a checkpoint is")
    for name in ("batch_id", "watermark_ms", "in_flight", "batch_timestamp_ms"):
        value = getattr(bookmark, name)
        if value is not None and (type(value) is not int or (value < 0 and name in ("batch_id", "in_flight"))):
            raise CheckpointError(f"not a bookmark: {name} is {value!r:.60}, not a whole number")
    for name in ("offsets", "in_flight_offsets"):
        if not isinstance(value := getattr(bookmark, name), Mapping):
            raise CheckpointError(f"not a bookmark: {name} is {value!r:.60}, not an object by source id")


def read_bookmark(given: Any) -> Bookmark:
    """The bookmark that :meth:`Bookmark.to_dict` wrote, or that as JSON text. Raises CheckpointError for all else."""
    if not isinstance(given, str):
        return bookmark_from_dict(given)
    try:
        fields = parse_json(given)
    except ValueError as error:
        raise CheckpointError(
            f"the bookmark is not JSON: {error}",
            hint=_FROM_A_GATE,
        ) from None
    return bookmark_from_dict(fields)


def take_bookmark(view: CheckpointView) -> Bookmark:
    """Where the query behind a view is.

    Raises:
        CheckpointFormatError: The offset log entry of the newest committed batch is damaged.
        CheckpointNotFoundError: That entry is missing.
    """
    batch_id, in_flight = view.latest_committed, view.in_flight
    return Bookmark(
        query_id=view.query_id,
        batch_id=batch_id,
        offsets={} if batch_id is None else offsets_of(view.offset_seq(batch_id)),
        watermark_ms=view.watermark_ms,
        in_flight=in_flight,
        in_flight_offsets={} if in_flight is None else offsets_of(view.offset_seq(in_flight)),
        batch_timestamp_ms=None if batch_id is None else timestamp_ms_of(view.offset_seq(batch_id)),
        location=view.location,
    )


def timestamp_ms_of(entry: OffsetSeq) -> int | None:
    """Time at which a batch was planned, epoch milliseconds; None where its entry has no time."""
    return entry.metadata.batch_timestamp_ms if entry.metadata else None


def offsets_of(entry: OffsetSeq) -> dict[str, str | None]:
    """Offset text by source id."""
    return {source_id: offset.json if offset else None for source_id, offset in entry.offsets}
