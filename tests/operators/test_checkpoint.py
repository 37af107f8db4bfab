"""The public module of the operators: its names, for people, for type checkers, and at what cost."""

from __future__ import annotations

import ast
import re

import pytest

from airflow_provider_ckpt.operators import checkpoint as operators
from tests.package import PACKAGE, modules_loaded_by_each

pytestmark = pytest.mark.airflow
SOURCE = ast.parse((PACKAGE / "operators/checkpoint.py").read_text())
#: A DAG file that uses one operator loads fewer modules of the package than this.
MOST_MODULES = 120
#: What it imports.
ALONE = (
    *(
        f"operators.checkpoint import Checkpoint{name}Operator"
        for name in ("Rollback", "Restore", "Backup", "Index", "Gate")
    ),
    "operators.checkpoint import QueryStopOperator",
    "sensors.checkpoint import CheckpointProgressSensor",
    "sensors.checkpoint import QueryStatusSensor",
    "triggers.checkpoint import CheckpointProgressTrigger",
)
#: Rooms that the module of an operator may load at its top.
LIGHT = {
    *("change", "clock", "documents", "errors", "fleet", "hooks", "lineage", "operators", "query", "report", "times"),
    *("untrusted", "visible"),
}
#: Modules that load more; `prune` the defaults of its arguments.
HEAVY = {"prune"}


def test_a_type_checker_sees_the_names_that_there_are():
    (block,) = [node for node in SOURCE.body if isinstance(node, ast.If)]
    seen = {name.name: item.module for item in block.body if isinstance(item, ast.ImportFrom) for name in item.names}
    assert seen == {name: f"airflow_provider_ckpt.operators.{place}" for name, place in operators._MODULES.items()}
    assert sorted(seen) == operators.__all__


@pytest.mark.parametrize("name", operators.__all__)
def test_each_name_is_the_operator(name):
    assert getattr(operators, name).__name__ == name and name in dir(operators)


def test_a_name_that_is_none_is_no_attribute():
    with pytest.raises(AttributeError, match=re.escape("has no attribute 'CheckpointRollOperator'")):
        operators.CheckpointRollOperator  # noqa: B018


def test_one_of_them_loads_few_modules():
    statements = [f"from airflow_provider_ckpt.{imported}" for imported in ALONE]
    numbers = map(len, modules_loaded_by_each(statements, first="import airflow.sdk"))
    assert {what: number for what, number in zip(ALONE, numbers, strict=True) if not 10 < number < MOST_MODULES} == {}


@pytest.mark.parametrize("module", sorted({*operators._MODULES.values()} - HEAVY))
def test_no_module_of_an_operator_loads_a_room_of_io_at_its_top(module):
    """Those of the subjects are loaded once a task runs; a DAG file is read over and over, and runs none."""
    names = {
        name
        for node in ast.walk(ast.parse((PACKAGE / f"operators/{module.replace('.', '/')}.py").read_text()))
        if isinstance(node, ast.ImportFrom) and node.col_offset == 0
        for name in [node.module or ""]
    }
    rooms = {name.split(".")[1] for name in names if name.startswith("airflow_provider_ckpt.")}
    assert rooms <= LIGHT, module
