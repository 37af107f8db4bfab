"""Our own records: the manifest of a backup, and of what a change removed. JSON, one a directory, written last.

A manifest may come from anywhere, so decoding it refuses names that lead outside: nothing absolute, no ``..``.
``features`` lists what a reader must understand; an unknown one is refused instead of being half understood. That
an object may lie in the directory of another backup needs no feature: every release has read ``stored_at``, and none
that cannot follow it has ever deleted a backup. The files that the tool did not know, ``facts["unknown"]``, need none
either: every release restores all objects that a manifest names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from airflow_provider_ckpt.checkpoint.contents import parents
from airflow_provider_ckpt.checkpoint.own_files import is_backup_id
from airflow_provider_ckpt.codec.jvm_text import abbreviate
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.errors import BackupCorruptError, PlanError, UnsupportedVersionError
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.untrusted.bounded_json import parse_with_list

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.backups import BackupFields

FORMAT_VERSION = 1
KNOWN_FEATURES: frozenset[str] = frozenset()
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_SEPARATOR = re.compile(r"[/\\]")
_RENAME = "Nothing was done. Rename it, or move it out of the checkpoint."
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class ManifestObject(Documented):
    """One object of a backup."""

    name: Annotated[str, "its name in the checkpoint"]
    size: Annotated[int, "bytes"]
    sha256: Annotated[str, "hexadecimal"]
    stored_at: Annotated[str, "path of the object, relative to the backup root"]
    identity: Annotated[str, "version that the storage gave to the content when it was copied, such as an ETag"] = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a backup: what it is and which objects it has.

    Args:
        backup_id: Unique under its root.
        location: The checkpoint that was backed up, without credentials.
        query_id: Id of the query.
        batch_id: The committed batch of the backup; a restart from it runs the next batch.
        created_at_ms: Epoch milliseconds.
        watermark_ms: Watermark of that batch, or None.
        objects: In the order of copying.
        facts: For a person's choice: tags, a message, log versions, state provider, tool version; who has asked
            for it (``asked_by``); which of the objects were not known (``unknown``, ``unknown_changed``), and what was
            not judged (``not_judged``).
    """

    backup_id: str
    location: str
    query_id: str
    batch_id: int
    created_at_ms: int
    watermark_ms: int | None
    objects: tuple[ManifestObject, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[str, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Sum of the sizes."""
        return sum(stored.size for stored in self.objects)

    @property
    def own_bytes(self) -> int:
        """Bytes that were copied for this backup."""
        return sum(stored.size for stored in self.objects if stored.stored_at.startswith(f"{self.backup_id}/"))

    @property
    def reused_bytes(self) -> int:
        """Bytes of the objects that earlier backups hold and this one refers to."""
        return self.total_bytes - self.own_bytes

    @property
    def tags(self) -> tuple[str, ...]:
        """Names that were given to the backup."""
        return tuple(self.facts.get("tags", ()))

    @property
    def message(self) -> str:
        """Why it was taken, for people; may be empty."""
        return str(self.facts.get("message", ""))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Objects that were not known and are kept; the backups of earlier releases have none."""
        return tuple(self.facts.get("unknown", ()))

    @property
    def unknown_changed(self) -> tuple[str, ...]:
        """Unknown files that changed while they were copied: not known to be consistent with the batch."""
        return tuple(self.facts.get("unknown_changed", ()))

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Parts of the state that were not judged, in words: no file describes them, or the backup was quick."""
        return tuple(self.facts.get("not_judged", ()))

    def summary(self) -> BackupFields:
        """Facts by which a person chooses a backup, JSON-ready; without the single objects."""
        return {
            "backup_id": self.backup_id,
            "location": self.location,
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "created_at": time_text(self.created_at_ms),
            "watermark_ms": self.watermark_ms,
            "objects": len(self.objects),
            "bytes_copied": self.own_bytes,
            "bytes_reused": self.reused_bytes,
            "tags": list(self.tags),
            "message": self.message,
            "unknown": list(self.unknown),
            "unknown_changed": list(self.unknown_changed),
            "not_judged": list(self.not_judged),
        }

    def encode(self) -> bytes:
        """The bytes to store."""
        own = {name: getattr(self, name) for name in self.__slots__}
        # an indent needs the slow encoder, and a copy of everything as asdict makes it is much of a large state
        return json.dumps({**own, "format_version": FORMAT_VERSION}, sort_keys=True, default=_fields).encode()


def _fields(item: ManifestObject) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__slots__}


def decode(data: bytes, name: str, known: dict[ManifestObject, ManifestObject] | None = None) -> Manifest:
    """Read a manifest.

    Args:
        data: Its bytes.
        name: Its name, for messages.
        known: Objects of other manifests, which are not held twice; those of this one are added.

    Raises:
        UnsupportedVersionError: A later format, or a feature this release does not know.
        BackupCorruptError: Anything else that a manifest is not.
    """
    known = {} if known is None else known

    def held_once(item: Any) -> ManifestObject:
        stored = _object(item)
        return known.setdefault(stored, stored)

    def check_first(fields: Mapping[str, Any]) -> None:
        if "format_version" in fields:
            _require_version(fields, name)

    try:
        fields, objects = parse_with_list(data, "objects", held_once, check_first)
        _require_version(fields, name)
        del fields["format_version"]
        manifest = Manifest(objects=tuple(objects), features=tuple(fields.pop("features")), **fields)
        _validate(manifest)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BackupCorruptError(f"no manifest: {error}", name=name) from error
    unknown = set(manifest.features) - KNOWN_FEATURES
    if unknown:
        raise UnsupportedVersionError(
            f"the manifest needs features that this release does not have: {', '.join(sorted(unknown))}", name=name
        )
    return manifest


def _require_version(fields: Mapping[str, Any], name: str) -> None:
    if (version := fields["format_version"]) != FORMAT_VERSION or type(version) is not int:
        said = (
            f"the manifest has format version {abbreviate(str(version))}; this release reads version {FORMAT_VERSION}"
        )
        raise UnsupportedVersionError(said, name=name)


def _object(item: Any) -> ManifestObject:
    stored = ManifestObject(**item)
    if not _is_count(stored.size) or not _SHA256.match(stored.sha256):
        raise ValueError(f"the size or the SHA-256 of {abbreviate(str(stored.name))} is not valid")
    for name in (stored.name, stored.stored_at):
        if not is_inside(name):
            raise ValueError(f"the name {abbreviate(str(name))} points outside the backup")
    return stored


def _validate(manifest: Manifest) -> None:
    if not is_backup_id(manifest.backup_id):
        raise ValueError(f"{abbreviate(str(manifest.backup_id))} is not a backup id")
    if not _is_count(manifest.batch_id) or not _is_count(manifest.created_at_ms):
        raise ValueError("the batch id or the time is not a number")
    if manifest.watermark_ms is not None and not _is_count(abs(manifest.watermark_ms)):
        raise ValueError("the watermark is not a number")
    if not isinstance(manifest.location, str) or not isinstance(manifest.query_id, str):
        raise ValueError("the location or the query id is not a text")
    _validate_facts(manifest.facts)
    names = [stored.name for stored in manifest.objects]
    if len(set(names)) != len(names):
        raise ValueError("the manifest lists a name twice")
    directories = {parent for name in names for parent in parents(name)}
    if directories & set(names):
        raise ValueError(f"{abbreviate(min(directories & set(names)))} is listed as a file and as a directory")


def _validate_facts(facts: Any) -> None:
    for key, what in (
        ("tags", "tags"),
        ("unknown", "unknown files"),
        ("unknown_changed", "changed files"),
        ("not_judged", "questions"),
    ):
        names = facts.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"the {what} are not a list of names")
    if not isinstance(facts.get("message", ""), str):
        raise ValueError("the message is not a text")


def require_names(names: Collection[str], location: str) -> None:
    """Raise PlanError when a manifest cannot hold some names, so that no backup is taken that cannot be read again."""
    for name in names:
        if not is_inside(name):
            raise PlanError(
                f"a file has the name {abbreviate(name)}, which a backup cannot store.", location=location, hint=_RENAME
            )
    both = {parent for name in names for parent in parents(name)} & set(names)
    if both:
        raise PlanError(
            f"{abbreviate(min(both))} is both a file and a directory, which a disk cannot store.",
            location=location,
            hint=_RENAME,
        )


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def is_inside(name: Any) -> bool:
    """True if a name stays inside the directory that it is relative to."""
    return (
        isinstance(name, str)
        and bool(name)
        and "://" not in name
        and not _CONTROL.search(name)
        and not {"", ".", ".."} & set(_SEPARATOR.split(name))
        and _is_unicode(name)
    )


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a name of bytes that are no UTF-8
        return False
    return True


# --- what people note on a backup: tags, for which a policy can keep it, and why it was taken -------------------------


def tags_of(given: object) -> tuple[str, ...]:
    """Tags as they are given: one text is one tag, never its letters; several are a collection of texts.

    None and an empty text, as a template may leave them, are no tag.

    Raises:
        ValueError: Something of it is no text, or empty.
    """
    tags = [given] if isinstance(given, str) and given else given or ()
    if isinstance(tags, Collection) and all(isinstance(tag, str) and tag for tag in tags):
        return tuple(str(tag) for tag in tags)
    raise ValueError(f"the tags of a backup must be a list of texts, such as ['release'], not {given!r}")


def message_of(given: object) -> str:
    """The reason of a backup; None is no reason. Raises ValueError for what is no text."""
    if given is None or isinstance(given, str):
        return given or ""
    raise ValueError(f"the message of a backup must be a text, not {given!r}")


@dataclass(frozen=True, slots=True)
class Words:
    """Notes that the person who asks for a backup gives it."""

    tags: tuple[str, ...]
    message: str
    quick: bool
    asked_by: str

    @classmethod
    def of(cls, location: str, tags: object, message: object, *, quick: bool, asked_by: str) -> Words:
        """Raises PlanError for what no manifest can hold, before anything is written."""
        try:
            return cls(tags_of(tags), message_of(message), quick, asked_by)
        except ValueError as error:
            raise PlanError(f"{error}.", location=location, hint="No backup was taken.") from None
