"""Rules about who may read the files: whoever runs a check is seldom who runs the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_warning
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.errors import UnreadableError
from airflow_provider_ckpt.storage.access import Access
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Who may read all on a disk, whatever its modes are.
_ROOT = 0
_READ_AND_ENTER = 0o5


@rule("CKPT152")
def closed_to_the_query(view: CheckpointView) -> Iterator[Finding]:
    """CKPT152: what the user who owns the other files may not be able to read."""
    user = None if _is_uniform(view) else _owner_of_most(view.objects)
    if user is None or user.owner == _ROOT:
        return
    files = {
        name: stored.access
        for name, stored in chain(view.objects.items(), _sink_objects(view))
        if _is_read(name)
        and not isinstance(view.damaged.get(name), UnreadableError)
        and stored.access is not None
        and not stored.access.can_be_read_by(user)
    }
    folders = {
        f"{name or '.'}/": seen
        for name, seen in view.directories.items()
        if ~seen.bits_for(user.owner, user.group) & _READ_AND_ENTER
    }
    closed = {**folders, **files}
    if not closed:
        return
    named = sorted(closed, key=lambda name: (layout.OFFSETS not in name and layout.COMMITS not in name, name))
    few = listed_shortly([f"{name} ({closed[name]})" for name in named])
    place = layout.parse(main_name(named[0]))
    yield a_warning(
        "CKPT152",
        f"the query may not be able to read {few}: most files belong to user {user.owner}, group {user.group}",
        place.batch_id if isinstance(place, layout.LogEntry) else None,
        named[0].removesuffix("/"),
        f"If the query runs as that user, give them to it (chown {user.owner}:{user.group}) or let it read them "
        "(chmod). If it runs as another one, who may read all, this needs nothing.",
    )


def _is_uniform(view: CheckpointView) -> bool:
    """True if all files have the same owner, group and mode, and all directories: then there is nothing to compare."""
    files = {stored.access for stored in view.objects.values()}
    files.update(stored.access for _, stored in _sink_objects(view))
    return len(files - {None}) <= 1 and len({*view.directories.values()}) <= 1


def _owner_of_most(objects: Mapping[str, StoredObject]) -> Access | None:
    """Who owns most files, and the group of most of those; its mode says nothing."""
    owners = Counter((stored.access.owner, stored.access.group) for stored in objects.values() if stored.access)
    by_owner: Counter[int | str] = Counter()
    for (owner, _), count in owners.items():
        by_owner[owner] += count
    if not by_owner:
        return None
    metadata = objects.get(layout.METADATA)
    most, count = by_owner.most_common(1)[0]
    if metadata is not None and metadata.access is not None and by_owner[metadata.access.owner] == count:
        most = metadata.access.owner
    group = max((pair for pair in owners if pair[0] == most), key=lambda pair: owners[pair])[1]
    return Access(most, group, 0)


def _sink_objects(view: CheckpointView) -> Iterator[tuple[str, StoredObject]]:
    if view.sink is not None:
        yield from view.sink.objects.items()


def _is_read(name: str) -> bool:
    """True if a restart may read it: not the rest of a killed write, nor a file that Spark does not know."""
    return not isinstance(layout.parse(main_name(name)), layout.Temporary | layout.Other)
