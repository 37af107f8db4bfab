"""Kinds of sources that other packages register, from distributions that are really installed in a directory."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import count

import pytest

from airflow_provider_ckpt.codec import registered_kinds
from airflow_provider_ckpt.codec.source_kinds import KINDS, kind_of_provider
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError
from tests.distributions import PAGES, install, on_path

NUMBER = count()


@pytest.fixture
def installed(tmp_path):
    """Install a distribution; each has a module of its own, so that none is imported for another."""
    with ExitStack() as stack:

        def add(points, text=PAGES, name="acme-ckpt"):
            module = f"acme_kinds_{next(NUMBER)}"
            points = {key: value.format(module) for key, value in points.items()}
            stack.enter_context(on_path(install(tmp_path / module, name, points, **{module: text})))
            return module

        yield add


def test_a_registered_kind_is_one_as_any_other(installed):
    installed({"acme-pages": "{0}:KIND"})
    assert "acme-pages" in KINDS and "acme-pages" in set(KINDS) and len(KINDS) == len(set(KINDS))
    assert kind_of_provider("com.acme.ACME-Pages") == "acme-pages"
    earlier, later = (SourceOffset(f'{{"page":{page}}}').view("acme-pages") for page in (2, 5))
    assert later.has_reached(earlier) and later.minus(earlier) == {"pages": 3} and later.minus(None) == {"pages": 5}
    with pytest.raises(MalformedEntryError, match="not an offset of the source type acme-pages"):
        SourceOffset("{}").view("acme-pages", "offsets/6")


def test_nothing_is_imported_before_it_is_used(installed):
    module = installed({"acme-pages": "{0}:KIND"})
    assert "acme-pages" in KINDS and "kafka" in KINDS and "nothing" not in KINDS
    assert module not in sys.modules
    assert KINDS["acme-pages"] is KINDS["acme-pages"]
    assert module in sys.modules


@pytest.mark.parametrize(("text", "value", "why"), [
    ("import no_such_module", "{0}:KIND", "it cannot be imported (ModuleNotFoundError: No module named 'no_such_module')"),
    ("raise SystemExit(3)", "{0}:KIND", "it cannot be imported (SystemExit: 3)"),
    ("KIND = 5", "{0}:KIND", "it cannot be imported (AttributeError"),
    ("MINE = 5", "{0}:MINE", "{0}:MINE is not a SourceKind"),
    (PAGES.replace("acme-pages", "pages"), "{0}:KIND", "it calls itself 'pages'"),
    ("(", "{0}:KIND", "it cannot be imported (SyntaxError"),
])  # fmt: skip
def test_a_broken_package_is_a_sentence_and_its_offsets_are_still_read(installed, text, value, why):
    value = value.replace("KIND", "OTHER") if text == "KIND = 5" else value
    module = installed({"acme-pages": value}, text)
    view = SourceOffset('{"page":5}').view("acme-pages")
    said = "the source type acme-pages of acme-ckpt 1.2 cannot be used: "
    assert view.kind.problem.startswith(said + why.format(module))
    assert view.positions == {} and view.why_not_comparable(view) == view.kind.problem
    for question in (view.compare, view.minus, view.ahead_of, view.has_passed):
        with pytest.raises(ValueError, match="cannot be used"):
            question(SourceOffset('{"page":4}').view("acme-pages"))


BAD = {
    "fits=lambda value: 1 / 0": "ZeroDivisionError: division by zero",
    "fits=lambda value: True, positions=lambda value: {1: (2,)}": "TypeError: positions has to give tuples of int",
    "fits=lambda value: True, positions=lambda value: {'a': 2}": "TypeError: positions has to give tuples of int",
    "fits=lambda value: True, positions=lambda value: {'a': ()}": "TypeError: positions has to give tuples of int",
    "fits=lambda value: True, positions=lambda value: {}, identity=lambda value: None": "TypeError: identity has to give text",
}


@pytest.mark.parametrize(("arguments", "why"), BAD.items())
def test_an_error_in_its_code_is_an_offset_that_cannot_be_read(installed, arguments, why):
    positions = "" if "positions" in arguments else ", positions=lambda value: {}"
    text = f"from airflow_provider_ckpt.api import SourceKind\nKIND = SourceKind('bad', {arguments}{positions})"
    installed({"bad": "{0}:KIND"}, text)
    with pytest.raises(MalformedEntryError) as said:
        SourceOffset('{"page":5}').view("bad", "offsets/6")
    assert f"(the source type bad failed: {why}" in said.value.message and said.value.name == "offsets/6"


@pytest.mark.parametrize("name", ["kafka", "Kafka", "a b", "1st", "x" * 61])
def test_no_name_of_ckpt_itself_is_replaced_and_no_odd_name_is_used(installed, name):
    module = installed({name: "{0}:KIND"})
    assert KINDS["kafka"].unit == "records" and "kafka" in KINDS
    assert (name in KINDS) == (name == "kafka") and module not in sys.modules
    [said] = registered_kinds.refused(KINDS.built_in)
    assert said.startswith(f"acme-ckpt 1.2 registers the source type {name!r:.60}") and "is not used" in said


def test_two_packages_that_register_one_name_are_both_refused(installed):
    installed({"acme-pages": "{0}:KIND"}, name="acme-ckpt")
    installed({"acme-pages": "{0}:KIND"}, name="other-ckpt")
    assert KINDS["acme-pages"].problem == (
        "the source type acme-pages of acme-ckpt 1.2 and other-ckpt 1.2 cannot be used: they do not agree on what it is"
    )


def test_a_name_that_nobody_registers_is_unknown(installed):
    assert registered_kinds.refused(KINDS.built_in) == ()
    with pytest.raises(KeyError):
        KINDS["nothing"]
    with pytest.raises(MalformedEntryError, match="unknown source type 'nothing'; the known types are"):
        SourceOffset("1").view("nothing")
