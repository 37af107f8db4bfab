"""What an engine says is taken for stopped in one case alone: every run has ended, or is absent from a whole list."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen, generation_of, token_of

ENDED, LIVE, ABSENT = (Run(each.value, each) for each in (Presence.ENDED, Presence.LIVE, Presence.ABSENT))
UNKNOWN = Run("u", Presence.UNKNOWN, "WEIRD")


@pytest.mark.parametrize(
    ("runs", "complete", "known", "quiet"),
    [
        ((ENDED,), True, ("ended",), True),
        ((ENDED,), False, ("ended",), True),
        ((ABSENT,), True, ("absent",), True),
        ((ABSENT,), False, ("absent",), False),
        ((), True, (), True),
        ((), False, ("ended",), False),
        ((ENDED, LIVE), True, (), False),
        ((ENDED, UNKNOWN), True, (), False),
    ],
)
def test_silence_is_never_taken_for_stopped(runs, complete, known, quiet):
    seen = Seen(runs, Restarts.NONE, complete)
    assert (seen.unknown(known) is None and seen.is_quiet) is quiet


def test_what_is_not_known_is_named():
    assert Seen((UNKNOWN,)).unknown() == "the run u is in the state WEIRD"
    assert Seen((ENDED,)).unknown(("a",)) == "nothing was said of the run a"


@pytest.mark.parametrize(
    "token", ["orders", "orders-", "orders-x", "orders-01", "order-1", "orders-1-2", "-1", "orders-²"]
)
def test_what_is_no_token_of_a_name_has_no_generation(token):
    assert generation_of("orders", token) is None


def test_a_token_says_its_generation():
    assert generation_of("a-b", token_of("a-b", 17)) == 17
