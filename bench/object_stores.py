"""Backups inside one S3 against ``rclone copy``, which lets S3 copy as well; bytes are counted where S3 is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, require_rclone, run
from s3_server import CountingS3, counting_s3
from samples import write_state

from airflow_provider_ckpt.backup.manifest import Manifest
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
    """Each in turn, all with as many copies under way at a time.

    S3 copies what it holds; to judge it, a backup reads each new state file once. A quick one judges nothing of it.
    """
    objects = {name: stored.size for name, stored in lake.find("orders").items()}
    state_bytes = sum(size for name, size in objects.items() if "/state/" in name)
    theirs_s, theirs = s3.during(lambda: rclone_copy(s3.url, "orders", "copied"))
    assert len(lake.find("copied")) == len(objects)
    for kind, root, most in (("full backup", "backups", state_bytes), ("full quick backup", "quick", 0)):
        ours_s, ours = s3.during(lambda: back_up(lake, root, quick=kind != "full backup"))  # noqa: B023  # called at once
        what = f"{kind} inside S3, {len(objects)} objects"
        state = (f"{counted['state bytes']:,}" for counted in (ours, theirs))
        each, other = ours["requests"] / len(objects), theirs["requests"] / len(objects)
        near = "near 1x" if not most else "-"
        yield f"{what} / rclone copy", f"{ours_s:.1f} s", f"{theirs_s:.1f} s", f"{ours_s / theirs_s:.2f}x", near
        yield f"{what}, bytes of state through the client", *state, "-", f"<= {most:,}" if most else "0"
        yield f"{what}, other bytes: log entries, manifest", f"{ours['other bytes']:,}", "-", "-", "-"
        yield f"{what}, requests an object", f"{each:.2f}", f"{other:.2f}", f"{each / other:.2f}x", "-"


def back_up(lake: Store, root: str, *, quick: bool) -> Manifest:
    """A backup of the checkpoint in the lake."""
    return take_backup(lake.child("orders"), lake.child(root), threads=THREADS, quick=quick)


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
