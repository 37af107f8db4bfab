"""The ends of several sources at once."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_kind import SourceKind
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.query.source import parse_asked
from airflow_provider_ckpt.sources.open_end import Access, open_end
from airflow_provider_ckpt.storage.store import Store

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


def test_a_type_is_asked_by_its_row_and_one_module(monkeypatch):
    """As CONTRIBUTING.md says under "How to add a source type"."""

    class End:
        def __init__(self, declared, source_id, access):
            self.told = (declared.place, source_id)

    toy = ModuleType("airflow_provider_ckpt.sources.toy")
    toy.End = End
    monkeypatch.setitem(sys.modules, toy.__name__, toy)
    kind = SourceKind("toy", lambda value: True, lambda value: {}, answers=("end",))
    monkeypatch.setitem(KINDS._built_in, "toy", kind)
    assert open_end(parse_asked("toy:/lake/toys"), "0", Access(Store.open)).told == ("/lake/toys", "0")
