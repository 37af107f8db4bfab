"""Kinds of JSON that anybody may have written: a value, or a ValueError, within memory and time; and lines in pieces."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_ckpt.untrusted import bounded_json
from airflow_provider_ckpt.untrusted.bounded_json import MOST_DEPTH, parse_json, parse_with_list
from airflow_provider_ckpt.untrusted.lines import LONGEST_LINE, lines_in

MIB = 1 << 20
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.sweep
@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=4),
    st.lists(VALUES, max_size=6),
    st.booleans(),
    st.integers(1, 40),
)
def test_what_json_reads_is_read_in_any_window(fields, items, ascii_only, window):
    text = json.dumps({**fields, "items": items}, ensure_ascii=ascii_only).encode(errors="replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_json, "_WINDOW", window)
        beside, found = parse_with_list(text, "items", lambda item: item)
    assert {**beside, "items": found} == json.loads(text)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:0a \n\\', max_size=40).map(str.encode))
def test_anything_else_is_a_value_error_where_json_has_one(data):
    def outcome(read):
        try:
            return read()
        except ValueError:
            return ValueError

    assert outcome(lambda: parse_json(data)) == outcome(lambda: json.loads(data))
    found = outcome(lambda: parse_with_list(b'{"items":[' + data + b"]}", "items", lambda item: item))
    assert found == outcome(lambda: ({}, json.loads(b'{"items":[' + data + b"]}", object_pairs_hook=_once)["items"]))


def _once(pairs):
    return dict(pairs)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(("depth", "is_read"), [(MOST_DEPTH, True), (MOST_DEPTH + 1, False), (5_000, False)])
def test_every_python_reads_as_many_levels(opening, depth, is_read):
    """Python 3.11 stops before a thousand of them, later ones after thousands."""
    text = (opening * depth + "1" + ("]" if opening == "[" else "}") * depth).encode()
    for read in (parse_json, lambda data: parse_with_list(b'{"items":[' + data + b"]}", "items", lambda item: item)):
        if is_read:
            assert read(text)
        else:
            with pytest.raises(ValueError, match="nested too deep"):
                read(text)
    assert parse_json(json.dumps([[[]]] * depth)) == [[[]]] * depth, "many brackets are not deep"


HOSTILE = {
    "brackets": b'{"items":[' + b"[" * (MIB // 2),
    "lists in one item": b'{"items":[[' + b"[]," * (MIB // 2),
    "lists beside": b'{"a":[' + b"[]," * (MIB // 2),
    "keys": b"{" + b",".join(b'"%d":0' % number for number in range(20_000)),
    "keys of one value": b'{"a":{' + b",".join(b'"%d":0' % number for number in range(20_000)),
    "a long string": b'{"a":"' + b"x" * (MIB // 2),
    "quotes in a string": b'{"a":"' + b'\\"' * (MIB // 4),
    "spaces": b'{"items":' + b" " * (MIB // 2),
    "empty items": b'{"items":[' + b",".join([b"0"] * (MIB // 16)) + b"]}",
    "the list twice": b'{"items":[],"items":[]}',
}


@pytest.mark.sweep
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_json_takes_no_more_memory_than_it_may(case, monkeypatch):
    monkeypatch.setattr(bounded_json, "MOST_MEMORY", 4 * MIB)
    monkeypatch.setattr(bounded_json, "_MOST_BESIDE", 2 * MIB)
    monkeypatch.setattr(bounded_json, "_WINDOW", MIB // 16)
    data = HOSTILE[case]
    tracemalloc.start()
    try:
        with pytest.raises(ValueError):
            parse_with_list(data, "items", lambda item: None)
        if case not in ("the list twice", "empty items"):
            with pytest.raises(ValueError):
                parse_json(data, 4 * MIB)
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab\r\n", max_size=30), st.integers(1, 7))
def test_lines_are_those_of_java_in_pieces_of_any_size(text, size):
    data = text.encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    wanted = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    wanted = wanted[:-1] if wanted[-1] == "" else wanted
    assert [line.decode() for line in lines_in(pieces, 100)] == wanted


def test_lines_have_an_end():
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        list(lines_in([b"a\n" * MIB], MIB))
    with pytest.raises(ValueError, match="line is longer"):
        list(lines_in([b"a" * MIB] * (LONGEST_LINE // MIB + 1), 100 * MIB))
