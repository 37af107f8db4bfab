"""The file ``metadata``: the id of the query (Spark's ``StreamMetadata``). It has no version line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.verbatim import Verbatim, remember
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError

#: A number of five, as java.util.UUID.fromString reads it, and how long their text may be.
_NUMBER, _LENGTH = re.compile(r"\+?[0-9a-fA-F]+"), 36


@dataclass(frozen=True, slots=True)
class QueryMetadata(Verbatim):
    """``query_id`` is what idempotent sinks know the query by; it lives as long as the checkpoint."""

    query_id: str

    def _serialise(self) -> bytes:
        return jvm_text.encode_utf8(jvm_text.write_json({"id": self.query_id}))


def decode(data: bytes, name: str) -> QueryMetadata:
    """Read the file as Spark's ``StreamMetadata.read`` does.

    Raises:
        IncompleteLogFileError: Empty.
        MalformedEntryError: No JSON object with a UUID as its ``id``.
    """
    if not data:
        raise IncompleteLogFileError("the query metadata is empty", name=name, spark_error="MismatchedInputException")
    text = data.decode("utf-8", errors="replace")  # as this one reader of Spark does
    fields = jvm_text.Fields(jvm_text.read_json_object(text, name, "query metadata"), name, "query metadata")
    if fields.is_null("id"):
        raise MalformedEntryError("the query id is null", name=name, spark_error="NullPointerException")
    query_id = fields.text("id")
    if refused := _refused(query_id):
        raise MalformedEntryError(
            f"the query id is not a UUID but {jvm_text.abbreviate(query_id)}",
            name=name,
            spark_error=refused,
        )
    metadata = QueryMetadata(query_id)
    return remember(metadata, data)


def _refused(query_id: str) -> str | None:
    """The error of ``java.util.UUID.fromString``, or None for five hexadecimal numbers that fit into a long each."""
    numbers = query_id.split("-")
    if len(query_id) > _LENGTH or len(numbers) != 5:
        return "IllegalArgumentException"
    is_read = all(_NUMBER.fullmatch(number) and int(number, 16) < 1 << 63 for number in numbers)
    return None if is_read else "NumberFormatException"
