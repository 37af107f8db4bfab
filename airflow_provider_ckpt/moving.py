"""A checkpoint at another place: which paths inside it change, and what its sinks make of the query.

A query that keeps its id has *moved*; one that gets a new id is a *fork*. Sinks tell queries apart by that id, the file
sink by its directory alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.paths import paths_of, with_paths
from airflow_provider_ckpt.plans import SinkVerdict

_RULE = re.compile(r"(.+?)=((?:[A-Za-z][\w+.-]*:)?/.*)", re.DOTALL)
_URI = re.compile(r"([A-Za-z][\w+.-]*):(.*)", re.DOTALL)
_SCHEMA_PATH = re.compile(rf"(.*)/({layout.STATE}/\d+/_stateSchema/.+)", re.DOTALL)
#: Schemes that name the same storage.
_ALIASES = {"": "file", "s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}


# --- sinks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SinkState:
    """A sink that was declared, and how far it is known to be.

    Args:
        kind: ``file``, ``delta``, ``iceberg``, ``kafka``, ``foreachBatch``, …
        location: URI, or empty.
        newest_batch: The newest batch that it holds of the query; None when that was not looked at.
    """

    kind: str
    location: str = ""
    newest_batch: int | None = None

    @property
    def name(self) -> str:
        """As it is declared."""
        return f"{self.kind}:{self.location}" if self.location else self.kind


def verdict_of_move(sink: SinkState, batch_id: int) -> SinkVerdict:
    """What a sink makes of the query that goes on after ``batch_id`` with the id that it knows."""
    later = f"batch {batch_id + 1}" if sink.newest_batch == batch_id + 1 else f"{batch_id + 1} to {sink.newest_batch}"
    if sink.kind.lower() in ("file", "delta", "iceberg"):
        if sink.newest_batch is None:
            reason = f"it skips batches that it holds; exact if the original wrote nothing after batch {batch_id}"
            return SinkVerdict(sink.name, "unknown", reason, "Look at what the original wrote after the backup.")
        if sink.newest_batch <= batch_id:
            return SinkVerdict(sink.name, "exact", f"it holds nothing after batch {batch_id}")
        reason = f"it holds {later} of the original and drops them when they run again, whatever they hold by then"
        return SinkVerdict(sink.name, "skipped", reason, f"Take the sink back to batch {batch_id} before the start.")
    if sink.kind.lower() == "kafka":
        reason = f"it knows no batches: what the original wrote after batch {batch_id} is written again"
        return SinkVerdict(sink.name, "duplicated", reason, "Nothing to do if the original wrote nothing after it.")
    return _unknown(sink)


def verdict_of_fork(sink: SinkState, batch_id: int) -> SinkVerdict:
    """What a sink makes of the query that goes on after ``batch_id`` with an id that it does not know."""
    kind = sink.kind.lower()
    if kind == "file":
        held = "what its log holds" if sink.newest_batch is None else f"batch {sink.newest_batch}"
        reason = f"its log counts batches and knows no ids: the fork's batches are dropped up to {held}"
        remedy = (
            f"Give the fork a directory of its own. Its log must have an entry for every batch up to {batch_id} since "
            "the last compaction; one that holds the line v1 alone says that the batch wrote nothing."
        )
        if sink.newest_batch is not None and sink.newest_batch <= batch_id:
            reason = "no batch is dropped now, but two queries that write to one directory drop each other's batches"
        return SinkVerdict(sink.name, "skipped", reason, remedy)
    if kind in ("delta", "iceberg"):
        what = "txnAppId" if kind == "delta" else "query id"
        reason = f"the {what} is new to the table: what the original wrote after batch {batch_id} is written again"
        remedy = f"Give the fork a table of its own, or take the table back to batch {batch_id} before the start."
        return SinkVerdict(sink.name, "duplicated", reason, remedy)
    if kind == "kafka":
        reason = f"it knows no batches: what the original wrote after batch {batch_id} is written again"
        return SinkVerdict(sink.name, "duplicated", reason, "Give the fork a topic of its own.")
    return _unknown(sink)


def _unknown(sink: SinkState) -> SinkVerdict:
    reason = "what it does with a batch that runs again, and with a query id, is its own affair"
    return SinkVerdict(sink.name, "unknown", reason, "Make it idempotent by batch id, or take it back by hand.")


def same_id_warning(query_id: str, location: str) -> str:
    """What to know of a query that was moved."""
    return (
        f"The query keeps its id {query_id}, which the original at {location} has as well. Never run both: sinks take "
        "them for one query and drop the batches of the slower one. For two queries, restore with a new query id."
    )


# --- paths ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PathRule:
    """Paths at or below ``old`` are to be at or below ``new``; plain paths or URIs."""

    old: str
    new: str


def parse_path_rule(text: str) -> PathRule:
    """``FROM=TO``. Raises ValueError."""
    match = _RULE.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not FROM=TO with two absolute paths or URIs")
    return PathRule(match[1].rstrip("/") or "/", match[2].rstrip("/") or "/")


@dataclass(frozen=True, slots=True)
class Relocation:
    """Files whose paths change, by name, with their new content; and what to say about paths."""

    rewritten: Mapping[str, bytes] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def relocate(
    entries: Mapping[str, Encodable], names: Collection[str], location: str, rules: Iterable[PathRule]
) -> Relocation:
    """Decide about the absolute paths in a checkpoint that is written to a new location.

    Schema files are part of the checkpoint, so paths to them follow it, unless a rule says otherwise; Spark would go on
    reading the old ones. Paths of input and output files stay as they are unless a rule moves them.

    Args:
        entries: The files that can hold paths, by name.
        names: Every object of the checkpoint.
        location: Where it will be.
        rules: First match wins.
    """
    rules = tuple(rules)
    mover = _Mover(rules, location, names)
    rewritten, warnings = {}, []
    for group, members in _groups(entries).items():
        moved: dict[str, str] = {}
        for name in members:
            paths = {path: mover.move(name, path) for path in paths_of(entries[name])}
            moved.update(paths)
            if any(old != new for old, new in paths.items()):
                rewritten[name] = with_paths(name, entries[name], paths.__getitem__)
        if moved:
            warnings.append(_warning(group, moved, names))
    unused = [f"{rule.old}={rule.new} matches no path." for rule in rules if rule not in mover.used]
    return Relocation(rewritten, (*warnings, *unused))


class _Mover:
    """Moves single paths, and notes which rules were of use."""

    def __init__(self, rules: tuple[PathRule, ...], location: str, names: Collection[str]) -> None:
        self._rules, self._location, self._names = rules, location, names
        self.used: set[PathRule] = set()

    def move(self, name: str, path: str) -> str:
        """Where a path inside one file leads after the move."""
        encoded = not isinstance(layout.parse(name), layout.OperatorMetadataFile)
        for rule in self._rules:
            moved = _moved(path, _encode(rule.old), _encode(rule.new)) if encoded else _moved(path, rule.old, rule.new)
            if moved is not None:
                self.used.add(rule)
                return moved
        schema = None if encoded else _SCHEMA_PATH.fullmatch(path)
        if schema and schema[2] in self._names:
            return _moved(path, schema[1], self._location) or path
        return path


def _moved(path: str, old: str, new: str) -> str | None:
    """A path below ``old`` put below ``new``, in its own spelling of the scheme; None when it is not below."""
    scheme, rest = _split(path)
    old_scheme, old_rest = _split(old)
    below = old_rest.rstrip("/")
    if _storage(scheme) != _storage(old_scheme) or not (rest == old_rest or rest.startswith(f"{below}/")):
        return None
    new_scheme, new_rest = _split(new)
    prefix = path[: len(path) - len(rest)] if _storage(new_scheme) == _storage(scheme) else f"{new_scheme or 'file'}:"
    return f"{prefix}{new_rest.rstrip('/')}{rest[len(below) :]}"


def _split(uri: str) -> tuple[str, str]:
    """Scheme and rest; a local path begins with one slash, whatever stands before it."""
    match = _URI.fullmatch(uri)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", uri)
    return scheme, "/" + rest.lstrip("/") if _storage(scheme) == "file" else rest


def _storage(scheme: str) -> str:
    return _ALIASES.get(scheme, scheme)


def _encode(path: str) -> str:
    """As the logs of sources and sinks spell it; what is encoded already stays."""
    return quote(path, safe="/:@!$&'()*+,;=~-._%")


def _groups(entries: Mapping[str, Encodable]) -> dict[str, list[str]]:
    """Names by the log that they are part of: ``sources/0``, ``state/0``, ``_spark_metadata``."""
    groups: dict[str, list[str]] = {}
    for name in sorted(entries):
        first, _, rest = name.partition("/")
        group = first if first == layout.SINK_LOG else f"{first}/{rest.partition('/')[0]}"
        groups.setdefault(group, []).append(name)
    return groups


def _warning(group: str, moved: Mapping[str, str], names: Collection[str]) -> str:
    changed = {old: new for old, new in moved.items() if old != new}
    count = f"{len(changed)} of {len(moved)}" if changed else str(len(moved))
    if changed:
        old, new = next(iter(changed.items()))
        return f"{group}: {count} absolute paths are rewritten, such as {old} to {new}."
    kept = next(iter(moved))
    if not group.startswith(layout.STATE):
        what = "output" if group == layout.SINK_LOG else "input"
        hint = f"If the {what} files move as well, rewrite them: FROM=TO."
    else:
        schema = _SCHEMA_PATH.fullmatch(kept)
        inside = schema is not None and schema[2] in names
        hint = "They lead to this very place." if inside else "They lead outside the backup: keep those files."
    return f"{group}: {count} absolute paths stay as they are, such as {kept}. {hint}"
