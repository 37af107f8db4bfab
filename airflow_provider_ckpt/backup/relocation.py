"""A checkpoint at another place: which paths inside it change, and what its sinks make of the query.

A query that keeps its id has *moved*; one that gets a new id is a *fork*. Sinks tell queries apart by that id, the file
sink by its directory alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.embedded_paths import paths_of, paths_of_offsets, with_paths
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import MARKING, NOT_DECLARED
from airflow_provider_ckpt.sinks.change_effects import rollback_effect
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.schemes import storage_scheme
from airflow_provider_ckpt.untrusted.spans import batches_text

_RULE = re.compile(r"(.+?)=((?:[A-Za-z][\w+.-]*:)?/.*)", re.DOTALL)
_URI = re.compile(r"([A-Za-z][\w+.-]*):(.*)", re.DOTALL)
_SCHEMA_PATH = re.compile(rf"(.*)/({layout.STATE}/\d+/_stateSchema/.+)", re.DOTALL)
#: What Hadoop, and so Spark, calls what fsspec calls otherwise.
_HADOOP = {"s3": "s3a", "gcs": "gs"}


#: Of a restore without a declared sink.
NOT_JUDGED = SinkEffect(
    NOT_DECLARED,
    "unknown",
    "the query writes the batches after the backup again: a sink that remembers batches skips them, any other "
    "sink gets them twice",
    "Declare the sink, for example --sink file:URI.",
)

# --- sinks ---------------------------------------------------------------------------------------------------------


def effect_of_move(marker: SinkMarker, batch_id: int) -> SinkEffect:
    """Effect on a sink of a query that goes on after ``batch_id`` with the id that the sink knows.

    Every batch that the original ran after the backup runs again: to the sink that is a rollback.
    """
    if marker.kind not in MARKING:
        return _unmarked(marker, batch_id)
    effect = rollback_effect(marker, batch_id, None)
    if marker.kind == "file" and effect.remedy and marker.skipped_after(batch_id):
        remedy = (
            f"Accept the effect, restore, then trim the sink log: ckpt rollback --to-batch {batch_id}, with --sink "
            "and --trim-sink-log."
        )
        return replace(effect, remedy=remedy)
    return effect


def effect_of_fork(marker: SinkMarker, batch_id: int, *, own_writer: bool = False, begun: bool = False) -> SinkEffect:
    """Effect on a sink of a query that goes on after ``batch_id`` with an id that the sink does not know.

    Args:
        marker: The sink's memory of the original.
        batch_id: The batch of the backup.
        own_writer: The deploy sets the id that the sink knows (``txnAppId``), so a new query id changes nothing.
        begun: The restore begins the log of the file sink, in a new and empty directory.
    """
    match marker.kind:
        case "file":
            return _fork_to_files(marker, batch_id, begun=begun)
        case "hudi":
            own_writer = True
    if marker.kind not in MARKING:
        return _unmarked(marker, batch_id)
    if own_writer:
        effect = effect_of_move(marker, batch_id)
        both = f"The sink knows a writer only by the id {marker.writer}: give the fork another id."
        return replace(effect, remedy=f"{effect.remedy} {both}".strip())
    held = marker.held_after(batch_id)
    remedy = f"Give the fork its own table, or restore the table to batch {batch_id} before the fork starts."
    if held:
        why = (
            f"it has {batches_text(held[0], held[-1])} of the original query, and accepts them a second time from the "
            "new query id"
        )
        return SinkEffect(marker.name, "duplicated", why, remedy)
    if marker.last_batch is None:
        why = "it has no record of a batch of the original query, and accepts every batch from the new query id"
        return SinkEffect(marker.name, "unknown", why, remedy)
    why = f"it has no batch after batch {batch_id}; if the original query continues, both queries write the same rows"
    return SinkEffect(marker.name, "exact", why)


def _fork_to_files(marker: SinkMarker, batch_id: int, *, begun: bool) -> SinkEffect:
    """A file sink knows batches, not queries."""
    if begun:
        why = (
            "its directory is empty, and the restore begins its log: the entries up to batch "
            f"{batch_id} that Spark reads there name no file, because the original query wrote these batches elsewhere"
        )
        return SinkEffect(marker.name, "exact", why)
    if marker.last_batch is None or marker.last_batch < batch_id:
        held = "no batch" if marker.last_batch is None else f"batches up to {marker.last_batch}"
        why = (
            f"its log has {held}, and the fork begins with batch {batch_id + 1}: once it has written one, readers of "
            "the directory stop at the entries that are missing in between, and the batch that compacts the log stops "
            "the query"
        )
        remedy = "Give the fork a new, empty directory: the restore then begins its log."
        return SinkEffect(marker.name, "stops", why, remedy)
    skipped = marker.skipped_after(batch_id)
    if skipped:
        why = (
            "its log knows batch numbers but no query ids, so the rows that the fork writes in "
            f"{batches_text(*skipped)} are dropped"
        )
        remedy = "Give the fork a new, empty directory of its own: the restore then begins its log."
        return SinkEffect(marker.name, "skipped", why, remedy)
    why = (
        f"its log has no batch after batch {batch_id}; if the original query also writes here, each query loses the "
        "batches that the other one has written"
    )
    remedy = "If the original query continues to write here, give the fork a new, empty directory of its own."
    return SinkEffect(marker.name, "exact", why, remedy)


def _unmarked(marker: SinkMarker, batch_id: int) -> SinkEffect:
    effect = rollback_effect(marker, batch_id, batch_id + 1)
    if effect.effect == "exact":
        return effect
    why = f"it remembers no batches, so the batches of the original query after batch {batch_id} are written again"
    return replace(effect, reason=why)


def same_id_warning(query_id: str, location: str) -> str:
    """Warning about a query that was moved and kept its id."""
    return (
        f"The restored query has the same id, {query_id}, as the original at {location}. Never run both: sinks take "
        "them for one query and drop the batches of the slower one. To run two queries, restore with --new-query-id "
        "(new_query_id=True in a DAG)."
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

    Raises:
        PlanError: A rule is about files of Auto Loader, which lists them in a database that is not changed.
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
    warnings += _offsets_with_paths(entries, location, rules)
    unused = [f"--rewrite-paths {rule.old}={rule.new} matches no path." for rule in rules if rule not in mover.used]
    return Relocation(rewritten, (*warnings, *unused))


def sink_log_warning(location: str, paths: Collection[str]) -> str | None:
    """Warning about the log of a file sink that names files outside its directory: the output was moved."""
    outside = [path for path in paths if _moved(path, _encode(location), location) is None]
    if not outside:
        return None
    return (
        f"The log of the sink {location} lists {len(outside)} of {len(paths)} files outside of that directory, such "
        f"as {outside[0]}. If the directory was moved, readers of the table go on reading the files at the old "
        "paths. The restore does not change this log."
    )


def unknown_warnings(backup: Manifest) -> tuple[str, ...]:
    """Warnings about files in a backup that are not known."""
    if not backup.unknown:
        return ()
    many = f"{len(backup.unknown)} files that ckpt does not know are restored unchanged: "
    paths = f"{many}{listed_shortly(backup.unknown)}. Paths and ids inside them are not rewritten."
    if not backup.unknown_changed:
        return (paths,)
    return (
        paths,
        (
            f"These of them changed while they were copied, so they may not match batch {backup.batch_id}: "
            f"{listed_shortly(backup.unknown_changed)}."
        ),
    )


def _offsets_with_paths(entries: Mapping[str, Encodable], location: str, rules: tuple[PathRule, ...]) -> list[str]:
    """Warnings about paths in offsets, all of which stay as they are."""
    warnings = []
    for name, entry in sorted(entries.items()):
        for source_id, path in paths_of_offsets(entry):
            if any(_moved(path, rule.old, "/") or _moved(path, _encode(rule.old), "/") for rule in rules):
                raise PlanError(
                    f"the paths of source {source_id} cannot be rewritten: its offset contains {path}, so it is "
                    "an Auto Loader source, which keeps its list of files in the database "
                    f"sources/{source_id}/rocksdb.",
                    location=location,
                    name=name,
                    hint="Nothing was done. Restore without this --rewrite-paths, and leave the input files where they "
                    "are.",
                )
            warnings.append(
                f"{name}: the offset of source {source_id} contains the path {path}, and Auto Loader keeps its own "
                "list of input files. Neither is rewritten, so these files must stay where they are."
            )
    return warnings


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
            return _moved(path, schema[1], spark_uri(self._location)) or path
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
    """Scheme and rest; a local path begins with one slash, whatever is before it."""
    match = _URI.fullmatch(uri)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", uri)
    return scheme, "/" + rest.lstrip("/") if _storage(scheme) == "file" else rest


def _storage(scheme: str) -> str:
    return storage_scheme(scheme) or "file"


def spark_uri(location: str) -> str:
    """A location as it is given to Spark."""
    scheme, rest = _split(location)
    return f"{_HADOOP.get(scheme, scheme or 'file')}:{rest}"


def _encode(path: str) -> str:
    """Spell a path as the logs of sources and sinks do; a path that is encoded already stays as it is."""
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
        hint = f"If the {what} files are moved too, give --rewrite-paths FROM=TO."
    else:
        schema = _SCHEMA_PATH.fullmatch(kept)
        inside = schema is not None and schema[2] in names
        hint = "They point to this location." if inside else "They point outside the backup: keep those files."
    return f"{group}: {count} absolute paths are not changed, such as {kept}. {hint}"
