"""The DAG of docs/how-to/stop-and-start.md is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.airflow
PAGE = (Path(__file__).parents[2] / "docs/how-to/stop-and-start.md").read_text()


def test_the_dag_of_the_page_stops_goes_back_and_starts():
    said = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], said)
    assert [task.task_id for task in said["stop"].dag.topological_sort()] == ["stop", "back", "start", "runs"]
