"""What cannot be fenced is refused, with the reason and what helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.changes.fence.refusals import require_exclusive, require_fenceable
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError, PlanError
from tests.views import offset_entry, view_of


def logs(planned: list[int], committed: list[int], **contents: bytes):
    entries = {f"offsets/{batch}": contents.get(f"o{batch}", offset_entry()) for batch in planned[-2:]}
    names = [*(f"offsets/{batch}" for batch in planned), *(f"commits/{batch}" for batch in committed)]
    return view_of(*names, *(name for name in contents if "/" in name), **entries)


@pytest.mark.parametrize(
    ("view", "trigger", "problem", "hint"),
    [
        pytest.param(logs([0], []), "", "no batch is committed", "another checkpoint location", id="no commit"),
        pytest.param(logs([], []), "", "no batch is committed", "another checkpoint location", id="nothing"),
        pytest.param(logs([0, 1, 2, 3], [0, 1]), "", "planned batch is 3, and the newest committed one is 1", "ckpt check --deep", id="torn"),
        pytest.param(logs([0, 1], [0, 1, 2]), "", "planned batch is 1, and the newest committed one is 2", "ckpt check --deep", id="commits ahead"),
        pytest.param(logs([0, 2, 4], [0, 2, 4]), "", r"has gaps \(batches 1, 3\)", "end its driver", id="async progress"),
        pytest.param(logs([0, 1], [0, 1], o1=b"v1\n\n{}"), "", "continuous processing", "end its driver", id="continuous"),
        pytest.param(logs([(1 << 63) - 1], [(1 << 63) - 1]), "", "cannot count beyond", "end its driver", id="the last"),
        pytest.param(logs([0, 1], [0, 1]), "realTime", "trigger realTime writes the offset entry", "end its driver", id="declared"),
        pytest.param(logs([0, 1], [0, 1]), "continuous", "trigger continuous writes", "end its driver", id="declared continuous"),
        pytest.param(logs([0, 1], [0, 1], **{"offsets/.2.crc": b""}), "", "offsets/.2.crc is left over", "no query can plan batch 2", id="checksum"),
        pytest.param(replace(logs([0, 1], [0]), folders=("commits/1",)), "", "commits/1 is a directory", "ckpt check", id="commit"),
        pytest.param(replace(logs([0, 1], [0, 1]), folders=("offsets/2",)), "", "offsets/2 is a directory", "no query can plan", id="directory"),
        pytest.param(
            replace(logs([0, 1], [0, 1]), damaged={"offsets/1": MalformedEntryError("not JSON")}), "",
            r"offsets/1 is damaged \(not JSON\)", "Save the checkpoint first (ckpt salvage", id="a damaged entry",
        ),
        pytest.param(
            replace(logs([0, 1], [0, 1]), damaged={"commits/1": IncompleteLogFileError("it is empty")}), "",
            "commits/1 is damaged", "ckpt salvage", id="a damaged commit",
        ),
        pytest.param(
            logs([0, 1], [0], o0=offset_entry(partitions=2), o1=offset_entry(partitions=4)),
            "",
            "batch 1 is a repartition that was not finished",
            "ckpt repartition",
            id="repartition",
        ),
    ],
)  # fmt: skip
def test_it_is_refused(view, trigger, problem, hint):
    with pytest.raises(PlanError, match=problem) as told:
        require_fenceable(view, trigger)
    assert hint in (told.value.hint or "") and "Nothing was done." in (told.value.hint or "")
    assert told.value.location == view.location


@pytest.mark.parametrize(("planned", "committed"), [([0], [0]), ([0, 1], [0]), ([7, 8, 9], [7, 8, 9]), ([8, 9], [8])])
def test_behind_the_newest_planned_batch_there_can_be_one(planned, committed):
    newest, entry = require_fenceable(logs(planned, committed), "processingTime")
    assert (newest, entry.encode()) == (planned[-1], offset_entry())


def test_a_storage_without_exclusive_create_has_no_fence():
    with pytest.raises(PlanError, match="cannot create an object exclusively"):
        require_exclusive("ftp://host/orders", creates_exclusively=False)
    require_exclusive("s3://lake/orders", creates_exclusively=True)
