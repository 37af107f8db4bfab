"""What several tests of this room make of a torn checkpoint."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_ckpt.changes.salvage.candidates import Candidate
from airflow_provider_ckpt.changes.salvage.entries import broken_entries
from airflow_provider_ckpt.changes.salvage.put_together import Assembler
from airflow_provider_ckpt.changes.salvage.tree import Assembled
from airflow_provider_ckpt.changes.salvage.ways import Ways
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.storage.store import Store


def view_of(path: Path) -> CheckpointView:
    """A checkpoint, with every text file read."""
    return examine(Store.open(str(path)), deep=True)


def put_together(path: Path, wanted: Candidate, ways: Ways | None = None) -> Assembled | str:
    """A batch of a checkpoint; or what it lacks."""
    view = view_of(path)
    return Assembler(Store.open(str(path)), view, broken_entries(view), None).put_together(wanted, ways or Ways())
