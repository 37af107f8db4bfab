"""The real command, killed at random moments: Spark starts right, and the same command completes."""

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

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.storage.store import Store
from tests.spark.bad_deploy import BATCHES, KEEP, assert_right

pytestmark = pytest.mark.spark

#: How often it is killed at least; it goes on until one came in between.
KILLS = 12 if os.environ.get("CKPT_EXHAUSTIVE") else 2


def command(checkpoint: Path) -> list[str]:
    ckpt = str(Path(sys.executable).with_name("ckpt"))
    options = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "unknown"]
    return [ckpt, "rollback", str(checkpoint), "--to-batch", str(KEEP), *options]


@pytest.mark.parametrize("config", [pytest.param("stateless", marks=pytest.mark.exhaustive), "rocksdb-v2"])
def test_a_killed_rollback_leaves_a_sound_checkpoint_and_completes(bad_deploy, tmp_path, config):
    lab = bad_deploy(config, tmp_path)
    lab.write([BATCHES], "B")
    rng, states = random.Random(config), []
    for kill in count():
        checkpoint = copied(lab.checkpoint, tmp_path / f"kill-{kill}")
        process = subprocess.Popen(command(checkpoint), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        records = checkpoint.parent / "_ckpt_undo" / checkpoint.name
        while process.poll() is None and not list(records.glob("*/plan.json")):
            time.sleep(0.0005)
        time.sleep(rng.choice((0, 0.001, 0.002, 0.004, 0.008, 0.016)))
        process.kill()
        process.wait()
        found = history(Store.open(str(checkpoint)))
        states.append(found[-1].state if found else "not begun")
        if kill % 4 == 0:
            aside = copied(checkpoint, tmp_path / f"restarted-{kill}")
            assert_right(lab, lab.run(aside), f"kill {kill}, {states[-1]}")
        again = subprocess.run(command(checkpoint), capture_output=True, text=True, timeout=800)
        assert again.returncode == 0, again.stderr
        assert [record.state for record in history(Store.open(str(checkpoint)))][-1:] in (["applied"], [])
        if kill % 4 == 1:
            run = lab.run(checkpoint)
            assert run.first_batch == KEEP + 1
            assert_right(lab, run, f"completed after kill {kill}")
        if kill + 1 >= KILLS and set(states) & {"planned", "interrupted"}:
            break
        assert kill < 10 * KILLS, f"no kill came in between: {states}"


def copied(checkpoint: Path, root: Path) -> Path:
    shutil.copytree(checkpoint, root / "checkpoint")
    return root / "checkpoint"
