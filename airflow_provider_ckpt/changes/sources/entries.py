"""Offset entries with the sources of the next query in place of those that they have.

Offsets are taken as they are, entry by entry, so that each source goes on from exactly where the source was that it
continues. Confs, times and the watermark stay. An entry becomes one of version 2 when sources get names: Spark then
needs the conf that says so and an object for what is known of each source, and both go when names are taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote

from airflow_provider_ckpt.changes.sources.source_change import NEW, SourceChange, is_position
from airflow_provider_ckpt.codec import jvm_text, layout, offset_log
from airflow_provider_ckpt.codec.offset_log import VOID_OFFSET, OffsetSeq
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.deploy import is_true
from airflow_provider_ckpt.restart.sources import SOURCE_EVOLUTION
from airflow_provider_ckpt.untrusted.fields import shown

_SOURCES = "sourceMetadataInfo"


def ids_of(entries: Iterable[OffsetSeq]) -> tuple[str, ...]:
    """The sources of some entries, each once, in the order of the first entry that has them."""
    return tuple(dict.fromkeys(source_id for entry in entries for source_id, _ in entry.offsets))


def require_known(entries: Sequence[tuple[int, OffsetSeq]], location: str) -> None:
    """Require that entries are such as this package knows to change. Raises PlanError.

    Args:
        entries: Batch ids and their entries, the newest first.
        location: Location of the checkpoint.
    """
    newest = entries[0][1]
    for batch_id, entry in entries:
        if problem := _unknown(entry, newest):
            raise PlanError(
                f"the offset entry of batch {batch_id} {problem}, so its sources are not changed.",
                location=location,
                name=layout.offset_entry(batch_id),
                batch_id=batch_id,
                hint="Nothing was done. Keep the sources of the query as they are, or start it with a new checkpoint "
                "location.",
            )


def _unknown(entry: OffsetSeq, newest: OffsetSeq) -> str:
    if entry.metadata is None:
        return "has no metadata (continuous processing writes it so)"
    if entry.version != newest.version:
        return f"has version {entry.version} and the newest one version {newest.version}"
    if entry.version == 1 and len(entry.offsets) != len(newest.offsets):
        return f"has {len(entry.offsets)} sources and the newest one {len(newest.offsets)}"
    if entry.metadata.sources:
        return f"says more of its sources ({_SOURCES}) than any Spark that ckpt knows"
    if entry.version >= 2 and _is_named(entry) and any(is_position(source_id) for source_id, _ in entry.offsets):
        return "has a source whose name cannot be told from a position"
    return ""


def _is_named(entry: OffsetSeq) -> bool:
    return entry.metadata is not None and is_true(entry.metadata.conf.get(SOURCE_EVOLUTION))


def require_complete(change: SourceChange, ids: Sequence[str], location: str) -> None:
    """Require that a change says what becomes of every source of the checkpoint, and of no other. Raises PlanError."""
    said = {*filter(None, (old for _, old in change.continued)), *change.dropped}
    has = f"the sources of the checkpoint are {', '.join(ids) or 'none'}"
    problem, hint = "", f"Nothing was done. To see them: ckpt sources {quote(location)}"
    if NEW in ids:
        problem = f"a source is called {NEW!r}, which here means one that begins at its start"
    elif unknown := sorted(said - {*ids}):
        problem = f"the checkpoint has no source {shown(unknown[0])}; {has}"
        if not all(map(is_position, ids)):
            hint = (
                "Nothing was done. A source with a name is in no entry until it has read something: say that it begins "
                f"at its start (--as NAME={NEW})."
            )
    elif missing := [source_id for source_id in ids if source_id not in said]:
        problem = f"nothing is said of source {missing[0]}; {has}"
        hint = f"Nothing was done. Say which source continues it (--as NEW={missing[0]}), or that none does (--drop "
        hint += f"{missing[0]})."
    if problem:
        raise PlanError(f"{problem}.", location=location, hint=hint)


def version_of(change: SourceChange, newest: OffsetSeq) -> int:
    """The version that the entries will have: 2 with names, and where sources without names have it already."""
    keeps_two = newest.version >= 2 and not _is_named(newest) and all(is_position(known) for known, _ in newest.offsets)
    return 2 if change.named or keeps_two else 1


def changed_entry(entry: OffsetSeq, change: SourceChange, version: int, name: str) -> OffsetSeq:
    """An entry with the sources of the next query.

    Args:
        entry: The present entry, which :func:`require_known` has accepted.
        change: The source that each new source continues.
        version: Version that the entry will have.
        name: Its name, for errors.
    """
    offsets = dict(entry.offsets)
    lines = [f"v{version}", _metadata_line(entry, change, version, name)]
    for new, old in change.continued:
        offset = None if old is None else offsets.get(old)
        text = VOID_OFFSET if offset is None else offset.json
        lines.append(f"{new}:{text}" if version >= 2 else text)
    return offset_log.decode(jvm_text.encode_utf8("\n".join(lines)), name)


def _metadata_line(entry: OffsetSeq, change: SourceChange, version: int, name: str) -> str:
    assert entry.metadata is not None
    line = entry.metadata.json(entry.version)
    if version == entry.version and change.named == _is_named(entry):
        return line
    fields = jvm_text.read_json_object(line, name, "metadata line")
    conf = dict(fields.get("conf") or {})
    if change.named:
        conf[SOURCE_EVOLUTION] = "true"
    elif SOURCE_EVOLUTION in conf:
        conf[SOURCE_EVOLUTION] = "false"
    fields["conf"] = conf
    if version >= 2:
        fields.setdefault(_SOURCES, {})
    else:
        fields.pop(_SOURCES, None)
    return jvm_text.write_json(fields)
