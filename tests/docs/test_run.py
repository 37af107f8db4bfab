"""Every page with commands is read as a reader does, where things are as it says: `make docs-run`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, WAYS, Block, blocks_of, script_of, way_of
from tests.docs.lake import Lake
from tests.docs.reader import Reader
from tests.pages import pages

#: The ways of blocks that a reader runs.
RUN = {WAYS["sh"], WAYS["python"], WAYS["yaml"]}
#: Pages that are read in `make test` as well: on this disk, without a broker, with few commands.
QUICK = ("docs/how-to/check.md",)
PAGES = [
    str(page.relative_to(ROOT))
    for page in pages()
    if any(way_of(block) in RUN and (script_of(block) or block.language == "python") for block in blocks_of(page))
]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make wheels` makes."""
    target = tmp_path_factory.mktemp("dist")
    projects = [str(ROOT / "packaging" / name) for name in ("spark-ckpt", "airflow-provider-ckpt")]
    make = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(target), *projects]
    subprocess.run(make, check=True)
    return target


@pytest.mark.parametrize(
    "page",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.exhaustive) for name in PAGES],
)
def test_a_page_runs_as_written(page, tmp_path, s3_server, request):
    blocks = blocks_of(ROOT / page)
    asks_broker = any(":909" in block.text for block in blocks)
    lake = Lake(tmp_path, s3_server, request.getfixturevalue("kafka") if asks_broker else None)
    if any("$WHEELS" in block.notes.get("before", "") for block in blocks):
        lake.environment["WHEELS"] = str(request.getfixturevalue("wheels"))
    if any("airflow " in script_of(block) for block in blocks):
        airflow = request.getfixturevalue("airflow_env")
        lake.environment |= {key: value for key, value in airflow.items() if key.startswith("AIRFLOW")}
        lake.environment["AIRFLOW__CORE__DAGS_FOLDER"] = str(ROOT / "dags")
    reader = Reader(lake)
    problems = list(reader.read(blocks))
    assert reader.done
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("note", ["not run", "run by"])
def test_what_nobody_or_another_test_runs_is_not_run_here(note, tmp_path):
    trace = tmp_path / "trace"
    reader = Reader(lake=None)
    assert list(reader.read([Block("p.md", 1, "sh", f"touch {trace}", {note: "why"})])) == []
    assert not reader.done and not trace.exists()
