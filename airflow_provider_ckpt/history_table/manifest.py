"""Manifests: they name the files that are the rows of a table which streams write, one manifest an epoch.

A table is a directory with ``data/`` and ``epochs/<query id>/``. Tasks write files of unique names into ``data/``, and
nobody reads one before a manifest names it. The manifest ``epochs/<query id>/<N>`` makes the files of epoch N rows of
the table. It is created once and never replaced, so of several that commit an epoch one wins, whoever they are. A
merged manifest ``epochs/<query id>/<N>.compact`` covers all epochs of the query up to and with N. Manifests that a
person has taken out of the table are in ``undone/``, and keep their files.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.errors import MalformedEntryError, StoreError, UnsupportedVersionError
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import EpochDocument

FORMAT_VERSION = 1
DATA, EPOCHS, UNDONE = "data", "epochs", "undone"
#: For so long what no manifest names stays, and what a merged manifest replaced: it may be of an epoch that is being
#: written, or a reader may be at it. Milliseconds.
GRACE_MS = 24 * 3_600_000
#: An epoch is refused when its oldest file is older than this: far from where it could be taken for garbage.
COMMIT_WITHIN_MS = GRACE_MS // 2

_PLACE = re.compile(rf"{EPOCHS}/([A-Za-z0-9_-]{{1,100}})/(0|[1-9]\d{{0,18}})(\.compact)?\Z")
_UNDONE = re.compile(rf"{UNDONE}/\d{{1,19}}/({EPOCHS}/[^/]+/\d{{1,19}})\Z")
_DATA_FILE = re.compile(rf"{DATA}/[A-Za-z0-9_-]{{1,100}}\.parquet\Z")
#: A command that is shown holds no secrets, and without the endpoint it could take back a table of another storage.
_WITH_OPTIONS = "give Store.open the storage options of the stream as keyword arguments, when it has any"
#: What a writer on a local disk leaves when it is killed before its file has its name.
_DRAFT = re.compile(rf"(?:{DATA}|{EPOCHS}/[A-Za-z0-9_-]{{1,100}})/\.[^/]+\.tmp\Z")


@dataclass(frozen=True, slots=True)
class DataFile(Documented):
    """One file of rows."""

    name: Annotated[str, "path of the file, relative to the table"]
    rows: Annotated[int, "number of rows"]
    bytes: Annotated[int, "its size"]


@dataclass(frozen=True, slots=True)
class Written:
    """Files that one task wrote: the message that it sends to the committer of the epoch.

    Args:
        query_id: Id of the streaming query.
        files: The files; empty when the task had no rows.
        since_ms: Time at which the task began to write, epoch milliseconds.
        plan: Digest of the plan of the epoch when the task began; None where the task does not say.
    """

    query_id: str
    files: tuple[DataFile, ...]
    since_ms: int
    plan: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manifest is, and what it covers.

    Args:
        query_id: Id of the streaming query.
        epoch: The epoch; of a merged manifest the last one.
        compact: True if it covers all epochs up to this one.
    """

    query_id: str
    epoch: int
    compact: bool = False

    @property
    def name(self) -> str:
        """Name of the manifest, relative to the table."""
        return f"{EPOCHS}/{self.query_id}/{self.epoch}{'.compact' if self.compact else ''}"

    def replaces(self, other: Place) -> bool:
        """True if this merged manifest covers everything that the other one covers."""
        if not self.compact or self.query_id != other.query_id:
            return False
        return self.epoch > other.epoch or (self.epoch == other.epoch and not other.compact)


def parse_place(name: str) -> Place | None:
    """The place that a name is; None for what is no manifest."""
    found = _PLACE.match(name)
    return Place(found[1], int(found[2]), bool(found[3])) if found else None


def parse_undone(name: str) -> Place | None:
    """The place where a manifest that was taken out of the table has been; None for what is none."""
    found = _UNDONE.match(name)
    return parse_place(found[1]) if found else None


def is_data_file(name: str) -> bool:
    """True if a name is that of a file that a task may have written."""
    return _DATA_FILE.match(name) is not None


def visible(places: Iterable[Place]) -> tuple[Place, ...]:
    """The manifests that make up the table: of each query the newest merged one, and the epochs after it."""
    places = set(places)
    newest: dict[str, Place] = {}
    for place in places:
        if place.compact and (place.query_id not in newest or place.replaces(newest[place.query_id])):
            newest[place.query_id] = place
    return tuple(sorted((place for place in places if not _is_replaced(place, newest)), key=_in_order))


def newest_of(places: Iterable[Place], query_id: str) -> Place | None:
    """The manifest that covers the last epoch of a query, its own rather than a merged one; None when there is none."""
    own = (place for place in places if place.query_id == query_id)
    return max(own, key=lambda place: (place.epoch, not place.compact), default=None)


def _is_replaced(place: Place, newest: Mapping[str, Place]) -> bool:
    return place.query_id in newest and newest[place.query_id].replaces(place)


def _in_order(place: Place) -> tuple[str, int]:
    return place.query_id, place.epoch


@dataclass(frozen=True, slots=True)
class Manifest:
    """Manifest that makes files rows of the table.

    Args:
        place: The epochs that it covers.
        files: The files.
        schema: Spark's ``StructType`` of the rows, as JSON text.
        created_at_ms: Epoch milliseconds.
        plan: Digest of the plan that its stream had made of the epoch; of a merged manifest that of the last epoch.
            None where the writer could not tell.
    """

    place: Place
    files: tuple[DataFile, ...]
    schema: str
    created_at_ms: int
    plan: str | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(file.rows for file in self.files)

    def is_of_the_plan_of(self, other: Manifest) -> bool:
        """True if another one of this epoch holds the same rows: the same plan or, if one is unknown, as many rows."""
        if self.plan is not None and other.plan is not None:
            return self.plan == other.plan
        return self.place.compact or other.place.compact or self.rows == other.rows

    def encode(self) -> bytes:
        """The bytes to store."""
        document: EpochDocument = {
            "format_version": FORMAT_VERSION,
            "query_id": self.place.query_id,
            "epoch": self.place.epoch,
            "compact": self.place.compact,
            "created_at_ms": self.created_at_ms,
            "schema": self.schema,
            "plan": self.plan,
            "files": [{"name": file.name, "rows": file.rows, "bytes": file.bytes} for file in self.files],
        }
        return json.dumps(document).encode()


def decode(data: bytes, place: Place) -> Manifest:
    """Read the manifest of a place.

    Raises:
        UnsupportedVersionError: A later format.
        MalformedEntryError: Anything else that a manifest is not.
    """
    try:
        value = parse_json(data)
        if (version := value["format_version"]) != FORMAT_VERSION or type(version) is not int:
            said = f"the manifest has format version {version!r:.40}; this release reads version {FORMAT_VERSION}"
            raise UnsupportedVersionError(said, name=place.name)
        return _manifest(value, place)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise MalformedEntryError(f"is not a manifest of an epoch: {error!r:.200}", name=place.name) from None


def _manifest(value: Mapping[str, Any], place: Place) -> Manifest:
    if (value["query_id"], value["epoch"], value["compact"]) != (place.query_id, place.epoch, place.compact):
        raise ValueError("it names another epoch than its file name")
    files = tuple(DataFile(item["name"], _count(item["rows"]), _count(item["bytes"])) for item in value["files"])
    if not all(is_data_file(file.name) for file in files) or len({file.name for file in files}) != len(files):
        raise ValueError("it lists a path that is not a file of the table, or lists a file twice")
    plan = value.get("plan")  # manifests of earlier versions have none
    if not isinstance(value["schema"], str) or not isinstance(plan, str | None):
        raise TypeError("the schema or the plan is no text")
    return Manifest(place, files, value["schema"], _count(value["created_at_ms"]), plan)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r:.40} is not a count")
    return value


@dataclass(frozen=True, slots=True)
class Garbage:
    """Files that may be deleted, in this order.

    Args:
        files: Data files and drafts by name, that no reader and no commit needs.
        manifests: Manifests that a merged one replaced.
    """

    files: tuple[str, ...]
    manifests: tuple[str, ...]


def garbage(
    manifests: Iterable[Manifest],
    files: Iterable[StoredObject],
    now_ms: int,
    grace_ms: int = GRACE_MS,
    undone: Iterable[Manifest] = (),
) -> Garbage:
    """Files that nothing has needed for longer than the grace.

    A file that no manifest names is an attempt's that was lost, or one that is being written. A replaced manifest, and
    what only such ones name, is kept as long after it was replaced, for those who began to read before.

    Args:
        manifests: Every manifest, also the replaced ones.
        files: Listed files, as a listing that was taken before shows it.
        now_ms: Epoch milliseconds.
        grace_ms: Milliseconds.
        undone: Manifests that were taken out of the table: their files stay as long as they do.
    """
    manifests = tuple(manifests)
    expired = {item.place for item in manifests if _replaced_at_ms(item, manifests) + grace_ms < now_ms}
    kept = (*(item for item in manifests if item.place not in expired), *undone)
    named = {file.name for item in kept for file in item.files}
    return Garbage(
        tuple(sorted(item.name for item in files if item.name not in named and _is_old(item, now_ms - grace_ms))),
        tuple(sorted(place.name for place in expired)),
    )


def _replaced_at_ms(manifest: Manifest, manifests: Iterable[Manifest]) -> float:
    """Time at which the first manifest that covers it was created; never, when there is none."""
    return min((item.created_at_ms for item in manifests if item.place.replaces(manifest.place)), default=float("inf"))


def _is_old(stored: StoredObject, before_ms: int) -> bool:
    ours = is_data_file(stored.name) or _DRAFT.match(stored.name) is not None
    return ours and stored.modified_ms is not None and stored.modified_ms < before_ms


def small_runs(files: Iterable[DataFile], most_bytes: int) -> tuple[tuple[DataFile, ...], ...]:
    """Files in order, those parted off together that are one file of at most so many bytes when they are merged.

    A file of more than half of that stays by itself, so that no row is written again more than a few times.
    """
    runs: list[list[DataFile]] = []
    room = 0
    for file in files:
        if file.bytes > most_bytes // 2:
            runs.append([file])
            room = 0
        elif file.bytes <= room:
            runs[-1].append(file)
            room -= file.bytes
        else:
            runs.append([file])
            room = most_bytes - file.bytes
    return tuple(map(tuple, runs))


def rewinding(location: str, query_id: str, epoch: int) -> str:
    """The command that takes a table back to an epoch of a query; of a storage it says what only the stream knows."""
    said = (
        "from airflow_provider_ckpt.history_table.rewind import rewind; "
        "from airflow_provider_ckpt.storage.store import Store; "
        f"rewind(Store.open({json.dumps(location)}), {json.dumps(query_id)}, {epoch})"
    )
    options = "" if "://" not in location or location.startswith("file:") else f" ({_WITH_OPTIONS})"
    return f"python -c {shlex.quote(said)}{options}"


def merged_schema(schemas: Iterable[str], location: str) -> dict[str, Any]:
    """Every column that any epoch has, in the order in which they came, each of which may be null.

    Args:
        schemas: Spark's ``StructType`` as JSON text, the oldest first.
        location: For the error.

    Raises:
        StoreError: A column has two types.
    """
    fields: dict[str, dict[str, Any]] = {}
    for schema in schemas:
        for field in json.loads(schema)["fields"]:
            known = fields.setdefault(field["name"], {**field, "nullable": True})
            if known["type"] != field["type"]:
                raise StoreError(
                    f"the column {field['name']!r} has the type {json.dumps(known['type'])} in some epochs and "
                    f"{json.dumps(field['type'])} in later ones, so they cannot be read as one table.",
                    location=location,
                    hint="Write the stream with the new type to another path, with another checkpoint location.",
                )
    return {"type": "struct", "fields": list(fields.values())}
