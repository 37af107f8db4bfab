"""The Python of the README and the how-tos: every block builds the tasks that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import airflow
import pytest
from airflow.providers.common.compat.sdk import BaseNotifier
from airflow.sdk import DAG
from airflow.sdk.definitions._internal.contextmanager import DagContext
from packaging.version import Version

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).parents[2]
BLOCKS = {
    f"{page.relative_to(ROOT)}, block {number}": text
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/how-to/*.md")))
    for number, text in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
    if ".api" not in text  # that one needs a session; tests/test_api.py runs it
    if "PartitionedAsset" not in text or Version(airflow.__version__) >= Version("3.3")  # Airflow has them since then
}


@pytest.fixture(autouse=True)
def a_query_file(tmp_path, monkeypatch):
    """That of docs/how-to/declare-queries.md, as Airflow is told."""
    page = (ROOT / "docs/how-to/declare-queries.md").read_text()
    [text] = re.findall(r"<!-- file: ckpt.yaml -->\n```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "ckpt.yaml").write_text(text)
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(tmp_path / "ckpt.yaml"))


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_builds_its_tasks(monkeypatch, block):
    if re.search(r"airflow_provider_ckpt\.(dags|hooks)\b", BLOCKS[block]):  # in functions, which this does not read
        with DAG("shown"):
            exec(BLOCKS[block], {"__name__": "shown"})
        return
    shown = re.findall(r"\b((?:Checkpoint|Bash|Spark)\w*(?:Operator|Sensor)|ExplainNotifier)\(", BLOCKS[block])
    names: dict[str, object] = {"__name__": "shown"}
    monkeypatch.setattr(DagContext, "autoregistered_dags", set())
    monkeypatch.setattr(DagContext, "current_autoregister_module_name", __name__)
    with DAG("shown"):
        exec(BLOCKS[block], names)
    tasks = [task for dag, _ in DagContext.autoregistered_dags for task in dag.tasks]
    told = [callback for task in tasks for callback in task.on_failure_callback or ()]
    alone = [value for value in names.values() if isinstance(value, BaseNotifier)]
    built = [type(made).__name__ for made in (*tasks, *told, *alone)]
    assert shown and sorted(name for name in built if name in shown) == sorted(shown)
