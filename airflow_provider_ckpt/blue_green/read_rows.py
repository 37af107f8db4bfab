"""The rows that some batches have written to a file sink."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.blue_green.rows import Shape
from airflow_provider_ckpt.checkpoint.sink_marker import format_of
from airflow_provider_ckpt.codec.layout import SinkLogEntry
from airflow_provider_ckpt.codec.source_log import FileSinkLog, key_of
from airflow_provider_ckpt.errors import CheckpointNotFoundError, PlanError, StoreError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.limits import MOST_BYTES

#: How often the log is listed again when Spark has compacted it meanwhile.
MOST_TRIES = 3
#: How many rows of a Parquet file are in memory at once.
AT_ONCE = 1024


def read_rows(store: Store, first_batch: int, last_batch: int) -> Iterator[Mapping[str, Any]]:
    """The rows of the batches from ``first_batch`` to ``last_batch``, inclusive, of a file sink's output directory.

    Formats: Parquet, for which pyarrow is needed, and JSON that is not compressed.

    Raises:
        PlanError: The log of the sink does not tell these batches apart any more, or the format is another one.
        StoreError: Something cannot be read.
    """
    for _, rows in read_files(store, first_batch, last_batch):
        yield from rows


def read_files(store: Store, first_batch: int, last_batch: int) -> Iterator[tuple[Shape, Iterator[Mapping[str, Any]]]]:
    """The files that have these rows, each with its shape and its rows. Raises what :func:`read_rows` does."""
    for path in _paths(store, first_batch, last_batch):
        try:
            name = name_in(path, store.root)
        except ValueError as error:
            raise StoreError(f"{error}.", location=store.location) from None
        yield _opened(store, name)


def _paths(store: Store, first_batch: int, last_batch: int) -> tuple[str, ...]:
    for left in reversed(range(MOST_TRIES)):
        entries = read_file_sink(store).entries
        try:
            wanted = {*entries_up_to(entries, first_batch - 1), *entries_up_to(entries, last_batch)}
            paths = {entry: _named_by(store, entries[entry]) for entry in wanted}
            return files_between(paths, first_batch, last_batch)
        except CheckpointNotFoundError:
            if not left:
                raise
        except ValueError as error:
            raise PlanError(
                f"the log of this file sink does not tell batches {first_batch} to {last_batch} from earlier ones: "
                f"{error}.",
                location=store.location,
                hint="Compare newer batches: take a new backup, and fork that.",
            ) from None
    raise AssertionError("the last try returns or raises")


def _named_by(store: Store, name: str) -> tuple[str, ...]:
    entry = codec.decode(name, store.read(name))
    return tuple(status.path for status in entry.entries) if isinstance(entry, FileSinkLog) else ()


def _opened(store: Store, name: str) -> tuple[Shape, Iterator[Mapping[str, Any]]]:
    values = partition_values(name)
    kind = format_of(name)
    if kind not in ("parquet", "json") or (kind == "json" and not name.endswith(".json")):
        raise PlanError(
            f"the file {name} is neither Parquet nor plain JSON, so ckpt does not read its rows.",
            location=store.location,
            hint="Give the task a function that reads them (rows=).",
        )
    data = store.read_up_to(name, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise PlanError(
            f"the file {name} is larger than {MOST_BYTES >> 20} MiB, so ckpt does not compare its rows.",
            location=store.location,
            hint="Compare fewer batches, or give the task a function that reads the rows (rows=).",
        )
    with _reading(store, name):
        types, rows = _parquet(data) if kind == "parquet" else ((), _json(data))
    return Shape(kind, tuple(values), types), _rows(store, name, values, rows)


def _rows(
    store: Store, name: str, values: Mapping[str, str], rows: Iterator[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    with _reading(store, name):
        for row in rows:
            yield {**row, **values}


@contextmanager
def _reading(store: Store, name: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, OSError) as error:
        raise StoreError(f"the rows cannot be read: {error}.", location=store.location, name=name) from error


def _json(data: bytes) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(data.split(b"\n"), 1):  # a text may hold other ends of lines as they are
        if not line:
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"line {number} is no JSON object")
        yield row


def _parquet(data: bytes) -> tuple[tuple[tuple[str, str], ...], Iterator[Mapping[str, Any]]]:
    """The types of the columns, and the rows."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise PlanError("to read Parquet, pyarrow is needed.", hint="pip install pyarrow") from None
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data), coerce_int96_timestamp_unit="us")
        types = tuple((column.name, _type_text(column.type)) for column in file.schema_arrow)
    except pyarrow.ArrowException as error:
        raise ValueError(str(error)) from error

    def rows() -> Iterator[Mapping[str, Any]]:
        """Some at a time: a small file can hold very many, because equal values take no room."""
        try:
            for batch in file.iter_batches(batch_size=AT_ONCE):
                yield from batch.to_pylist()
        except pyarrow.ArrowException as error:
            raise ValueError(str(error)) from error

    return types, rows()


def _type_text(kind: Any) -> str:
    """A type with those inside it; whether null is allowed, and what writers call the inside of a list, is no part."""
    import pyarrow.types

    if pyarrow.types.is_struct(kind):
        fields = (kind.field(number) for number in range(kind.num_fields))
        return f"struct<{', '.join(f'{field.name}: {_type_text(field.type)}' for field in fields)}>"
    if pyarrow.types.is_map(kind):
        return f"map<{_type_text(kind.key_type)}, {_type_text(kind.item_type)}>"
    if pyarrow.types.is_list(kind):
        return f"list<{_type_text(kind.value_type)}>"
    return str(kind)


# --- the data files of some batches -----------------------------------------------------------------------------------
# An entry of one batch names its files; a compacted entry names those of all batches up to its own. The files of some
# batches are what the log had at the end of the last, without what it had before the first.


def entries_up_to(entries: Collection[SinkLogEntry], batch_id: int) -> tuple[SinkLogEntry, ...]:
    """The entries that name all files of the batches up to one, inclusive: a compacted one, and those after it.

    Raises ValueError when the log does not go back so far: Spark has compacted it and deleted the rest.
    """
    compacted = max((entry.batch_id for entry in entries if entry.compact and entry.batch_id <= batch_id), default=-1)
    single = {
        entry.batch_id: entry for entry in entries if not entry.compact and compacted < entry.batch_id <= batch_id
    }
    if len(single) < batch_id - compacted and any(entry.compact and entry.batch_id > batch_id for entry in entries):
        raise ValueError(f"entries before batch {batch_id + 1} were compacted and deleted")
    whole = [entry for entry in entries if entry.compact and entry.batch_id == compacted]
    return (*whole, *(single[number] for number in sorted(single)))


def files_between(paths: Mapping[SinkLogEntry, Collection[str]], first_batch: int, last_batch: int) -> tuple[str, ...]:
    """Paths of the files that the batches from ``first_batch`` to ``last_batch`` (inclusive) have added, in order.

    Args:
        paths: The paths that an entry names, by entry.
        first_batch: The first batch.
        last_batch: The last batch.

    Raises ValueError when the log does not tell these batches from others any more.
    """
    before = {path for entry in entries_up_to(paths, first_batch - 1) for path in paths[entry]}
    after = (path for entry in entries_up_to(paths, last_batch) for path in paths[entry])
    return tuple(dict.fromkeys(path for path in after if path not in before))


def name_in(path: str, root: str) -> str:
    """The name of a file below the output directory whose root is ``root``. Raises ValueError for one elsewhere."""
    key, below = key_of(path), f"{root.strip('/')}/".lstrip("/")
    if not key.startswith(below):
        raise ValueError(f"the log names {path}, which is not below the output directory")
    return key[len(below) :]


def partition_values(name: str) -> dict[str, str]:
    """Columns that are in the name of a file: ``day=2026-01-01/part-0.parquet``, as text."""
    folders = (folder.partition("=") for folder in name.split("/")[:-1])
    return {column: value for column, sign, value in folders if sign}
