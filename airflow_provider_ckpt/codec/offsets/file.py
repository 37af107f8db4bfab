"""The offset of a file source: the entry of its own log that it is at (Spark's ``FileStreamSourceOffset``)."""

from __future__ import annotations

from airflow_provider_ckpt.codec import jvm_text


def decode(text: str, name: str = "") -> int:
    """Read the offset as Spark does: ``{"logOffset":5}``, or the number alone as Spark 2.0 wrote it.

    Raises:
        MalformedEntryError: Neither; ``spark_error`` says what Spark stops with.
    """
    bare = jvm_text.parse_long(text)
    if bare is not None:
        return bare
    what = "file offset"
    fields = jvm_text.Fields(jvm_text.read_json_object(text, name, what), name, what)
    return fields.long("logOffset")


def is_bare(text: str) -> bool:
    """True if the text is only a number, which other sources also write."""
    return jvm_text.parse_long(text) is not None
