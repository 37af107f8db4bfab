"""Files of stateful operators that a restart reads besides their state: schemas and operator metadata."""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout, state_metadata, state_schema
from airflow_provider_ckpt.errors import CheckpointFormatError, UnreadableError

#: What is said of a schema that another store of a join has.
OTHER_STORE = "the schema of another state store"
#: What is said of a file of the state that could not be opened, of which nothing is known.
NOT_OPENED = "not one that can be opened"
#: What is said of operator metadata by which Spark searches for a schema where it never writes one.
OTHER_PLACE = "it points to state schemas at another location"
#: What a store of a join has as its value, and as the last column of its key.
_COUNT, _INDEX = (("value", "long"),), (("index", "long"),)
#: The stores of a join that has no column families: all four in every partition. Other operators have the default one.
_STORES_OF_JOIN = frozenset(
    f"{side}-{store}" for side in ("left", "right") for store in ("keyToNumValues", "keyWithIndexToValue")
)


@dataclass(slots=True)
class OperatorFiles:
    """The files to copy, and in words what Spark would stop at."""

    names: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def operator_files(view: CheckpointView, batch_id: int) -> Generator[str, bytes, OperatorFiles]:
    """Schemas and operator metadata: small, written once, and those of later batches are not wanted.

    Spark reads the schemas beside the state, and what operator metadata of version 2 names; never that of version 1.
    """
    whole = OperatorFiles()
    schemas, newest = [], dict[int, tuple[int, str]]()
    for name in view.names_below(layout.STATE):
        place = layout.parse(name) if "/_" in name else None  # most are state files
        if not isinstance(place, layout.OperatorMetadataFile | layout.StateSchemaFile):
            continue
        if place.batch_id is not None and place.batch_id > batch_id:
            continue
        whole.names.append(name)
        if isinstance(place, layout.OperatorMetadataFile) and place.batch_id is not None:
            newest[place.operator_id] = max(newest.get(place.operator_id, (-1, "")), (place.batch_id, name))
        elif isinstance(place, layout.StateSchemaFile) and place.batch_id is None:
            schemas.append(name)
        elif isinstance(place, layout.StateSchemaFile):
            newest.setdefault(place.operator_id, (-1, ""))
    for operator_id, (_, name) in sorted(newest.items()):
        schemas += yield from _named_schemas(view, operator_id, name, whole)
    for name in schemas:
        whole.missing += yield from _problem_of_schema(name)
    return whole


def operator_metadata(
    view: CheckpointView, operator_id: int, batch_id: int
) -> Generator[str, bytes, state_metadata.OperatorStateMetadata | None]:
    """Metadata of an operator; None where Spark did not write it (before 4.0), or it cannot be read."""
    written = {
        -1 if place.batch_id is None else place.batch_id: name
        for name in view.names_below(f"{layout.STATE}/{operator_id}/_metadata")
        if isinstance(place := layout.parse(name), layout.OperatorMetadataFile)
        and (place.batch_id is None or place.batch_id <= batch_id)
    }
    if not written:
        return None
    name = written[max(written)]
    try:
        return state_metadata.decode((yield name), name)
    except CheckpointFormatError:
        return None


def store_names(seen: Collection[str], metadata: state_metadata.OperatorStateMetadata | None) -> set[str]:
    """The stores of an operator: those ``seen``, those that it names, of a join all four; the default one is ``""``."""
    said = [info.store_name for info in metadata.stores] if metadata is not None else []
    names = {*seen, *({"" if name == "default" else name for name in said} & {"", *_STORES_OF_JOIN})}
    return (names | _STORES_OF_JOIN if names & _STORES_OF_JOIN else names) or {""}


def _problem_of_schema(name: str) -> Generator[str, bytes, list[str]]:
    try:
        schema = state_schema.decode((yield name), name)
    except UnreadableError as error:
        return [f"{name}: {NOT_OPENED} ({error.message})"]
    except CheckpointFormatError as error:
        return [f"{name}: not a state schema ({error.message})"]
    return [] if _is_of_its_store(schema, name) else [f"{name}: {OTHER_STORE}"]


def _is_of_its_store(schema: state_schema.StateSchema, name: str) -> bool:
    """True if a schema can belong to the store in whose directory it is, judged by Spark's fixed columns."""
    store = name.removesuffix("/_metadata/schema").rpartition("/")[2]
    family = schema.families[0] if schema.families else None
    if family is None or schema.version > 2:
        return True
    if store.endswith("-keyToNumValues"):
        return family.value == _COUNT
    return not store.endswith("-keyWithIndexToValue") or family.key[-1:] == _INDEX


def _named_schemas(
    view: CheckpointView, operator_id: int, name: str, whole: OperatorFiles
) -> Generator[str, bytes, list[str]]:
    """The schema files that operator metadata of version 2 names by absolute path, as far as the names are here."""
    if not name:
        whole.missing.append(f"{layout.STATE}/{operator_id}/_metadata/v2")
        return []
    try:
        metadata = state_metadata.decode((yield name), name)
    except UnreadableError as error:
        whole.missing.append(f"{name}: {NOT_OPENED} ({error.message})")
        return []
    except CheckpointFormatError as error:
        whole.missing.append(f"{name}: not operator metadata ({error.message})")
        return []
    named = []
    for store in metadata.stores:
        for path in store.state_schema_file_paths or ():
            schema = f"{layout.STATE}/{operator_id}/_stateSchema/{store.store_name}/{path.rpartition('/')[2]}"
            if not path.endswith(f"/{schema}"):
                whole.missing.append(f"{name}: {OTHER_PLACE}")
            elif schema in view.objects:
                named.append(schema)
            elif metadata.operator_name.startswith("transformWithState"):  # a join starts without
                whole.missing.append(schema)
    return named
