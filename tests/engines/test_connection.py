"""A connection of Airflow in the environment, as a URI or as JSON; none of it is shown."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.engines.connection import Connection, connection_in, parse_connection, variable_of
from airflow_provider_ckpt.errors import EngineError


@pytest.mark.parametrize(
    "text",
    [
        "https://ann:p%40ss@rm:8088/?queue=etl",
        json.dumps(
            {
                "conn_type": "yarn",
                "host": "rm",
                "port": 8088,
                "login": "ann",
                "password": "p@ss",
                "schema": "https",
                "extra": {"queue": "etl"},
            }
        ),
    ],
)
def test_both_forms_mean_the_same(text):
    found = connection_in({"AIRFLOW_CONN_YARN_MAIN": text}, "yarn-main")
    assert found == Connection("yarn-main", "rm", 8088, "ann", "p@ss", "https", {"queue": "etl"})
    assert "p@ss" not in repr(found)


def test_a_connection_that_is_not_there_names_its_variable():
    with pytest.raises(EngineError) as raised:
        connection_in({}, "yarn.main")
    assert variable_of("yarn.main") in str(raised.value)


@pytest.mark.parametrize("text", ["hunter2", '{"port": "x"}', "{", "http://h:99999/"])
def test_what_is_no_connection_is_not_repeated(text):
    with pytest.raises(EngineError) as raised:
        parse_connection("a", text)
    assert text not in str(raised.value)
