"""The registry: a check is found under the codes that it is registered for, and no code is invented."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks import CHECKS, file_sink, logs, registry


def test_a_check_is_registered_under_codes_of_rules_alone():
    with pytest.raises(ValueError, match="CKPT999"):
        registry.rule("CKPT101", "CKPT999")


def test_the_checks_of_modules_come_in_the_order_of_the_modules_and_of_their_lines():
    assert registry.checks_of(file_sink, logs)[0] is file_sink.ahead
    assert registry.checks_of(logs)[:2] == (logs.damaged_entries, logs.missing_metadata)


def test_every_check_is_run_and_every_code_of_one_is_explained():
    assert set(CHECKS) == set(registry.CHECKS)
    assert {code for codes in registry.CHECKS.values() for code in codes} <= registry.RULES.keys()
