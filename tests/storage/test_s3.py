"""The removal of a certain object by S3, and by stores that only resemble it."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from airflow_provider_ckpt.storage.s3 import delete_in_s3


class RefusedError(Exception):
    """What botocore raises, as far as it is read."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code}}


class FakeS3:
    """Notes the requests, and refuses those with a condition."""

    def __init__(self, code: str = "", number: int = errno.EINVAL) -> None:
        self.code, self.number = code, number
        self.conditions: list[str | None] = []

    def split_path(self, path: str) -> tuple[str, str, None]:
        bucket, _, key = path.partition("/")
        return bucket, key, None

    def call_s3(self, method: str, **given: Any) -> None:
        assert (method, given["Bucket"], given["Key"]) == ("delete_object", "lake", "offsets/8")
        self.conditions.append(given.get("IfMatch"))
        if self.code and "IfMatch" in given:
            raise OSError(self.number, "no") from RefusedError(self.code)


@pytest.mark.parametrize(
    ("code", "removed", "conditions"),
    [
        ("", True, ['"e1"']),
        ("PreconditionFailed", False, ['"e1"']),
        ("412", False, ['"e1"']),
        ("NotImplemented", True, ['"e1"', None]),
    ],
)
def test_an_object_is_removed_under_the_condition_that_it_is_the_one(code, removed, conditions):
    s3 = FakeS3(code)
    assert delete_in_s3(s3, "lake/offsets/8", "e1") is removed
    assert s3.conditions == conditions


def test_what_is_gone_is_removed_and_any_other_refusal_is_raised():
    class Gone(FakeS3):
        def call_s3(self, method: str, **given: Any) -> None:
            raise FileNotFoundError(given["Key"])

    assert delete_in_s3(Gone(), "lake/offsets/8", "e1")
    with pytest.raises(PermissionError):
        delete_in_s3(FakeS3("AccessDenied", errno.EACCES), "lake/offsets/8", "e1")
