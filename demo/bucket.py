"""Make the bucket of the demo, unless it is there: python demo/bucket.py BUCKET."""

from __future__ import annotations

import contextlib
import sys

from s3fs import S3FileSystem


def make(bucket: str) -> None:
    """Make it; the server and the keys come from AWS's own variables.

    The server is not asked whether it has the bucket: some answer a question about one that they do not have.
    """
    with contextlib.suppress(FileExistsError):
        S3FileSystem().call_s3("create_bucket", Bucket=bucket)


if __name__ == "__main__":
    make(sys.argv[1])
