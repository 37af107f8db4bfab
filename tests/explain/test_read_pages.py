"""Every page of the runbook: its texts find its examples in linear time, its commands parse, its rules are there."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.explain.read_index import read_pages
from tests.explain.facts import filled
from tests.explain.slow_patterns import too_slow
from tests.package import PACKAGE

ROOT = PACKAGE.parent

PAGES = {page.name: page for page in read_pages()}
each_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


def test_each_symptom_has_one_number_and_one_title():
    assert [number for number, times in Counter(page.number for page in PAGES.values()).items() if times > 1] == []
    assert [title for title, times in Counter(page.title for page in PAGES.values()).items() if times > 1] == []


def test_a_condition_has_one_page():
    named = Counter(name for page in PAGES.values() for name in page.conditions)
    assert [name for name, times in named.items() if times > 1] == []


def test_the_list_has_every_page_by_its_number():
    index = (ROOT / "docs/runbook/index.md").read_text()
    listed = re.findall(r"^\| (\d+) \| \[.*\]\(([\w-]+)\.md\) \|.*$", index, re.MULTILINE)
    assert listed == [(str(page.number), page.name) for page in PAGES.values()]


@each_page
def test_a_page_is_found_by_its_examples(page):
    texts = (*page.texts, *page.told.shared_texts)
    for pattern in texts:
        assert any(pattern.search(example) for example in page.examples), pattern.pattern
    for example in page.examples:
        assert " ".join(example.split()) == example
        assert any(pattern.search(example) for pattern in texts), example
    assert bool(page.told.maybe) >= bool(page.told.shared_texts or page.told.loggers)
    assert page.texts or page.conditions


@each_page
def test_an_example_is_of_its_own_page_alone(page):
    """But where the stack trace tells them apart."""
    for example in page.examples:
        found = {
            other.name
            for other in PAGES.values()
            for text in (*other.texts, *other.told.shared_texts)
            if text.search(example)
        }
        assert {name for name in found if not PAGES[name].frames} <= {page.name}, example


@each_page
def test_the_texts_of_a_page_take_linear_time(page):
    texts = (*page.texts, *page.told.shared_texts)
    assert {text.pattern: too_slow(text.pattern) for text in texts if too_slow(text.pattern)} == {}


@pytest.mark.parametrize(
    "pattern", ["a(b+)+", "a.*b.*c", ".*a", r"(?P<x>\S{1,2000}/a)", r"a(?:\d{1,5000}x)*", "(?:ab*)*"]
)
def test_what_takes_long_is_seen(pattern):
    assert too_slow(pattern) is not None


@each_page
def test_the_rules_of_a_page_are_there(page):
    assert [code for code in page.rules if code not in RULES] == []


@each_page
def test_the_conditions_and_frames_have_the_form_of_such(page):
    conditions = [*page.conditions, *(name for cause in page.causes for name in cause.conditions)]
    frames = [*page.frames, *(name for cause in page.causes for name in cause.frames)]
    assert [name for name in conditions if not re.fullmatch(r"[A-Z0-9_]+(\.[A-Z0-9_]+)?", name)] == []
    assert [name for name in frames if not re.fullmatch(r"\w+(\.[\w$]+)?", name)] == []


@each_page
def test_the_commands_of_a_page_parse(page):
    """With what the examples say in place of the groups."""
    assert any(cause.commands for cause in page.causes)
    filled({text for cause in page.causes for text in cause.commands}, page.texts, page.examples)


@each_page
def test_a_page_reads_as_others_do(page):
    assert all(page.sections.values())
    for cause in page.causes:
        assert 20 < len(cause.text) < 700, cause.heading
        assert cause.text.endswith("."), cause.heading
