"""Staging a range in a task: what a template gives, and who holds the lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.change import lock
from airflow_provider_ckpt.operators.checkpoint import CheckpointStageOperator
from tests.operators.task import carry_out
from tests.shadow.lab import Query, fork_of

pytestmark = pytest.mark.airflow


@pytest.mark.parametrize("last", [4, "4", "", None])
def test_a_template_gives_the_last_batch(tmp_path: Path, last):
    live, fork = Query(tmp_path / "live").run(*range(5)), fork_of(tmp_path / "fork", 2)
    staged = carry_out(
        CheckpointStageOperator, checkpoint=str(live.checkpoint), fork=str(fork.checkpoint), last_batch=last
    )
    assert staged == {
        "format_version": 1,
        "first_batch": 3,
        "last_batch": 4,
        "stateful": False,
        "offsets": {"0": '{"offset": 15}'},
        "watermark_ms": 0,
    }


def test_the_lock_of_the_fork_names_the_task(tmp_path: Path, monkeypatch):
    """So that a try on another machine takes over the lock of one that was killed."""
    live, fork = Query(tmp_path / "live").run(*range(5)), fork_of(tmp_path / "fork", 2)
    taken, encode = [], lock.Holder.encode
    monkeypatch.setattr(lock.Holder, "encode", lambda holder: (taken.append(holder), encode(holder))[1])
    carry_out(CheckpointStageOperator, checkpoint=str(live.checkpoint), fork=str(fork.checkpoint), last_batch="4")
    assert {(holder.by, holder.plan_id) for holder in taken} == {("scale/monday/repartition", "stage-4")}
