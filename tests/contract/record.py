"""Write down what the contract holds: ``python -m tests.contract.record``. Only for what is new in it."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.storage.store import Store
from tests import s3_server
from tests.contract.changes import BUCKET, CHANGES, make, stand_still
from tests.contract.surface import surface

RECORDED = Path(__file__).parent / "recorded"


def main() -> None:
    with (
        s3_server.serving() as endpoint,
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as folder,
    ):
        stand_still(patch)
        Store.open("s3://any", key="test", secret="test", endpoint_url=endpoint).fs.mkdir(BUCKET)
        for name in CHANGES:
            _write(name, asdict(make(name, endpoint, Path(folder))))
    _write("surface", surface())  # the last: it imports Airflow, which logs on stdout from then on


def _write(name: str, value: Any) -> None:
    (RECORDED / f"{name}.json").write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
