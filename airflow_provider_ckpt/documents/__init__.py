"""Types of every JSON document of ckpt: one for each document, a key a line, with the meaning of the key.

Documents are what commands print with ``--json``, what operators push to XCom, and what files hold. `docs/json.md` is
generated from these types. New keys may appear in a version of the format, and none changes its meaning.
"""

from __future__ import annotations

from typing import Annotated, TypedDict

#: The version of what commands print, operators push, and records and bookmarks hold.
FORMAT_VERSION = 1


def is_current(version: object) -> bool:
    """True if a document is of this version; True is not a version, though Python counts it as 1."""
    return version == FORMAT_VERSION and type(version) is int


class Document(TypedDict):
    """Every document begins with its version."""

    format_version: Annotated[int, "version of the document's format"]


class ErrorFields(TypedDict):
    """An error."""

    code: Annotated[str, "stable name of what went wrong, such as `NOT_FOUND`; `USAGE` for a usage error"]
    message: Annotated[str, "one sentence"]
    location: Annotated[str | None, "URI of the checkpoint, backup root or table in which it happened"]
    name: Annotated[str | None, "file, relative to the location"]
    batch_id: Annotated[int | None, "batch"]
    hint: Annotated[str | None, "what to do next"]


class ErrorDocument(Document):
    """Document that every command prints instead when it fails, also for a usage error (exit code 2)."""

    error: Annotated[ErrorFields, "why the command failed; the exit code says of which class the error is"]
