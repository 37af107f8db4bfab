"""How a piece is told."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.salvage.pieces import Piece

TOLD = {
    "temporary": "offsets/7 is taken from its temporary file .7.x.tmp",
    "backup": "offsets/7 is copied from the backup",
    "known": "offsets/7 is written again from what the other entries say",
}


@pytest.mark.parametrize(("way", "text"), TOLD.items())
def test_a_piece_says_where_it_comes_from(way, text):
    assert Piece("offsets/7", way, 1, "", "offsets/.7.x.tmp").text == text
