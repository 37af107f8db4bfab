"""An error of a driver is one of ours, whatever the server says in it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import ObjectExistsError, StoreUnavailableError
from airflow_provider_ckpt.storage.driver_errors import typed_error

AWS = {"Code": "PreconditionFailed", "Message": "At least one of the pre-conditions…", "Condition": "If-None-Match"}
S3PROXY = {"Code": "PreconditionFailed", "Message": "At least one of the preconditions you specified did not hold."}
WITHOUT_BODY = {"Code": "412", "Message": "Precondition Failed"}
BUSY = {"Code": "SlowDown", "Message": "Reduce your request rate."}


@pytest.mark.s3
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (AWS, ObjectExistsError),
        (S3PROXY, ObjectExistsError),
        (WITHOUT_BODY, ObjectExistsError),
        (BUSY, StoreUnavailableError),
    ],
)
def test_an_object_that_was_there_is_said_to_be_there(answer, expected):
    from botocore.exceptions import ClientError
    from s3fs.errors import translate_boto_error

    error = translate_boto_error(ClientError({"Error": answer}, "PutObject"))
    assert (
        type(typed_error(error, "said", {"location": "s3://lake/q", "name": "lock.json"}, is_local=False)) is expected
    )
