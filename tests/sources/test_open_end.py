"""The ends of several sources at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, StoreError

DELTA = Path(__file__).parents[1] / "data" / "sources" / "delta.tar.gz"


def test_an_error_names_the_checkpoint(ends, tmp_path):
    (tmp_path / "in").mkdir()
    progress = Progress(0, OffsetSeq(1, None, (("0", SourceOffset('"x"')),)))
    asked = ends(tmp_path / "checkpoint", s0=f"file:{tmp_path}/in")
    with pytest.raises(StoreError, match=f"{tmp_path}/checkpoint: source 0 is not a file source"):
        asked.end_at(None, progress).at_poll(asked, progress)


def test_without_a_declaration_there_is_nothing_to_ask(ends, tmp_path):
    with pytest.raises(CheckpointError, match="no source was declared"):
        ends(tmp_path)
