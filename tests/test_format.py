"""The specification of the format: its examples are what Spark wrote, and its tables are what the package knows."""

from __future__ import annotations

import re

import pytest

from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE
from airflow_provider_ckpt.query.spark_version import SPARK_MIN
from tests.format_examples import MARK, PAGES, with_examples

TEXTS = {path.name: path.read_text() for path in PAGES}
CONF = re.compile(r"^\| `([\w.]+)` \| (?:3\.5\.9 and )?(\d+)\.(\d+) \| (as in the session|`\w+`) \|$", re.MULTILINE)


@pytest.mark.parametrize("page", TEXTS)
def test_the_examples_of_a_page_are_the_files_that_spark_wrote(page):
    assert with_examples(TEXTS[page]) == TEXTS[page]


def test_the_examples_are_many():
    assert sum(len(MARK.findall(text)) for text in TEXTS.values()) >= 20


def test_the_table_of_confs_is_the_catalogue():
    confs = {
        f"spark.sql.{key}": ((int(x), int(y)), absent.strip("`"))
        for key, x, y, absent in CONF.findall(TEXTS["logs.md"])
    }
    assert confs.keys() == {conf.key for conf in CATALOGUE}
    for conf in CATALOGUE:
        since, absent = confs[conf.key]
        assert absent == (conf.when_absent or "as in the session"), conf.key
        assert since == conf.since or since < SPARK_MIN or "pruneFilters" in conf.key, conf.key
