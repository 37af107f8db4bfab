"""Changes of sources on checkpoints of real Spark: what is there afterwards, what is refused, resuming and undo."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import SourceChange, parse_change
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointClosedError, CheckpointError, PlanError, StalePlanError
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.restart.sources import SOURCE_EVOLUTION
from airflow_provider_ckpt.storage.store import Store
from tests.faults import calls_to_fail

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "skipped unknown"}
Golden = Callable[[str], Path]


def files_of(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def in_flight(place: Path) -> Path:
    """The newest batch as if its query had been killed in it."""
    newest = max(int(path.name) for path in (place / "commits").iterdir() if path.name.isdigit())
    for name in (str(newest), f".{newest}.crc"):
        (place / "commits" / name).unlink(missing_ok=True)
    return place


def cut_after(place: Path, newest: int) -> None:
    """Leave the batches up to one."""
    for log in ("offsets", "commits"):
        for path in (place / log).iterdir():
            if int(path.name.strip(".").removesuffix(".crc")) > newest:
                path.unlink()


def said(text: str, *operators: str) -> SourceChange:
    words = text.split()
    return parse_change(
        [word for word in words if "=" in word], [word[1:] for word in words if word[0] == "-"], operators or None
    )


CHANGES = {
    "added": ("two-sources", "0=0 1=1 2=new"),
    "reordered": ("two-sources", "0=1 1=0"),
    "dropped": ("two-sources", "0=1 -0"),
    "copied": ("two-sources", "0=0 1=0 2=1"),
    "named": ("two-sources", "orders=0 payments=1"),
    "everything": ("two-sources", "a=1 b=1 c=new -0"),
    "names taken away": ("named-sources", "0=orders 1=payments"),
    "other names": ("named-sources", "a=orders payments=payments"),
    "version 2 without names": ("offset-log-v2", "0=new 1=0"),
    "a rate source": ("rate", "0=new 1=0"),
    "with state": ("agg-rocksdb", "0=0 1=new"),
    "with state in another format": ("agg-rocksdb-changelog-v2", "orders=0"),
    "a join that gets names": ("join-hdfs", "left=0 right=1"),
}


@pytest.mark.parametrize("flying", [False, True], ids=["committed", "in flight"])
@pytest.mark.parametrize(("case", "text"), CHANGES.values(), ids=CHANGES)
def test_spark_would_start_with_the_new_sources_and_undo_gives_the_bytes_back(golden: Golden, case, text, flying):
    place = golden(case)
    if case == "named-sources":
        ids = {source_id for source_id, _, _ in observe(Store.open(str(place))).source_offsets}
        text = text.replace("orders", min(ids)).replace("payments", max(ids)) if ids != {"orders", "payments"} else text
    place = in_flight(place) if flying else place
    before, stores, change = files_of(place), Stores(Store.open(str(place))), said(text)
    plan = make_source_change(stores, change)
    assert files_of(place) == before
    assert plan_from_dict(plan.to_dict()) == plan
    assert [plan.actions[at].do for at in (0, -1)] == ["close", "open"]
    assert apply(plan, stores, **STOPPED).status == "applied"
    deploy = declare(
        DeploySpec(),
        {"sources": dict.fromkeys((new for new, _ in change.continued), ""), "confs": {SOURCE_EVOLUTION: change.named}},
    )
    _, forecast = forecast_restart(stores.checkpoint, deploy, Store.open)
    assert forecast.spark_error is None, forecast.findings
    assert apply(plan, stores, **STOPPED).status == "already_applied"
    undo = make_undo(stores)
    assert apply(undo, stores, **STOPPED).status == "applied"
    assert files_of(place) == before
    assert [record.state for record in history(stores.checkpoint)] == ["undone", "applied"]


@pytest.mark.parametrize("flying", [False, True], ids=["committed", "in flight"])
def test_killed_after_any_step_it_is_completed_or_taken_back(golden: Golden, tmp_path, flying):
    place = golden("two-sources")
    before = files_of(in_flight(place) if flying else place)
    stores, change = Stores(Store.open(str(place))), said("a=1 b=1 c=new -0")

    def keep(count: int, total: int, name: str) -> None:
        """What a kill after this step would leave: links, because a copy would be another file."""
        shutil.copytree(place.parent, tmp_path / "left" / str(count), copy_function=os.link)

    plan = make_source_change(stores, change)
    apply(plan, stores, on_step=keep, **STOPPED)
    done = files_of(place)
    for at in calls_to_fail(len(plan.actions) - 1, 8):
        for back in (False, True):
            shutil.rmtree(place.parent)
            shutil.copytree(tmp_path / "left" / str(at), place.parent, copy_function=os.link)
            newest = max(int(path.name) for path in (place / "offsets").iterdir() if path.name.isdigit())
            assert (place / "offsets" / str(newest)).read_bytes() == CLOSING
            _, forecast = forecast_restart(stores.checkpoint, DeploySpec(), Store.open, quick=True)
            assert forecast.spark_error == "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
            with pytest.raises(CheckpointClosedError):
                make_source_change(stores, said("0=0 1=1 2=new"))
            again = make_undo(stores) if back else make_source_change(stores, change)
            apply(again, stores, break_lock=True, **STOPPED)
            assert files_of(place) == (before if back else done)


def test_the_batch_in_flight_can_still_be_dropped_afterwards(golden: Golden):
    """The entry before the newest committed one is changed as well."""
    place = in_flight(golden("two-sources"))
    stores = Stores(Store.open(str(place)))
    apply(make_source_change(stores, said("0=1 -0")), stores, **STOPPED)
    assert len({len((place / "offsets" / name).read_text().split("\n")) for name in ("3", "2", "1")}) == 1


def test_what_a_query_has_written_since_goes_with_the_undo(golden: Golden):
    place = golden("two-sources")
    before, stores = files_of(place), Stores(Store.open(str(place)))
    apply(make_source_change(stores, said("a=0 b=1 c=new")), stores, **STOPPED)
    entry = (place / "offsets/3").read_text()
    (place / "offsets/4").write_text(entry.replace("c:-", 'c:{"logOffset":0}'))
    (place / "commits/4").write_bytes((place / "commits/3").read_bytes())
    (place / "sources/c").mkdir()
    (place / "sources/c/0").write_text('v1\n{"path":"file:///in/c","timestamp":1,"batchId":0}')
    (place / "sources/a/4").write_text('v1\n{"path":"file:///in/a","timestamp":1,"batchId":4}')
    undo = make_undo(stores)
    assert "A query has written batch 4" in undo.warnings[1]
    apply(undo, stores, **STOPPED)
    assert files_of(place) == before


@pytest.mark.parametrize("newest", [0, 3])
def test_a_query_that_runs_the_batch_in_flight_meanwhile_does_not_make_it_unrepairable(golden: Golden, newest):
    place = golden("two-sources")
    commit = (place / "commits/2").read_bytes()
    cut_after(place, newest)
    in_flight(place)
    before, stores = files_of(place), Stores(Store.open(str(place)))

    def run(count: int, total: int, name: str) -> None:
        if name == "sources/a/0":  # a driver that lives commits its batch; it can plan no other one
            (place / f"commits/{newest}").write_bytes(commit)

    with pytest.raises(CheckpointError, match="a query started during the change of sources"):
        apply(make_source_change(stores, said("a=0 b=1")), stores, on_step=run, **STOPPED)
    apply(make_undo(stores), stores, **STOPPED)
    assert files_of(place) == before


def test_behind_a_fence_no_word_is_needed_and_the_fence_stays(golden: Golden):
    place = golden("two-sources")
    stores, change = Stores(Store.open(str(place))), said("orders=1 payments=0")
    put_fence(stores, settle_s=0)
    before = files_of(place)
    plan = make_source_change(stores, change, fenced=True)
    apply(plan, stores, quiet_s=0, accept_sink="skipped unknown")
    entry = stores.checkpoint.read("offsets/4")
    assert b"orders:" in entry and b"ckptFence" in entry and find_fence(stores) is not None
    apply(make_undo(stores), stores, **STOPPED)
    assert files_of(place) == before


def test_a_plan_of_before_a_batch_is_stale(golden: Golden):
    place = golden("two-sources")
    stores = Stores(Store.open(str(place)))
    plan = make_source_change(stores, said("0=1 1=0"))
    (place / "offsets/4").write_bytes((place / "offsets/3").read_bytes())
    with pytest.raises(StalePlanError):
        apply(plan, stores, **STOPPED)


def test_an_edited_plan_is_refused(golden: Golden):
    place = golden("two-sources")
    stores, before = Stores(Store.open(str(place))), files_of(place)
    fields = make_source_change(stores, said("0=1 1=0")).to_dict()
    fields["asked"] = said("0=0 1=1 2=new").key
    with pytest.raises(StalePlanError, match="is not the one that would be made"):
        apply(plan_from_dict(fields), stores, **STOPPED)
    assert files_of(place) == before


def test_the_first_batch_is_changed_alone(golden: Golden):
    place = golden("two-sources")
    cut_after(place, 0)
    stores = Stores(Store.open(str(place)))
    plan = make_source_change(stores, said("0=0 1=new -1"))
    assert [action.name for action in plan.actions if action.do == "replace"] == ["offsets/0"]
    in_flight(place)
    assert make_source_change(stores, said("0=0 1=new -1")).batch_id == 0


def cut_off(place: Path) -> None:
    (place / "offsets/3").write_bytes(b"v1\n{")


def without_the_one_before(place: Path) -> None:
    (place / "offsets/2").unlink()


def without_a_source_log(place: Path) -> None:
    (place / "sources/0/3").unlink()


def without_batches(place: Path) -> None:
    for log in ("offsets", "commits"):
        shutil.rmtree(place / log)
        (place / log).mkdir()


def with_a_link(place: Path) -> None:
    (place / "sources/2").symlink_to(place / "sources/0")


def with_a_file_for_a_directory(place: Path) -> None:
    (place / "sources/a").write_text("a note")


def with_a_directory_for_a_file(place: Path) -> None:
    (place / "sources/a/2").mkdir(parents=True)


DAMAGED = {
    with_a_file_for_a_directory: "in the way of what a source keeps",
    with_a_directory_for_a_file: "in the way of what a source keeps",
    cut_off: "cannot be read",
    without_a_source_log: "the checkpoint would have an error that it does not have now",
    without_batches: "no batch is planned",
    with_a_link: "contains a link",
}


@pytest.mark.parametrize(("damage", "says"), DAMAGED.items(), ids=[damage.__name__ for damage in DAMAGED])
def test_what_is_damaged_is_refused_and_left_alone(golden: Golden, damage, says):
    place = golden("two-sources")
    damage(place)
    before = files_of(place)
    with pytest.raises(CheckpointError, match=says):
        make_source_change(Stores(Store.open(str(place))), said("a=1 b=0"))
    assert files_of(place) == before


def test_what_stops_spark_before_the_change_and_after_it_is_said(golden: Golden):
    place = golden("two-sources")
    without_the_one_before(place)
    plan = make_source_change(Stores(Store.open(str(place))), said("a=1 b=0"))
    (told,) = (text for text in plan.warnings if "Spark does not start" in text)
    assert "before the change of sources and after it: " in told and "offsets/2" in told


def test_a_hole_below_the_batch_in_flight_is_told(golden: Golden):
    place = in_flight(golden("two-sources"))
    cut_after(place, 3)
    for name in ("offsets/2", "commits/2"):
        (place / name).unlink()
    plan = make_source_change(Stores(Store.open(str(place))), said("0=1 1=0"))
    (told,) = [warning for warning in plan.warnings if "async progress tracking" in warning]
    assert "Spark starts from this checkpoint" in told


def test_a_source_whose_log_is_lost_can_be_dropped(golden: Golden):
    place = golden("two-sources")
    without_a_source_log(place)
    stores = Stores(Store.open(str(place)))
    assert apply(make_source_change(stores, said("0=1 -0")), stores, **STOPPED).status == "applied"


REFUSED = {
    "continuous": ("0=0 1=new", "no metadata"),
    "join-hdfs": ("0=1 1=0", "say that the next query has the same ones"),
    "count-then-count": ("0=0 1=new", "2 stateful operators"),
}


@pytest.mark.parametrize(("case", "text", "says"), [(case, *rest) for case, rest in REFUSED.items()], ids=REFUSED)
def test_what_is_not_known_is_refused(golden: Golden, case, text, says):
    with pytest.raises(PlanError, match=says):
        make_source_change(Stores(Store.open(str(golden(case)))), said(text))


def test_a_repartition_that_was_not_finished_is_refused(golden: Golden):
    place = in_flight(golden("repartition-2-to-4"))
    view = observe(Store.open(str(place)))
    for batch in view.planned:
        if batch > 4 or view.unfinished_repartition is not None:
            break
    if view.unfinished_repartition is None:  # later batches came after it
        newest = max(view.planned)
        while view.unfinished_repartition is None and newest:
            for log in ("offsets", "commits"):
                for name in (str(newest), f".{newest}.crc"):
                    (place / log / name).unlink(missing_ok=True)
            newest -= 1
            for name in (str(newest), f".{newest}.crc"):
                (place / "commits" / name).unlink(missing_ok=True)
            view = observe(Store.open(str(place)))
    with pytest.raises(PlanError, match="a repartition that was not finished"):
        make_source_change(Stores(Store.open(str(place))), said("0=0 1=new"))


def test_the_sink_is_asked_about_a_batch_in_flight(golden: Golden):
    stores = Stores(Store.open(str(in_flight(golden("two-sources")))))
    effects = {
        text: make_source_change(stores, said(text), sink=parse_sink("kafka")).sink_effect
        for text in ("0=0 1=1 2=new", "a=1 b=0", "0=0 -1", "0=0 1=0 2=1")
    }
    assert list(effects.values()) == ["exact", "exact", "skipped", "unknown"]


def test_the_same_change_said_again_is_not_made_again(golden: Golden):
    """Two sources that change places would be where they were."""
    stores = Stores(Store.open(str(golden("two-sources"))))
    plan = make_source_change(stores, said("0=1 1=0"))
    apply(plan, stores, **STOPPED)
    assert make_source_change(stores, said("0=1 1=0")) == plan
    apply(make_undo(stores), stores, **STOPPED)
    assert make_source_change(stores, said("0=1 1=0")) != plan
