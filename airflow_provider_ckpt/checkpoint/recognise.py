"""Recognising what a directory of this machine is, so that no file of ours is written into it."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_ckpt.checkpoint.own_files import DATA, MANIFEST
from airflow_provider_ckpt.codec import layout


def what_is(directory: Path) -> str | None:
    """The log of a sink, a checkpoint or a backup, in words; None for any other directory."""
    if directory.name == layout.SINK_LOG:
        return "the log of a sink,"
    has_commits = (directory / layout.COMMITS).is_dir() or (directory / layout.METADATA).is_file()
    if (directory / layout.OFFSETS).is_dir() and has_commits:
        return "the checkpoint"
    return "the backup" if (directory / MANIFEST).is_file() and (directory / DATA).is_dir() else None
