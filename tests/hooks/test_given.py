"""What says nothing, as templates write it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.hooks.given import is_left_out, is_nothing

pytestmark = pytest.mark.airflow


@pytest.mark.parametrize("value", [None, "", "None", "{}", (), {}])
def test_what_a_template_makes_of_nothing_is_nothing(value):
    assert is_nothing(value) and is_left_out(value) is not isinstance(value, str)


@pytest.mark.parametrize("value", [[], "[]", 0, False, "none", "{{ params.sources }}", ("a",)])
def test_all_else_says_something(value):
    assert not is_nothing(value) and not is_left_out(value)
