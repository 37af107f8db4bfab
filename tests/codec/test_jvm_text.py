"""Text as the JVM reads and writes it: what Jackson, json4s and java.lang say to each text."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.jvm_text import LONG_MAX, LONG_MIN, MAX_JSON_DEPTH, Fields, as_text, read_json
from airflow_provider_ckpt.errors import MalformedEntryError

NESTED = MAX_JSON_DEPTH // 2 + 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1} and more', {"a": 1}),
        ("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH, None),
        (json.dumps([[[]]] * NESTED), [[[]]] * NESTED),  # many brackets, which are not nested deep
        (json.dumps(["[" * 2 * MAX_JSON_DEPTH]), ["[" * 2 * MAX_JSON_DEPTH]),  # brackets in a text are none
        ('"\\u00e9"', "é"),
    ],
)
def test_json_that_is_read(text, value):
    read = read_json(text, "offsets/1", "line")
    assert value is None or read == value


#: What Jackson throws at each text.
NOT_JSON = {
    "": "MismatchedInputException",
    '{"a":': "JsonEOFException",
    '"ab': "JsonEOFException",
    "{a:1}": "JsonParseException",
    "1x": "JsonParseException",
    "[" * (MAX_JSON_DEPTH + 1): "StreamConstraintsException",
    "[" + "[]," * MAX_JSON_DEPTH + "[" * MAX_JSON_DEPTH: "StreamConstraintsException",
    "9" * 1_001: "StreamConstraintsException",
    "NaN": "JsonParseException",
}


@pytest.mark.parametrize(("text", "error"), NOT_JSON.items())
def test_text_that_is_no_json_is_refused_with_jacksons_exception(text, error):
    with pytest.raises(MalformedEntryError, match="the line is not JSON") as refused:
        read_json(text, "offsets/1", "line")
    assert (refused.value.spark_error, refused.value.name) == (error, "offsets/1")


#: java.lang.Double.toString, by the number that JSON has.
DOUBLES = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (0.001, "0.001"),
    (123456.75, "123456.75"),
    (9999999.0, "9999999.0"),
    (1e7, "1.0E7"),
    (-12345678.5, "-1.23456785E7"),
    (0.0001, "1.0E-4"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
]


@pytest.mark.parametrize(("number", "text"), DOUBLES)
def test_a_double_is_spelled_as_java_does(number, text):
    assert as_text(number) == text


@pytest.mark.parametrize(("value", "text"), [("x", "x"), (7, "7"), (True, None), (None, None), ([], None), ({}, None)])
def test_scalars_are_text_and_nothing_else_is(value, text):
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        (2**63, LONG_MIN),
        (-(2**63) - 1, LONG_MAX),
        (1.9, 1),
        (-1.9, -1),
        (1e300, LONG_MAX),
        (-1e300, LONG_MIN),
        (float("inf"), LONG_MAX),
        (float("-inf"), LONG_MIN),
    ],
)
def test_a_number_is_cut_and_wraps_as_a_long(value, number):
    assert Fields({"n": value}, "offsets/1", "line").long("n") == number


FIELDS = Fields({"text": "t", "flag": True, "null": None, "list": [1], "object": {"k": 1}}, "commits/1", "line")


@pytest.mark.parametrize(
    ("kind", "key", "problem"),
    [
        ("long", "flag", "is not a number but 'True'"),
        ("long", "none", "is not a number but 'None'"),
        ("text", "list", r"is not a text but '\[1\]'"),
        ("text", "none", "is not a text but 'None'"),
        ("flag", "text", "is neither true nor false but 't'"),
        ("object", "list", r"is not an object but '\[1\]'"),
        ("array", "object", "is not an array but"),
    ],
)
def test_a_field_of_another_type_is_named(kind, key, problem):
    with pytest.raises(MalformedEntryError, match=f"'{key}' in the line {problem}") as refused:
        getattr(FIELDS, kind)(key)
    assert refused.value.name == "commits/1"


def test_fields_that_are_not_there_are_empty():
    assert FIELDS.object("null") == FIELDS.object("none") == {}
    assert FIELDS.array("null") == FIELDS.array("none") == []
    assert FIELDS.flag("flag") and FIELDS.array("list") == [1] and FIELDS.object("object") == {"k": 1}


def test_a_key_that_stands_twice_is_refused_when_it_is_asked_for():
    fields = Fields(read_json('{"a":1,"a":2,"b":3}', "n", "line"), "n", "line")
    assert fields.long("b") == 3
    with pytest.raises(MalformedEntryError, match="'a' in the line is given twice"):
        fields.long("a")


@pytest.mark.parametrize(("text", "spark_error"), [("null", "NullPointerException"), ("[1]", None), ("7", None)])
def test_what_has_to_be_an_object_is_one(text, spark_error):
    with pytest.raises(MalformedEntryError) as refused:
        jvm_text.read_json_object(text, "n", "line")
    assert refused.value.spark_error == spark_error or spark_error is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("007", 7),
        ("٧", 7),
        ("𝟕", None),
        ("1_0", None),
        (" 7", None),
        ("", None),
        (str(LONG_MAX), LONG_MAX),
        (str(LONG_MAX + 1), None),
        ("9" * 1001, None),
    ],
)
def test_parse_long(text, number):
    assert jvm_text.parse_long(text) == number
