"""What a salvage tells."""

from __future__ import annotations

from airflow_provider_ckpt.salvage.candidates import Candidate
from airflow_provider_ckpt.salvage.pieces import Piece
from airflow_provider_ckpt.salvage.report import MOST_TOLD, notes_of, unjudged, why_nothing
from tests.salvage.bench import put_together


def test_the_batch_its_pieces_and_what_is_given_up(golden):
    found = put_together(golden("agg-hdfs"), Candidate(5, 5))
    notes = notes_of(found, {6: "offsets/6 is missing", 7: "offsets/6 is missing"}, 7)
    assert notes[:3] == (
        "Batch 5 is the newest batch that can be saved, and all that it needs is in its place.",
        "Batch 7 cannot be saved: offsets/6 is missing.",
        "Batch 6 cannot be saved: offsets/6 is missing.",
    )
    assert "The state and the offsets of batches 6 to 7 are given up" in notes[3]


def test_the_batch_that_runs_again(golden):
    found = put_together(golden("agg-hdfs"), Candidate(6, 7))
    assert notes_of(found, {}, 7)[1:] == (
        "Batch 7 runs again, from the offsets and to the offsets of its entry.",
        "No state is lost.",
    )


def test_many_are_counted(golden):
    found = put_together(golden("agg-hdfs"), Candidate(5, 5))
    for number in range(MOST_TOLD + 2):
        found.tree.pieces[f"offsets/{number}"] = Piece(f"offsets/{number}", "backup", 1, "")
    notes = notes_of(found, dict.fromkeys(range(100, 120), "x"), 7, "b1")
    assert "offsets/0 is copied from backup b1." in notes
    assert "2 more files are put back in the same ways." in notes
    assert f"{20 - MOST_TOLD} more batches before those cannot be saved either." in notes


def test_what_nobody_can_judge(golden):
    path = golden("agg-rocksdb")
    for file in path.rglob("*.crc"):
        file.unlink()
    said = " ".join(unjudged(put_together(path, Candidate(7, 7))))
    assert "only the length was compared" in said
    assert "no file tells how many there were" in said
    assert unjudged(put_together(golden("file-to-parquet-5"), Candidate(4, 4))) == ()


def test_why_nothing_can_be_saved():
    assert why_nothing({5: "b", 7: "a", 4: "c", 3: "d"}) == "batch 7: a; batch 5: b; batch 4: c"
