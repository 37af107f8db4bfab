"""The operators and sensors that pages show are run as a DAG by ``airflow dags test``, where things are as they say."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from textwrap import indent

import pytest

from tests.airflow.conftest import read_run, run
from tests.docs import shell
from tests.docs.blocks import Block, blocks_of, is_of_airflow
from tests.docs.lake import Lake
from tests.pages import pages

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]
OF_AIRFLOW = [block for page in pages() for block in blocks_of(page) if is_of_airflow(block)]
BLOCKS = [block for block in OF_AIRFLOW if not {"not run", "only made", "run by"} & {*block.notes}]
ONLY_MADE = [block for block in OF_AIRFLOW if "only made" in block.notes]
#: The run has this date: what the recorded query has read is older.
DATE = "2026-11-21T00:00:00+00:00"


def dag_of(block: Block, dag_id: str) -> str:
    """A file with the tasks of a block in a DAG."""
    names = "\n".join(
        f'{name} = EmptyOperator(task_id="{name}")'
        for name in ("deploy", "alert")
        if re.search(rf"\b{name}\b(?! *=)", re.sub(r'"[^"]*"', "", block.text))
    )
    tasks = indent(f"{names}\n{block.text}", "    ")
    head = "from airflow.providers.standard.operators.empty import EmptyOperator\nfrom airflow.sdk import DAG\n"
    return f"{head}\nwith DAG({dag_id!r}, schedule=None):\n{tasks}\n"


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_tasks_of_a_block_succeed(block, tmp_path, s3_server, airflow_env, request):
    asks_broker = "kafka_conn_id" in block.text or ":909" in block.text
    broker = request.getfixturevalue("kafka") if asks_broker else None
    lake = Lake(tmp_path, s3_server, broker)
    dags = tmp_path / "dags"
    dags.mkdir()
    dag_id = re.sub(r"\W", "_", str(block))
    (dags / "shown.py").write_text(lake.here_is(dag_of(block, dag_id)))
    connections = {
        "LAKE": {"conn_type": "checkpoint", "host": "s3://lake/checkpoints"},
        "KAFKA_DEFAULT": {
            "conn_type": "kafka",
            "extra": {"bootstrap.servers": broker.bootstrap if broker else "127.0.0.1:9"},
        },
    }
    env = {
        **airflow_env,
        **{key: value for key, value in lake.environment.items() if key.startswith("AWS")},
        **{f"AIRFLOW_CONN_{name}": json.dumps(value) for name, value in connections.items()},
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
    }
    prepared = shell.run(lake.here_is(block.notes.get("before", "")), lake.here, lake.environment)
    assert [item for item in prepared if item.code] == []
    done = run(["dags", "test", dag_id, DATE], env, check=False)
    states, _ = read_run(env, dag_id)
    wanted = dict.fromkeys(states, "success")
    if 'on_block="branch"' in block.text:  # the gate takes one of two ways
        [other] = [name for name in ("deploy", "alert") if states[name] != "success"]
        wanted[other] = "skipped"
    assert states and states == wanted, done.stdout[-6000:] + done.stderr[-3000:]


#: Prints how many tasks each DAG of a file has.
MAKE = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1], bundle_name="shown")
assert not bag.import_errors, bag.import_errors
print(sorted((name, len(dag.tasks)) for name, dag in bag.dags.items()))
"""


@pytest.mark.parametrize("block", ONLY_MADE, ids=str)
def test_the_tasks_of_a_block_are_made(block, tmp_path, airflow_env):
    has_dags = "with DAG(" in block.text
    (tmp_path / "shown.py").write_text(block.text if has_dags else dag_of(block, "shown"))
    make = [sys.executable, "-W", "ignore", "-c", MAKE, str(tmp_path)]
    done = subprocess.run(make, env=airflow_env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    made = ast.literal_eval(done.stdout.splitlines()[-1])
    calls = re.findall(r"\bCheckpoint\w+(?:Operator|Sensor)\(|\bSpark(?:Submit|Pipelines)Operator\(", block.text)
    assert sum(tasks for _, tasks in made) == len(calls)
