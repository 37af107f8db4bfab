"""The forecast against real Spark over S3A: marks of directories and keys with empty parts, as tools leave them in S3.

What Spark did is recorded by ``python -m tests.oracle.bucket_trees``.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import pytest

from airflow_provider_ckpt.checks.inspect import inspect
from tests.oracle.bucket_trees import ADDED, CASES, foretell, put
from tests.oracle.judge import differences

pytestmark = pytest.mark.s3

OUTCOMES = json.loads((Path(__file__).parent / "buckets-4.3.json").read_text())


def test_every_case_was_put_to_spark():
    assert OUTCOMES.keys() == CASES.keys()


@pytest.mark.parametrize("name", [*CASES][:: 1 if os.environ.get("CKPT_EXHAUSTIVE") else 2])
def test_the_forecast_is_what_spark_did(name, tmp_path, s3_driver):
    case, added = CASES[name]
    bucket = f"case-{uuid.uuid4()}"
    s3_driver.mkdir(bucket)
    checkpoint = put(case, added, tmp_path, s3_driver, bucket)
    assert differences(foretell(case, tmp_path, checkpoint), OUTCOMES[name]) == []
    stops = OUTCOMES[name]["error"] is not None
    assert ("error" in {finding.severity for finding in inspect(checkpoint, deep=True)}) == stops, ADDED[added]
