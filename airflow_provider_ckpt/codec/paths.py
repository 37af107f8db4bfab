"""The absolute paths inside a checkpoint: of input files, of output files, of state schemas.

They are all that ties a checkpoint to a place. Changing them leaves every other byte of a file as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from airflow_provider_ckpt.codec import Encodable, decode, java_text
from airflow_provider_ckpt.codec.source_log import FileSinkLog, FileSourceLog
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata

_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def paths_of(entry: Encodable) -> tuple[str, ...]:
    """The absolute paths that a file holds, in order; URL-encoded in the logs of sources and sinks."""
    match entry:
        case FileSourceLog() | FileSinkLog():
            return tuple(item.path for item in entry.entries)
        case OperatorStateMetadata():
            return tuple(path for store in entry.stores for path in store.state_schema_file_paths or ())
    return ()


def with_paths(name: str, entry: Encodable, move: Callable[[str], str]) -> bytes:
    """The bytes of a file whose paths have gone through ``move``, the rest byte for byte.

    What cannot be changed in its own spelling (a path with escapes that Spark does not write) is written anew, as
    Spark would.
    """
    moved = {path: move(path) for path in paths_of(entry)}
    changed = {java_text.write_json(old): java_text.write_json(new) for old, new in moved.items() if old != new}
    if not changed:
        return entry.encode()
    text = java_text.decode_utf8(entry.encode(), name)
    data = java_text.encode_utf8(_JSON_STRING.sub(lambda token: changed.get(token[0], token[0]), text))
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
