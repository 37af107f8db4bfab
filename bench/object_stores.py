"""Backups inside one S3 against ``rclone copy``, which lets S3 copy as well; bytes are counted where S3 is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, require_rclone, run
from s3_server import CountingS3, counting_s3
from samples import write_state

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.storage.store import Store

PARTITIONS, VERSIONS, FILE_BYTES = 20, 20, 50_000
THREADS = 8
BUCKET = "lake"


def measure(directory: Path) -> Iterator[Row]:
    """Every row of this subject."""
    require_rclone()
    checkpoint = write_state(directory / "in-s3", PARTITIONS, VERSIONS, FILE_BYTES)
    with counting_s3() as s3:
        lake = Store.open(f"s3://{BUCKET}", key="k", secret="s", endpoint_url=s3.url)
        lake.fs.mkdir(BUCKET)
        for path in checkpoint.rglob("*"):
            if path.is_file():
                lake.create(f"orders/{path.relative_to(checkpoint).as_posix()}", path.read_bytes())
        yield from full_backup(lake, s3)
        yield from unchanged_backup(lake, s3)


def full_backup(lake: Store, s3: CountingS3) -> Iterator[Row]:
    """Each in turn, both with as many copies under way at a time."""
    objects = len(lake.find("orders"))
    ours_s, ours = s3.during(lambda: take_backup(lake.child("orders"), lake.child("backups"), threads=THREADS))
    theirs_s, theirs = s3.during(lambda: rclone_copy(s3.url, "orders", "copied"))
    assert len(lake.find("copied")) == objects
    what = f"full backup inside S3, {objects} objects"
    state = (f"{counted['state bytes']:,}" for counted in (ours, theirs))
    each, other = ours["requests"] / objects, theirs["requests"] / objects
    yield f"{what} / rclone copy", f"{ours_s:.1f} s", f"{theirs_s:.1f} s", f"{ours_s / theirs_s:.2f}x", "near 1x"
    yield f"{what}, bytes of state through the client", *state, "-", "0"
    yield f"{what}, other bytes: log entries, manifest", f"{ours['other bytes']:,}", "-", "-", "-"
    yield f"{what}, requests an object", f"{each:.2f}", f"{other:.2f}", f"{each / other:.2f}x", "-"


def unchanged_backup(lake: Store, s3: CountingS3) -> Iterator[Row]:
    """What a second backup moves and asks."""
    seconds, counted = s3.during(lambda: take_backup(lake.child("orders"), lake.child("backups")))
    yield "unchanged second backup inside S3, bytes of state", f"{counted['state bytes']:,}", "-", "-", "0"
    yield "unchanged second backup inside S3, copies of state by S3", f"{counted['state copies']}", "-", "-", "0"
    yield "unchanged second backup inside S3, requests", f"{counted['requests']}", "-", "-", "-"
    yield "unchanged second backup inside S3, time", f"{seconds:.1f} s", "-", "-", "-"


def rclone_copy(url: str, source: str, target: str) -> None:
    """``rclone copy`` between two places of one remote, which it does on the server."""
    remote = {"TYPE": "s3", "PROVIDER": "Other", "ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s", "ENDPOINT": url}
    own = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}  # what is set for a real S3
    env = {**own, **{f"RCLONE_CONFIG_S3_{key}": value for key, value in remote.items()}}
    run(["rclone", "copy", f"s3:{BUCKET}/{source}", f"s3:{BUCKET}/{target}", "--transfers", str(THREADS)], env)
