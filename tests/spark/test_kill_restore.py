"""The real restore, killed at random moments: Spark refuses what is there or starts right, and the same completes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.storage.store import Store
from tests.spark_lab import Lab, truth

pytestmark = pytest.mark.spark

BATCHES = 6
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
#: How often it is killed at least; it goes on until one came in between.
KILLS, EVERY = (24, 2) if EXHAUSTIVE else (2, 2)


@pytest.mark.parametrize("config", ["stateless", "hdfs", "rocksdb-v2"] if EXHAUSTIVE else ["rocksdb-v2"])
def test_a_killed_restore_is_refused_or_right_and_completes(spark, tmp_path, config):
    lab, root = Lab(spark, tmp_path, config), tmp_path / "backups"
    lab.write(range(BATCHES))
    lab.run(pause_s=0.15)
    lab.write([BATCHES])
    taken = take_backup(Store.open(str(lab.checkpoint)), Store.open(str(root)))
    wanted = {item.name for item in taken.objects}
    rng, left = random.Random(config), []
    for kill in count():
        target = tmp_path / f"kill-{kill}"
        left.append(kill_while_restoring(root, target, rng.choice((0, 0.002, 0.005, 0.01, 0.02, 0.04))))
        if kill % EVERY == 0:
            assert_refused_or_right(lab, target, tmp_path / f"started-{kill}")
        again = subprocess.run(command(root, target), capture_output=True, text=True, timeout=800)
        assert again.returncode == 0, again.stderr
        assert set(Store.open(str(target)).find()) == wanted
        if kill % EVERY == 1:
            assert_right(lab, target)
        if kill + 1 >= KILLS and min(left) < len(wanted):
            break
        assert kill < 10 * KILLS, f"no kill came in between: {left}"


def command(root: Path, target: Path) -> list[str]:
    ckpt = str(Path(sys.executable).with_name("ckpt"))
    return [ckpt, "restore", str(root), "latest", "--to", str(target), "--execute", "--accept-sink", "unknown"]


def kill_while_restoring(root: Path, target: Path, delay_s: float) -> int:
    """Start the command, kill it some time after its first write; the number of files that are there then."""
    process = subprocess.Popen(command(root, target), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not target.exists():
        time.sleep(0.001)
    time.sleep(delay_s)
    process.kill()
    process.wait()
    return sum(path.is_file() for path in target.rglob("*"))


def assert_refused_or_right(lab: Lab, target: Path, aside: Path) -> None:
    shutil.copytree(target, aside)
    if not any(aside.rglob("*")):
        return
    try:
        run = lab.run(aside)
    except Exception as error:
        assert "doesn't exist" in str(error) or "METADATA" in str(error) or "not found in offset log" in str(error), (
            error
        )
    else:
        assert list(run.batches) == [BATCHES]


def assert_right(lab: Lab, target: Path) -> None:
    run = lab.run(target)
    assert list(run.batches) == [BATCHES]
    if lab.config != "stateless":
        assert run.result == truth(dict.fromkeys(range(BATCHES + 1), "A"))
