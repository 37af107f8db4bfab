"""A storage that has not answered is not asked for each query."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.fleet.queries.silence import Silence, storage_of


@pytest.mark.parametrize(
    ("location", "storage"),
    [
        ("s3://lake/a/b", "s3://lake"),
        ("abfss://lake@account.dfs.core.windows.net/a", "abfss://lake@account.dfs.core.windows.net"),
        ("/mnt/a", None),
        ("file:///mnt/a", None),
        ("memory://a/b", "memory://a"),
    ],
)
def test_the_storage_of_a_location(location, storage):
    assert storage_of(location) == storage


def ask(silence: Silence, location: str | None, error: Exception | None = None) -> str:
    try:
        with silence.asking(location):
            if error is not None:
                raise error
    except StoreUnavailableError as told:
        return told.message
    except CheckpointNotFoundError:
        return "not found"
    return "answered"


def test_after_two_in_vain_it_is_not_asked_unless_it_has_ever_answered():
    silence, down = Silence(), StoreUnavailableError("down")
    assert ask(silence, "s3://a/1", down) == ask(silence, "s3://a/2", down) == "down"
    assert ask(silence, "s3://a/3") == "s3://a has not answered for others, so it was not asked for this one"
    assert ask(silence, "s3://b/1") == ask(silence, "/mnt/1") == ask(silence, None) == "answered"
    silence.was_in_vain("s3://b/2")
    silence.was_in_vain("s3://b/3")
    silence.was_in_vain("/mnt")
    assert ask(silence, "s3://b/4") == ask(silence, "/mnt/2") == "answered"


def test_an_error_that_is_not_silence_is_an_answer():
    silence, down = Silence(), StoreUnavailableError("down")
    assert ask(silence, "s3://a/0", CheckpointNotFoundError("gone")) == "not found"
    assert [ask(silence, "s3://a/1", down) for _ in range(3)] == ["down"] * 3
