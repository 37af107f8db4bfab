"""Whatever a pattern finds has its literal."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.matching import literal_of
from airflow_provider_ckpt.explain.read_index import read_index


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"\bbatch (?P<batch>\d{1,18}) doesn't exist(?! when compacting)", " doesn't exist"),
        ("a|b", ""),
        ("(?i)Abc", ""),
        ("abcd?ef", "abc"),
        ("ab{2,3}cdef", "cdef"),
        (r"Set\([^()]{1,4000}\) are gone\. ", " are gone"),
        ("x(?:long literal)?yz", "yz"),
        ("[abc]def", "def"),
        (r"\d{1,3}", ""),
    ],
)
def test_a_pattern(pattern, literal):
    assert literal_of(pattern) == literal


def test_every_example_has_the_literal_of_each_pattern_that_finds_it():
    index = read_index()
    patterns = [text for item in index.items for text in (*item.texts, *item.told.shared_texts)]
    examples = [example for item in index.items for example in item.examples]
    missed = [
        (pattern.pattern, example)
        for pattern in patterns
        for example in examples
        if pattern.search(example) and literal_of(pattern.pattern) not in example
    ]
    assert missed == []
    assert sum(len(literal_of(pattern.pattern)) >= 4 for pattern in patterns) > len(patterns) / 2
