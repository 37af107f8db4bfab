"""Params of DAGs."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.dags.params import APPLICATION, QUERY, START, arguments_of, flag, optional

pytestmark = pytest.mark.airflow


def test_what_need_not_be_given_has_a_value():
    assert optional("string", "Such as x").value is None and flag("Or not").value is False
    assert START["application"].value is None and QUERY["query"].value is None


def test_a_deploy_needs_an_application():
    assert APPLICATION["application"].schema["type"] == "string" and APPLICATION.keys() == START.keys()


def test_an_argument_is_the_param_of_its_name():
    assert arguments_of("sink") == {"sink": "{{ params.sink }}"}
