"""The command that lets the sources of a deploy continue those of a checkpoint, as far as the deploy says which.

Where it does not, the command has OLD or NAME in the place, and the hint says what that is. Nothing is guessed: a
source is filled in only where it keeps its name, where the topics that the deploy declares are those of one source
alone, or where there is one source before and after.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.remedies import NEW_LOCATION, Remedy, listed
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: In the place of what only a person knows.
OLD, NAME = "OLD", "NAME"


def continue_sources(
    view: CheckpointView, entry: OffsetSeq, sources: Sequence[Source] | None, first: str, *, named: bool = False
) -> Remedy:
    """Remedy that lets the query go on with other sources.

    Args:
        view: The checkpoint.
        entry: Its newest offset entry.
        sources: Those of the deploy; None where it does not say.
        first: An alternative, as a sentence.
        named: True if the deploy gives its sources names.
    """
    olds = [source_id for source_id, _ in entry.offsets]
    pairs = _pairs(entry, sources, olds, named=named)
    known = {old for _, old in pairs}
    dropped = [] if OLD in known or NAME in dict(pairs) else [old for old in olds if old not in known]
    words = [word for new, old in pairs for word in ("--as", f"{new}={old}")]
    words += [word for old in dropped for word in ("--drop", old)]
    command = " ".join(["ckpt sources", shlex.quote(view.location), *map(shlex.quote, words)])
    blanks = []
    if NAME in dict(pairs):
        blanks.append("each NAME is the name of the source that continues the one after it")
    if OLD in known:
        blanks.append(
            f"each OLD is the source that it continues ({listed(olds)}), or new for one that begins at its start"
        )
    blanks += ["a source that none continues is given with --drop"] if blanks else []
    where = f", where {'; '.join(blanks)}" if blanks else ""
    hint = f"{first} Or say what each source of the next query continues{where}. Or {NEW_LOCATION}."
    return Remedy(hint=hint, commands=(command,))


def _pairs(
    entry: OffsetSeq, sources: Sequence[Source] | None, olds: Sequence[str], *, named: bool
) -> list[tuple[str, str]]:
    """Each source of the deploy, and the one that it continues."""
    if sources is None or (named and any(source.id is None for source in sources)):
        return [(NAME if named else old, old) for old in olds]
    news = [str(position) if source.id is None else source.id for position, source in enumerate(sources)]
    if len(news) == len(olds) == 1:
        return [(news[0], olds[0])]
    by_topics = _by_topics(dict(entry.offsets), dict(zip(news, sources, strict=True)))
    kept = {new for new in news if new in olds and entry.version >= 2}
    return [(new, new if new in kept else by_topics.get(new, OLD)) for new in news]


def _by_topics(offsets: Mapping[str, SourceOffset | None], declared: Mapping[str, Source]) -> dict[str, str]:
    """The sources whose topics are those of one source of the checkpoint, and of no other source of the deploy."""
    old = {source_id: _topics_in(offset) for source_id, offset in offsets.items()}
    new = {name: _topics_of(source) for name, source in declared.items()}
    found = {}
    for name, topics in new.items():
        same = [source_id for source_id, others in old.items() if topics and others == topics]
        if len(same) == 1 and list(new.values()).count(topics) == 1:
            found[name] = same[0]
    return found


def _topics_of(source: Source) -> frozenset[str]:
    topics = source.place.partition("/")[2] if source.type == "kafka" else ""
    return frozenset(filter(None, topics.split(",")))


def _topics_in(offset: SourceOffset | None) -> frozenset[str]:
    """The topics of an offset that has the form of Kafka's."""
    try:
        value = None if offset is None else parse_json(offset.json)
    except ValueError:
        return frozenset()
    if not isinstance(value, dict) or not value or not all(isinstance(item, dict) for item in value.values()):
        return frozenset()
    return frozenset(value)
