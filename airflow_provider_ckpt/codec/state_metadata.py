"""Metadata of a stateful operator (Spark's ``OperatorStateMetadata``, versions 1 and 2).

Version 1 is one file, ``state/<op>/_metadata/metadata``; version 2 (transformWithState, join state format 3) one file a
run, ``state/<op>/_metadata/v2/<batch>``, and it names its schema files by absolute path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.verbatim import Verbatim, remember
from airflow_provider_ckpt.codec.versions import parse_version
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError

MAX_VERSION = 2


@dataclass(frozen=True, slots=True)
class StateStoreInfo:
    """One state store of an operator (``StateStoreMetadataV1``, ``StateStoreMetadataV2``).

    ``num_partitions`` is that of the first run: a repartition does not change it in version 1.
    """

    store_name: str
    num_cols_prefix_key: int
    num_partitions: int
    state_schema_file_paths: tuple[str, ...] | None = None

    def fields(self) -> dict[str, Any]:
        """The fields in Spark's order."""
        fields: dict[str, Any] = {
            "storeName": self.store_name,
            "numColsPrefixKey": self.num_cols_prefix_key,
            "numPartitions": self.num_partitions,
        }
        if self.state_schema_file_paths is not None:
            fields["stateSchemaFilePaths"] = self.state_schema_file_paths
        return fields


#: What Spark calls an aggregation that began in real-time mode, and any other; it takes one for the other.
REAL_TIME_AGGREGATION, AGGREGATION = "StatefulStreamlineAggregate", "stateStoreSave"


@dataclass(frozen=True, slots=True)
class OperatorStateMetadata(Verbatim):
    """``operator_properties`` is JSON text; version 2 alone has it."""

    version: int
    operator_id: int
    operator_name: str
    stores: tuple[StateStoreInfo, ...]
    operator_properties: str | None = None

    def _serialise(self) -> bytes:
        fields: dict[str, Any] = {
            "operatorInfo": {"operatorId": self.operator_id, "operatorName": self.operator_name},
            "stateStoreInfo": [store.fields() for store in self.stores],
        }
        if self.version >= 2:
            fields["operatorPropertiesJson"] = self.operator_properties or ""
        return jvm_text.encode_utf8(f"v{self.version}\n{jvm_text.write_json(fields)}")


#: The one version in the directory of that name.
_IN_V2 = 2


def decode(data: bytes, name: str) -> OperatorStateMetadata:
    """Read the file as Spark's ``OperatorStateMetadataReader`` does.

    Raises:
        IncompleteLogFileError: Empty.
        UnsupportedVersionError: A later version than 2.
        MalformedEntryError: Anything else.
    """
    if not data:
        raise IncompleteLogFileError("the operator state metadata is empty", name=name)
    text = jvm_text.decode_utf8(data, name)
    line, _, body = text.partition("\n")
    version = parse_version(jvm_text.trim(line), MAX_VERSION, "operator state metadata", name)
    if "/v2/" in name and version != _IN_V2:
        raise MalformedEntryError(
            f"the operator state metadata has version v{version}, and in this directory Spark reads v{_IN_V2} alone",
            name=name,
            spark_error="IllegalArgumentException",
        )
    what = "operator state metadata"
    fields = jvm_text.Fields(jvm_text.read_json_object(body, name, what), name, what)
    operator = jvm_text.Fields(fields.object("operatorInfo"), name, "operatorInfo")
    metadata = OperatorStateMetadata(
        version,
        operator.long("operatorId"),
        operator.text("operatorName"),
        tuple(_store_info(item, version, name) for item in fields.array("stateStoreInfo")),
        fields.text("operatorPropertiesJson") if version >= 2 else None,
    )
    return remember(metadata, data)


def _store_info(item: Any, version: int, name: str) -> StateStoreInfo:
    if not isinstance(item, dict):
        raise MalformedEntryError("stateStoreInfo has an element that is not an object", name=name)
    fields = jvm_text.Fields(item, name, "stateStoreInfo")
    paths = tuple(map(str, fields.array("stateSchemaFilePaths"))) if version >= 2 else None
    return StateStoreInfo(
        fields.text("storeName"), fields.long("numColsPrefixKey"), fields.long("numPartitions"), paths
    )
