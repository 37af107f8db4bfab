"""Rules about what is in a checkpoint beside the files of Spark."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.checkpoint.own_files import DATA, DROPPED, INTENT, MANIFEST, is_backup_id
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.jvm_text import abbreviate

#: What a backup keeps in its directory: one of these files, beside its data.
_OUR_FILES = (MANIFEST, INTENT, DROPPED)


@rule("CKPT160")
def unknown(view: CheckpointView) -> Iterator[Finding]:
    """CKPT160: files that Spark has not written; every change of ckpt leaves them in place."""
    links = set(view.links)
    names = [name for name in unknown_names(view) if name not in links]
    if names:
        yield a_note(
            "CKPT160",
            f"{len(names)} files are not known to ckpt: {listed_shortly(names)}",
            name=names[0],
            hint="A backup copies them unchanged; a rollback does not touch them.",
        )


@rule("CKPT161")
def links(view: CheckpointView) -> Iterator[Finding]:
    """CKPT161: links, which Spark follows and never makes."""
    if view.links:
        yield a_warning(
            "CKPT161",
            f"{len(view.links)} files or directories are links: {listed_shortly(view.links)}",
            name=view.links[0],
            hint="Spark follows links. ckpt makes no change here, and takes no backup of a link in the place "
            "of Spark's files, until you replace each link with the file or directory that it points to.",
        )


@rule("CKPT149")
def inside(view: CheckpointView) -> Iterator[Finding]:
    """CKPT149: checkpoints of other queries, which are not judged, copied or changed with this one."""
    if view.inside:
        yield a_note(
            "CKPT149",
            f"inside this checkpoint {_checkpoints(len(view.inside))}: {listed_shortly(view.inside)}",
            name=view.inside[0],
            hint="Check, back up and roll back each by its own location: what ckpt does to this checkpoint leaves it "
            "out and in place. It is lost when somebody removes this directory: give that query one outside of it.",
        )


def _checkpoints(count: int) -> str:
    return "is that of another query" if count == 1 else f"are {count} of other queries"


@rule("CKPT163")
def unreachable(view: CheckpointView) -> Iterator[Finding]:
    """CKPT163: what is listed, and can be neither read, copied nor removed; no other finding is of it alone."""
    told = {*view.damaged, *(problem.partition(": ")[0] for problem in (*(view.missing or ()), *view.unfinished))}
    if names := [name for name in view.unreachable if name not in told]:
        yield a_warning(
            "CKPT163",
            f"{len(names)} objects or directories cannot be opened, by their names, because they may not be "
            f"listed, or because they are no regular files: {listed_shortly(map(abbreviate, names))}",
            name=names[0],
            hint="Nothing of them is judged, no backup has them, and every change leaves them in place. An empty part "
            'of a name between slashes, "." and ".." cannot be given to Hadoop either: rename or remove them with a '
            "client of the storage.",
        )


@rule("CKPT162")
def backup_roots(view: CheckpointView) -> Iterator[Finding]:
    """CKPT162: backups inside the checkpoint go when it goes, and every later backup would hold them."""
    roots = sorted({root for name in view.objects if (root := _backup_root(name, view)) is not None})
    if roots:
        yield a_warning(
            "CKPT162",
            f"the checkpoint contains backups, in {listed_shortly(roots)}",
            name=roots[0],
            hint="Move the directory out of the checkpoint, and give `ckpt backup --to` a directory outside of it.",
        )


def _backup_root(name: str, view: CheckpointView) -> str | None:
    """The directory of the backups that a name is part of, if it is one of theirs."""
    directory, _, base = name.rpartition("/")
    if base not in _OUR_FILES or layout.parse(name) != layout.Other():
        return None
    root, _, backup_id = directory.rpartition("/")
    is_backup = is_backup_id(backup_id) and f"{directory}/{DATA}/{layout.METADATA}" in view.objects
    return (root or directory) if is_backup else None
