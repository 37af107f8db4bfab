"""The entry that closes a checkpoint: no Spark reads it, and what it is is said in words."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.closing import CLOSING
from airflow_provider_ckpt.errors import CheckpointClosedError, UnsupportedVersionError


def test_its_version_is_the_latest_that_java_can_count():
    assert CLOSING.startswith(b"v%d\n" % (2**31 - 1))


def test_it_is_named_as_what_it_is():
    with pytest.raises(CheckpointClosedError, match="a change by ckpt has not ended"):
        codec.decode("offsets/8", CLOSING)


@pytest.mark.parametrize("data", [CLOSING[:-1], CLOSING + b"-", b"v2147483647\n{}"], ids=["cut", "longer", "another"])
def test_any_other_entry_of_that_version_is_one_of_a_later_spark(data):
    with pytest.raises(UnsupportedVersionError) as caught:
        codec.decode("offsets/8", data)
    assert not isinstance(caught.value, CheckpointClosedError)
