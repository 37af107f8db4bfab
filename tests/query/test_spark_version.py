"""Versions of Spark, and values of confs as Spark writes them."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.spark_version import SPARK_MAX, SPARK_MIN, conf_text, parse_spark_version


def test_a_version_is_its_first_two_numbers():
    assert parse_spark_version("4.3.0") == parse_spark_version("4.3") == (4, 3)


@pytest.mark.parametrize("text", ["4", "new", "", "4.x"])
def test_what_is_no_version_is_refused(text):
    with pytest.raises(ValueError, match="is not a Spark version, such as 4.3"):
        parse_spark_version(text)


@pytest.mark.parametrize("version", [(SPARK_MIN[0], SPARK_MIN[1] - 1), (SPARK_MAX[0], SPARK_MAX[1] + 1)])
def test_a_version_whose_confs_are_not_known_is_refused(version):
    with pytest.raises(ValueError, match="is not supported; ckpt knows the confs of Spark 3.4 to "):
        parse_spark_version(".".join(map(str, version)))


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (False, "false"), (8, "8"), ("8m", "8m")])
def test_a_value_is_written_as_spark_does(value, text):
    assert conf_text(value) == text
