"""The arguments of an operator: as they are while a DAG is parsed, and as its task will see them."""

from __future__ import annotations

import pytest
from airflow.providers.standard.operators.bash import BashOperator

from airflow_provider_ckpt.operators.task_arguments import ConfsNotKnown, NotYet, TaskArguments, written

pytestmark = pytest.mark.airflow


def test_a_template_is_known_when_the_task_runs():
    task = BashOperator(task_id="run", bash_command="echo {{ params.word }}")
    with pytest.raises(NotYet):
        TaskArguments(task).value("bash_command")
    assert TaskArguments(task, {"params": {"word": "yes"}}).value("bash_command") == "echo yes"
    assert TaskArguments(task).value("no_such_argument") is None


def test_a_value_is_what_its_text_says():
    assert written("{a: 1}") == written('{"a": 1}') == written("{'a': 1}") == {"a": 1}
    with pytest.raises(ConfsNotKnown, match="neither JSON nor YAML"):
        written("{a: [")
