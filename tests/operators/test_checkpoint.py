"""The public module of the operators: its names, for people, for type checkers, and at what cost."""

from __future__ import annotations

import ast
import re

import pytest

from airflow_provider_ckpt.operators import checkpoint as operators
from tests.package import PACKAGE, modules_loaded_by

pytestmark = pytest.mark.airflow
SOURCE = ast.parse((PACKAGE / "operators/checkpoint.py").read_text())
#: A DAG file that uses one operator loads fewer modules of the package than this.
MOST_MODULES = 120


def test_a_type_checker_sees_the_names_that_there_are():
    (block,) = [node for node in SOURCE.body if isinstance(node, ast.If)]
    seen = {item.names[0].name: item.module for item in block.body if isinstance(item, ast.ImportFrom)}
    assert seen == {name: f"airflow_provider_ckpt.operators.{place}" for name, place in operators._MODULES.items()}
    assert [*seen] == [node.names[0].name for node in block.body] and sorted(seen) == operators.__all__


@pytest.mark.parametrize("name", operators.__all__)
def test_each_name_is_the_operator(name):
    assert getattr(operators, name).__name__ == name and name in dir(operators)


def test_a_name_that_is_none_is_no_attribute():
    with pytest.raises(AttributeError, match=re.escape("has no attribute 'CheckpointRollOperator'")):
        operators.CheckpointRollOperator  # noqa: B018


def test_one_operator_loads_few_modules():
    statement = "from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator"
    assert len(modules_loaded_by(statement)) < MOST_MODULES
