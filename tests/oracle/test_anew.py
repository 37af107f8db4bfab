"""What Spark did is recorded; here it is asked about a few of all those cases again.

`make oracle` and `make goldens` ask about all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle.corpus import CASES
from tests.oracle.sweep_judge import read_recorded

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
EVERY_CASE, EVERY_DAMAGE = 200, 500
GOLDENS = ("agg-rocksdb-changelog-v2",)
TWICE = (
    "agg-hdfs | bare-drop state/0/0/_metadata/schema",
    "agg-changelog | bare-drop state/0/_metadata/metadata",
    "join | bare-drop state/0/0/left-keyToNumValues/_metadata/schema",
)


@pytest.fixture(scope="module")
def asked() -> dict[str, dict[str, object]]:
    """One Spark is asked about all."""
    questions = {
        "corpus": ["verify", "--every", str(EVERY_CASE)],
        "sweep": ["verify", "--every", str(EVERY_DAMAGE)],
        "twice": [*TWICE],
        "goldens": ["verify", "--only", *GOLDENS],
    }
    command = [sys.executable, "-m", "tests.oracle.anew", json.dumps(questions)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def answer(asked: dict[str, dict[str, object]], name: str) -> str:
    said = str(asked[name]["said"])
    assert asked[name]["code"] == 0, said[-3000:]
    return said


def test_the_corpus(asked):
    cases = answer(asked, "corpus").count("\n") - 1
    assert cases >= len(CASES) // EVERY_CASE


def test_a_checksum_file_in_the_way_stops_the_first_start_alone(asked):
    """What Spark then cannot write the checksum file of is there, and CKPT120 says so."""
    started = [json.loads(line) for line in answer(asked, "twice").splitlines()]
    assert [name for name, *_ in started] == [*TWICE]
    for _, first, ran, second, then in started:
        assert (first, ran, second) == ("FileAlreadyExistsException", [], None) and then


def test_the_sweep(asked):
    cases = len(range(0, len(read_recorded()), EVERY_DAMAGE))
    assert f"{cases} cases of the sweep, 0 differ" in answer(asked, "sweep")


def test_the_goldens(asked):
    lines = answer(asked, "goldens").splitlines()
    assert {tuple(line.split()[:2]) for line in lines} == {("ok", name) for name in GOLDENS}
