"""Staging a range in a task: what a template gives, and who holds the lock."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.change import lock
from airflow_provider_ckpt.operators.checkpoint import CheckpointStageOperator
from tests.blue_green.lab import FORK_ID, Query, fork_of
from tests.dying import die_at
from tests.operators.task import carry_out

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
        "shadow_sink": "",
    }


def test_the_lock_of_the_fork_names_the_task(tmp_path: Path, monkeypatch):
    """So that a try on another machine takes over the lock of one that was killed."""
    live, fork = Query(tmp_path / "live").run(*range(5)), fork_of(tmp_path / "fork", 2)
    taken, encode = [], lock.Holder.encode
    monkeypatch.setattr(lock.Holder, "encode", lambda holder: (taken.append(holder), encode(holder))[1])
    carry_out(CheckpointStageOperator, checkpoint=str(live.checkpoint), fork=str(fork.checkpoint), last_batch="4")
    assert {(holder.by, holder.plan_id) for holder in taken} == {("scale/monday/repartition", "stage-4")}


def test_tried_again_or_cleared_it_finds_its_own_range_though_the_live_query_has_gone_on(tmp_path: Path):
    """Killed before each of its writes in turn, and once not at all."""
    for write in count(1):
        live, fork = Query(tmp_path / f"live{write}").run(*range(5)), fork_of(tmp_path / f"fork{write}", 2)
        arguments = {"checkpoint": str(live.checkpoint), "fork": str(fork.checkpoint)}
        if (child := os.fork()) == 0:
            try:
                die_at(write, str(tmp_path / f"fork{write}"))
                carry_out(CheckpointStageOperator, **arguments)
            finally:
                os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        was_staged = (fork.checkpoint / "offsets" / "3").exists()
        live.run(5)
        again = carry_out(CheckpointStageOperator, **arguments)
        assert (again["first_batch"], again["last_batch"]) == (3, 4 if was_staged else 5), f"before write {write}"
        live.run(6)
        assert carry_out(CheckpointStageOperator, **arguments) == again
        if code == 0:
            break
    assert write > 3


def staged(tmp_path: Path, **arguments):
    live, fork = Query(tmp_path / "live").run(*range(5)), fork_of(tmp_path / "fork", 2)
    given = {
        "checkpoint": str(live.checkpoint),
        "fork": str(fork.checkpoint),
        "sink": f"file:{live.out}",
        "shadow_sink": f"file:{fork.out}",
    }
    return carry_out(CheckpointStageOperator, **{**given, **arguments})


def test_the_range_names_the_output_that_was_new(tmp_path: Path):
    arguments = [f"{tmp_path}/fork/checkpoint", f"{tmp_path}/fork/out"]
    assert staged(tmp_path, shadow_args=arguments)["shadow_sink"] == f"file:{tmp_path}/fork/out"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "none of them names the fork"),
        (["live/checkpoint", "live/out"], "live/checkpoint, which the live query uses"),
        (["fork/checkpoint", "live/out"], "live/out, which the live query uses"),
    ],
    ids=["nothing", "those of the live query", "the live sink"],
)
def test_arguments_that_would_start_the_new_version_on_what_is_live(tmp_path: Path, arguments, reason):
    with pytest.raises(AirflowFailException, match=f"shadow_args would not lead the new version .*{reason}"):
        staged(tmp_path, shadow_args=[f"file://{tmp_path}/{name}" for name in arguments])
    assert not (tmp_path / "fork" / "checkpoint" / "offsets" / "3").exists()


def test_an_application_that_finds_its_locations_elsewhere(tmp_path: Path):
    assert staged(tmp_path, shadow_args=None)["first_batch"] == 3


def test_a_second_application_on_the_fork(tmp_path: Path):
    """As pre_execute of the task that starts it, with what the range has told."""
    batches = staged(tmp_path)
    place = str(tmp_path / "fork" / "checkpoint"), batches, f"file:{tmp_path}/fork/out"
    CheckpointStageOperator.require_unstarted(*place)
    (tmp_path / "fork" / "checkpoint" / "commits" / "3").write_text("v1\n{}")
    with pytest.raises(AirflowFailException, match="an application has run on the fork already"):
        CheckpointStageOperator.require_unstarted(*place)
    with pytest.raises(AirflowFailException, match="batches: it must have first_batch"):
        CheckpointStageOperator.require_unstarted(place[0], {})


def test_a_shadow_sink_that_is_the_live_one_is_refused_before_anything_runs(tmp_path: Path):
    with pytest.raises(AirflowFailException, match="is the sink of the live query, or one is inside the other"):
        staged(tmp_path, shadow_sink=f"file:{tmp_path}/live/out/shadow")
    assert not (tmp_path / "fork" / "checkpoint" / "offsets" / "3").exists()


@pytest.mark.parametrize(("writer", "is_known"), [(FORK_ID, True), ("somebody else", False)])
def test_a_table_that_knows_the_fork_of_an_earlier_rehearsal(tmp_path: Path, writer, is_known):
    """The same backup, restored to the same place, has the same query id; the table would drop its batches."""
    import deltalake
    import pyarrow

    table = tmp_path / "table"
    assert staged(tmp_path, shadow_sink=f"delta:{table}")["shadow_sink"] == f"delta:{table}", "it is not there yet"
    rows = pyarrow.table({"a": [1]})
    mark = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(writer, 3)])
    deltalake.write_deltalake(str(table), rows, commit_properties=mark)
    if is_known:
        with pytest.raises(AirflowFailException, match=f"has batch 3 of the query {FORK_ID} of the fork already"):
            staged(tmp_path / "again", shadow_sink=f"delta:{table}")
    else:
        staged(tmp_path / "again", shadow_sink=f"delta:{table}")
