"""The absolute paths inside a checkpoint: of input files, of output files, of state schemas.

They are all that ties a checkpoint to a place. Changing them leaves every other byte of a file as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from airflow_provider_ckpt.codec import Encodable, decode, jvm_text
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import FileSinkLog, FileSourceLog
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: What Auto Loader keeps in its offsets: the path of the newest file that it has seen.
_LAST_INPUT_PATH = "lastInputPath"
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def paths_of(entry: Encodable) -> tuple[str, ...]:
    """The absolute paths that a file holds, in order; URL-encoded in the logs of sources and sinks."""
    match entry:
        case FileSourceLog() | FileSinkLog():
            return tuple(item.path for item in entry.entries)
        case OperatorStateMetadata():
            return tuple(path for store in entry.stores for path in store.state_schema_file_paths or ())
    return ()


def paths_of_offsets(entry: Encodable) -> tuple[tuple[str, str], ...]:
    """Source id and path for each absolute path among the offsets of an entry: ``lastInputPath`` of Auto Loader."""
    offsets = entry.offsets if isinstance(entry, OffsetSeq) else ()
    paths = ((source_id, _last_input_path(offset.json)) for source_id, offset in offsets if offset is not None)
    return tuple((source_id, path) for source_id, path in paths if path)


def _last_input_path(text: str) -> str | None:
    if _LAST_INPUT_PATH not in text:
        return None
    try:
        value = parse_json(text)
    except ValueError:
        return None
    path = value.get(_LAST_INPUT_PATH) if isinstance(value, dict) else None
    return path if isinstance(path, str) else None


def with_paths(name: str, entry: Encodable, move: Callable[[str], str]) -> bytes:
    """The bytes of a file whose paths have gone through ``move``, the rest byte for byte.

    What cannot be changed in its own spelling (a path with escapes that Spark does not write) is written anew, as
    Spark would.
    """
    moved = {path: move(path) for path in paths_of(entry)}
    changed = {jvm_text.write_json(old): jvm_text.write_json(new) for old, new in moved.items() if old != new}
    if not changed:
        return entry.encode()
    text = jvm_text.decode_utf8(entry.encode(), name)
    data = jvm_text.encode_utf8(_JSON_STRING.sub(lambda token: changed.get(token[0], token[0]), text))
    wanted = _replaced(entry, moved)
    return data if decode(name, data) == wanted else wanted.encode()


def _replaced(entry: Encodable, moved: Mapping[str, str]) -> Encodable:
    match entry:
        case FileSourceLog():
            return replace(entry, entries=tuple(replace(item, path=moved[item.path]) for item in entry.entries))
        case FileSinkLog():
            return replace(entry, entries=tuple(replace(item, path=moved[item.path]) for item in entry.entries))
        case OperatorStateMetadata():
            paths = [store.state_schema_file_paths for store in entry.stores]
            stores = [
                store if old is None else replace(store, state_schema_file_paths=tuple(moved[path] for path in old))
                for store, old in zip(entry.stores, paths, strict=True)
            ]
            return replace(entry, stores=tuple(stores))
    return entry
