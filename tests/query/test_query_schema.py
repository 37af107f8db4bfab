"""The JSON Schema of a query file says the same as its parser."""

from __future__ import annotations

from jsonschema import Draft202012Validator

from airflow_provider_ckpt.query.deploy import DEPLOY_KEYS
from airflow_provider_ckpt.query.query_file import Alert
from airflow_provider_ckpt.query.query_parser import FILE_KEYS, QUERY_KEYS, parse_query_file
from airflow_provider_ckpt.query.query_schema import QUERY, query_schema
from airflow_provider_ckpt.query.yaml_text import parse_yaml
from tests.query.query_files import BROKEN, WHOLE

SCHEMA = Draft202012Validator(query_schema())


def test_it_is_a_schema_and_each_key_has_a_meaning():
    Draft202012Validator.check_schema(query_schema())
    assert all(said["description"].endswith(".") for said in QUERY.values())
    assert set(query_schema()["properties"]) == set(FILE_KEYS)
    assert set(QUERY) == {*DEPLOY_KEYS, *QUERY_KEYS}
    assert set(QUERY["alert"]["properties"]) == set(Alert.FIELDS)


def test_what_the_parser_reads_is_valid():
    parse_query_file(WHOLE)
    assert SCHEMA.is_valid(parse_yaml(WHOLE))


def test_what_has_an_unknown_key_or_another_form_is_not_valid():
    told = {name: SCHEMA.is_valid(parse_yaml(text)) for name, (text, _) in BROKEN.items() if name.startswith("form")}
    assert told
    assert not any(told.values()), [name for name, valid in told.items() if valid]
