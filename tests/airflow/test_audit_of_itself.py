"""The audit's own stream, looked after by the DAGs of the project, as docs/pipeline.md starts them: gated, backed up, waited
for and rolled back.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt import cli
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.history_table.rewind import rewind
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import read_run, run
from tests.airflow.spark_jobs import CONFS, PERSON
from tests.batches.fleet_story import FleetStory

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"
#: As the page gives it to spark-submit.
APPLICATION = "from airflow_provider_ckpt.spark.audit import main\nmain()\n"


def batches_of(home: Path) -> Counter[tuple[str, int]]:
    """How often the history has each batch of each checkpoint."""
    import pyarrow.parquet

    found: Counter[tuple[str, int]] = Counter()
    for file in read_table(Store.open(str(home / "history"))).files:
        rows = pyarrow.parquet.read_table(home / "history" / file.name, columns=["location", "batch_id"])
        found.update((Path(row["location"]).name, row["batch_id"]) for row in rows.to_pylist())
    return found


def once(story: FleetStory) -> Counter[tuple[str, int]]:
    return Counter((name, batch_id) for name, log in story.logs.items() for batch_id in log)


#: What stands for the places of the page.
PLACES = {
    "s3://lake/checkpoints": "fleet",
    "s3://lake/audit": "home",
    "/srv/audit.py": "audit.py",
    "/srv/audit": "home",
    "/srv/": "",
}


def shown(begins: str, root: Path) -> str:
    """What the page has after these words, up to the next quote or the end of the line, with the places of a test."""
    [text] = re.findall(rf"^{begins}( '[^']+|[^'\n]+)", PAGE.read_text(), re.MULTILINE)
    for place, here in PLACES.items():
        text = text.replace(place, f"{root}/{here}")
    return text.lstrip(" '")


def params(dag_id: str, root: Path) -> dict[str, Any]:
    """What the page starts a DAG with."""
    return {**json.loads(shown(f"airflow dags trigger {dag_id} --conf", root)), "confs": CONFS}


def ckpt(command: str, root: Path, batches: str, here: str) -> int:
    """The exit code of a command of the page, for other batches than the page has."""
    text = shown(f"ckpt {command}", root)
    assert batches in text
    return cli.run([command, *shlex.split(text.replace(batches, here))])


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_the_stream_of_the_audit_goes_through_the_dags_like_any_other(spark_env, tmp_path, capsys):
    story, home = FleetStory(tmp_path / "fleet"), tmp_path / "home"
    (tmp_path / "audit.py").write_text(APPLICATION)
    checkpoint = home / "checkpoint"
    story.commit("orders", 3)
    story.commit("clicks", 2)
    first = {"roots": [str(tmp_path / "fleet")], "home": str(home)}
    done = run(["dags", "test", "checkpoint_audit", "--conf", json.dumps(first)], spark_env)
    assert batches_of(home) == once(story), done.stdout[-3000:]

    story.commit("orders", 2)
    deploy = params("pre_deploy_gate", tmp_path)
    done = run(["dags", "test", "pre_deploy_gate", "--conf", json.dumps(deploy)], spark_env, check=False)
    states, values = read_run(spark_env, "pre_deploy_gate")
    assert states["deployed"] == "success", done.stdout[-4000:] + done.stderr[-4000:]
    assert (values["backup"]["batch_id"], values["wait"]["batch_id"], values["continuity"]["status"]) == (
        0,
        1,
        "continued",
    )
    assert batches_of(home) == once(story)

    assert ckpt("diff", tmp_path, " 0 2", " 0 1") == 0
    assert ckpt("rollback", tmp_path, " 41", " 0") == 0
    printed = capsys.readouterr().out
    assert str(tmp_path / "fleet" / "orders") in printed and "skipped" in printed

    rewind(Store.open(str(home / "history")), observe(Store.open(str(checkpoint))).query_id or "", 0)
    back = {**params("checkpoint_rollback", tmp_path), "to_batch": 0}
    person = subprocess.Popen([sys.executable, "-c", PERSON], env=spark_env, stdout=subprocess.PIPE, text=True)
    try:
        done = run(["dags", "test", "checkpoint_rollback", "--conf", json.dumps(back)], spark_env, check=False)
    finally:
        person.terminate()
    asked = person.communicate()[0]
    states, values = read_run(spark_env, "checkpoint_rollback")
    assert set(states.values()) == {"success"}, done.stdout[-4000:] + done.stderr[-4000:]
    assert "Sink effect: **exact**" in asked and values["wait"]["batch_id"] == 1
    assert batches_of(home) == once(story), "each batch is in the history once, also those that were written anew"
    assert "<b>2</b>queries" in (home / "audit.html").read_text()
