"""Checkpoints in a bucket of S3 with what tools leave there that no disk has, put to real Spark over S3A.

``python -m tests.oracle.bucket_trees`` records what Spark did in ``buckets-<version>.json``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.case import Case
from tests.oracle.judge import deploy_of
from tests.oracle.prepared import prepare

HERE = Path(__file__).parent
CHECKPOINT = "checkpoint"
_LOGS = ("offsets", "commits", "sources", "state")


def _each(form: str, *names: str) -> tuple[str, ...]:
    return tuple(form.format(name) for name in names)


#: Keys of objects without content that are added: ``{N}`` is the newest batch, ``{X}`` the one after it.
ADDED: Mapping[str, tuple[str, ...]] = {
    "as it is": (),
    "console": ("", *_each("{}/", *_LOGS), "sources/0/", "state/0/0/"),
    "s3n": ("_$folder$", *_each("{}_$folder$", *_LOGS, "sources/0", "state/0", "state/0/0")),
    "s3n inside": _each("{}/_$folder$", *_LOGS, "sources/0", "state/0/0"),
    "wasb offsets": ("offsets",),
    "wasb commits": ("commits",),
    "wasb sources": ("sources", "sources/0"),
    "wasb above sources": ("sources",),
    "wasb above state": ("state", "state/0"),
    "wasb state": ("state", "state/0", "state/0/0"),
    "wasb all": (*_LOGS, "sources/0", "state/0"),
    "empty part before": ("/offsets/{X}",),
    "empty part after": ("offsets//{X}",),
    "empty part of an entry": ("offsets//0",),
    "empty part of commits": ("commits//{X}",),
    "empty part of a source": ("sources//0/{X}", "sources/0//{X}"),
    "empty part of state": ("state//0/0/1.delta", "state/0//0/1.delta", "state/0/0//99.delta"),
    "two empty parts": ("offsets///{X}", "commits///{X}"),
    "directory of an entry": ("offsets/{X}/",),
    "directory of a commit": ("commits/{X}/",),
    "directory with the number of the newest": ("offsets/{N}/",),
    "marker of an entry": ("offsets/{X}_$folder$",),
    "a directory as an entry": ("offsets/{X}/part",),
}
BASES = ("file", "agg-hdfs", "agg-changelog-v2")
#: Every case: a golden checkpoint, and what was added to it.
CASES = {f"{base} | {added}": (Case(base), added) for base in BASES for added in ADDED}


def put(case: Case, added: str, home: Path, fs: Any, bucket: str) -> Store:
    """Prepare a case below a directory and put its checkpoint into a bucket, with what was added; its store."""
    checkpoint = prepare(case, home)
    newest = max(int(path.name) for path in (checkpoint / "offsets").glob("[0-9]*"))
    for path in sorted(path for path in checkpoint.rglob("*") if path.is_file()):
        if not path.name.endswith(".crc"):  # S3A writes none
            key = f"{CHECKPOINT}/{path.relative_to(checkpoint)}"
            fs.call_s3("put_object", Bucket=bucket, Key=key, Body=path.read_bytes())
    for name in ADDED[added]:
        key = f"{CHECKPOINT}/{name.format(N=newest, X=newest + 1)}"
        fs.call_s3("put_object", Bucket=bucket, Key=key, Body=b"")
    return Store(fs, f"{bucket}/{CHECKPOINT}", f"s3://{bucket}/{CHECKPOINT}")


def foretell(case: Case, home: Path, checkpoint: Store) -> Forecast:
    """What the gate says of a checkpoint in a bucket."""
    sink = Store.open(str(home / "output")) if case.deployed.sink == "parquet" else None
    return forecast(examine(checkpoint, deep=True, sink=sink), deploy_of(case, (4, 3), home))


def main() -> int:
    """Ask Spark about every case whose name holds the first argument, and compare."""
    import pyspark

    from tests import s3_server
    from tests.oracle.judge import differences
    from tests.oracle.restart import SPARK, OracleInBucket

    only = sys.argv[1] if len(sys.argv) > 1 else ""
    path = HERE / f"buckets-{'.'.join(map(str, SPARK))}.json"
    recorded = json.loads(path.read_text()) if path.exists() else {}
    differ = 0
    with tempfile.TemporaryDirectory(prefix="buckets-") as scratch, s3_server.serving() as url:
        fs = Store.open("s3://any", key="test", secret="test", endpoint_url=url).fs
        oracle = OracleInBucket(Path(scratch), fs, url)
        for name, (case, added) in CASES.items():
            if only not in name:
                continue
            outcome, foretold = oracle.ask_in_bucket(case, added)
            recorded[name] = asdict(outcome)
            found = differences(foretold, recorded[name])
            differ += bool(found)
            print(f"{name}: {outcome.error} {outcome.batches} {outcome.message or ''} {found or ''}", flush=True)
        oracle.spark.stop()
    lines = (f"{json.dumps(name)}: {json.dumps(recorded[name])}" for name in CASES if name in recorded)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"Spark {pyspark.__version__}: {len(recorded)} cases, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
