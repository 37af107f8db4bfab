"""The schema of a Delta table at a version, and whether files that were written with it can be read with a later one.

A stream reads every version with the schema that the table has when the query starts. Delta decides what it refuses in
``DeltaColumnMapping.hasNoColumnMappingSchemaChanges`` and ``SchemaUtils.isReadCompatible``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: ``mapping``: a column was renamed or dropped, or the mapping of columns to files was changed. ``types``: a column has
#: another type, is gone, or takes no nulls any more. ``widening``: a type was widened, where the table allows it.
Change = Literal["mapping", "types", "widening"]
_MODE, _WIDENING = "delta.columnMapping.mode", "delta.enableTypeWidening"
_PHYSICAL = "delta.columnMapping.physicalName"
_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeltaSchema:
    """Metadata of a table that holds from one version on.

    Args:
        table_id: The id of the table.
        fields: The schema, as Spark's JSON has it.
        partitions: The names of the columns by which it is partitioned.
        properties: Its properties.
    """

    table_id: str
    fields: Mapping[str, Any]
    partitions: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def mapping(self) -> str:
        """How columns are mapped to files: ``none``, ``name`` or ``id``."""
        return self.properties.get(_MODE, "none")


def schema_of(metadata: Mapping[str, Any]) -> DeltaSchema:
    """The schema in a ``metaData`` action. Raises ValueError, KeyError or TypeError for what is none."""
    return DeltaSchema(
        str(metadata["id"]),
        parse_json(metadata["schemaString"]),
        tuple(metadata.get("partitionColumns", ())),
        metadata.get("configuration") or {},
    )


def change_between(written: DeltaSchema, read: DeltaSchema) -> Change | None:
    """Why a stream with one schema cannot read what was written with an earlier one; None when it can."""
    if _is_mapped_otherwise(written, read):
        return "mapping"
    if not _is_readable(written.fields, read.fields, types=False) or written.partitions != read.partitions:
        return "types"
    if _is_readable(written.fields, read.fields):
        return None
    return "widening" if read.properties.get(_WIDENING, "").lower() == "true" else "types"


def _is_mapped_otherwise(written: DeltaSchema, read: DeltaSchema) -> bool:
    if read.mapping == "none":
        return written.mapping != "none"
    before, after = (dict(_columns(schema.fields, schema.mapping != "none")) for schema in (written, read))
    if any(after.get(physical) != name for physical, name in before.items()):
        return True
    return _partitions(written) != _partitions(read)


def _partitions(schema: DeltaSchema) -> list[str]:
    names = {name[0]: physical[0] for physical, name in _columns(schema.fields, schema.mapping != "none")}
    return [names.get(name, name) for name in schema.partitions]


def _columns(data_type: Any, mapped: bool, physical: _Path = (), name: _Path = ()) -> Iterator[tuple[_Path, _Path]]:
    """Yield for each column its path in the data files, and its path in the names that a query uses."""
    if not isinstance(data_type, Mapping):
        return
    for key in ("elementType", "keyType", "valueType"):
        yield from _columns(data_type.get(key), mapped, (*physical, key), (*name, key))
    for column in data_type.get("fields", ()):
        own = (column.get("metadata") or {}).get(_PHYSICAL, column["name"]) if mapped else column["name"]
        at = (*physical, str(own)), (*name, str(column["name"]))
        yield at
        yield from _columns(column["type"], mapped, *at)


def _is_readable(written: Any, read: Any, *, types: bool = True) -> bool:
    """True if a type can be read as another one; without ``types``, simple types are taken to be equal."""
    if not isinstance(written, Mapping) or not isinstance(read, Mapping):
        return written == read or not (types or isinstance(written, Mapping) or isinstance(read, Mapping))
    if written.get("type") != read.get("type"):
        return False
    nulls = ("containsNull", "valueContainsNull")
    if any(written.get(key) and not read.get(key) for key in nulls):
        return False
    inner = ("elementType", "keyType", "valueType")
    if not all(_is_readable(written[key], read[key], types=types) for key in inner if key in written):
        return False
    columns = {str(column["name"]).lower(): column for column in read.get("fields", ())}
    return all(_column_is_readable(column, columns, types=types) for column in written.get("fields", ()))


def _column_is_readable(column: Mapping[str, Any], columns: Mapping[str, Any], *, types: bool) -> bool:
    there = columns.get(str(column["name"]).lower())
    if there is None or there["name"] != column["name"] or (column["nullable"] and not there["nullable"]):
        return False
    return _is_readable(column["type"], there["type"], types=types)
