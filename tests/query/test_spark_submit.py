"""Confs of a command line of spark-submit."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.spark_submit import confs_of_words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--conf", "a=1", "-c", "b=2", "--conf=c=3", "x.py"], {"a": "1", "b": "2", "c": "3"}),
        (["--master", "yarn", "--verbose", "--conf", "a=b=c", "x.py", "--conf", "own=1"], {"a": "b=c"}),
        (["--supervise", "--conf", "a=", "x.jar"], {"a": ""}),
        (["x.py", "--conf", "own=1"], {}),
        (["--conf", "a=1", "--conf", "a=2"], {"a": "2"}),
        ([], {}),
    ],
)
def test_words_of_spark_submit(words, expected):
    assert confs_of_words(words) == expected


@pytest.mark.parametrize("words", [["--conf"], ["--conf", "a"], ["--properties-file", "x"], ["--properties-file=x"]])
def test_words_that_are_not_known(words):
    with pytest.raises(ValueError, match="--conf|--properties-file"):
        confs_of_words(words)
