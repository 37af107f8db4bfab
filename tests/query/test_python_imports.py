"""The names that imports bind: functions of the module that is looked for, and what is of other modules."""

from __future__ import annotations

import ast

import pytest

from airflow_provider_ckpt.query.python_imports import Imports


def read(text: str) -> Imports:
    found = Imports("pyspark.pipelines", ("table",))
    found.read(ast.parse(text))
    return found


@pytest.mark.parametrize(
    ("text", "said", "name"),
    [
        ("from pyspark import pipelines as dp", "dp.sink", "sink"),
        ("import pyspark.pipelines as sdp", "sdp.sink", "sink"),
        ("import pyspark", "pyspark.pipelines.sink", "sink"),
        ("from pyspark.pipelines import table as t", "t", "table"),
        ("from pyspark.pipelines import *", "table", "table"),
        ("def f():\n    from pyspark import pipelines as dp", "dp.table", "table"),
        ("from pyspark import sql as dp", "dp.table", None),
        ("", "table", None),
        ("", "a[0].table", None),
    ],
)
def test_a_function_of_the_module(text, said, name):
    assert read(text).function(ast.parse(said, mode="eval").body) == name


@pytest.mark.parametrize(
    ("text", "said", "is_foreign"),
    [
        ("import lib.flows", "lib.flows.make", True),
        ("import lib.flows as f", "f.make", True),
        ("from lib import make", "make", True),
        ("from . import make", "make", True),
        ("from .lib import make as m", "m", True),
        ("import logging\nfrom pyspark.sql import functions as F", "F.make", False),
        ("import logging", "logging.basicConfig", False),
        ("", "make", False),
    ],
)
def test_what_is_of_other_modules(text, said, is_foreign):
    node = ast.parse(said, mode="eval").body
    assert read(text).foreign(node) == (said if is_foreign else None)
