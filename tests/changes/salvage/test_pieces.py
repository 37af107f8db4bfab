"""How a piece is told."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.salvage.pieces import Piece

TOLD = {
    "temporary": "offsets/7 is taken from its temporary file .7.x.tmp",
    "backup": "offsets/7 is copied from the backup",
    "known": "offsets/7 is written again from what the other entries say",
}


@pytest.mark.parametrize(("way", "text"), TOLD.items())
def test_a_piece_says_where_it_comes_from(way, text):
    source = "" if way == "known" else "offsets/.7.x.tmp"
    assert Piece("offsets/7", way, 1, "", source).text == text


def test_a_piece_that_is_the_file_itself_says_so():
    piece = Piece("offsets/7", "known", 1, "", "offsets/7")
    assert piece.text == "offsets/7 is written again as it was before another program changed its form"
