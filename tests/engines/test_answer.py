"""The answer of a command about runs, and answers that say nothing."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.engines.answer import parse_answer
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen


def test_an_answer_says_runs_restarts_and_whether_it_is_whole():
    text = json.dumps(
        {
            "runs": [
                {"id": "a", "presence": "live", "native": "RUNNING", "token": "orders-3", "ui": "http://h/a"},
                {"id": "b", "native": "FINISHED", "token": "other-3"},
                {"id": "c", "native": "RESTARTING"},
            ],
            "restarts": "armed",
            "complete": True,
        }
    )
    assert parse_answer(text, "orders", {"FINISHED": "ended"}) == Seen(
        (
            Run("a", Presence.LIVE, "RUNNING", 3, "http://h/a"),
            Run("b", Presence.ENDED, "FINISHED"),
            Run("c", Presence.UNKNOWN, "RESTARTING"),
        ),
        Restarts.ARMED,
        complete=True,
    )


def test_what_is_not_said_is_unknown():
    assert parse_answer('{"runs": []}', "orders", {}) == Seen((), Restarts.UNKNOWN, complete=False)


def test_a_presence_that_is_not_that_of_the_native_state_is_unknown():
    text = json.dumps({"runs": [{"id": "a", "native": "RUNNING", "presence": "ended"}]})
    assert parse_answer(text, "orders", {"RUNNING": "live"}).runs[0].presence is Presence.UNKNOWN


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not JSON"),
        ('{"runs": [{"id": "a", "presence": "live"}], "runs": []}', "has a key twice"),
        ("[]", "it is no JSON object"),
        ("{}", "its key runs is no list"),
        ('{"runs": [], "state": "RUNNING"}', "it has the unknown key 'state'; the keys are runs, restarts, complete"),
        ('{"runs": ["a"]}', "a run is no JSON object"),
        ('{"runs": [{"id": "a"}]}', "the key native of a run is no text"),
        ('{"runs": [{"id": "", "native": "x"}]}', "a run has no id"),
        ('{"runs": [{"id": "a", "presence": "up"}]}', "its key presence is 'up', and has to be one of live, ended"),
        ('{"runs": [], "complete": "yes"}', "its key complete is neither true nor false"),
        ('{"runs": [], "restarts": true}', "its key restarts is True"),
        ('{"runs": [{"id": "a", "presence": "live"}, {"id": "a", "presence": "ended"}]}', "it has one run twice"),
        ('{"runs": [{"id": "a", "presence": "live", "generation": "3"}]}', "the generation of the run a is no whole"),
    ],
)
def test_an_answer_that_says_nothing_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        parse_answer(text, "orders", {})
