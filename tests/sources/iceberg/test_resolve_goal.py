"""Where a source goes that reads an Iceberg table, on tables and checkpoints that real Spark has written.

That a query reads from there is shown by real Spark in tests/spark/test_iceberg_reset.py.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset, of_value
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, PlanError, StalePlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.goal import Goal, SkipSnapshot, ToSnapshot
from airflow_provider_ckpt.sources.iceberg.resolve_goal import IcebergAim
from airflow_provider_ckpt.sources.kafka.strategies import (
    ByDuration,
    ShiftBy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
)
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg import read_history
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore, calls_to_fail
from tests.goldens import unpack
from tests.sources.iceberg_stop_records import RECORDED
from tests.sources.iceberg_stops import CASES

INITIAL = "sources/0/offsets/0"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return unpack(RECORDED, tmp_path_factory.mktemp("stops"))


class Case:
    """A table and a checkpoint on it, in a place of its own."""

    def __init__(self, recorded: Path, root: Path, name: str) -> None:
        self.table = Store.open(str(recorded / name / "table"))
        self.history = read_history(self.table)
        self.checkpoint = Store.open(str(root / "checkpoint"))
        for path in (recorded / name / "checkpoint").rglob("*"):
            if path.is_file():
                self.checkpoint.create(str(path.relative_to(recorded / name / "checkpoint")), path.read_bytes())
        self.stores = Stores(self.checkpoint)

    def oldest(self, number: int) -> int:
        """The id of a snapshot of the main branch, by its number from the oldest; negative ones from the newest."""
        return self.history.snapshots[::-1][number].snapshot_id

    def plan(self, goal: Goal, **options: object) -> Plan:
        sink = parse_sink("kafka")
        return make_reset(self.stores, "0", IcebergAim(self.table, goal), **{"sink": sink, **options})

    def apply(self, plan: Plan) -> None:
        effects = "duplicated skipped unknown"
        apply(plan, self.stores, query_is_stopped=True, quiet_s=0, accept_sink=effects)

    @property
    def position(self) -> IcebergOffset:
        view = observe(self.checkpoint)
        offset = view.offset_seq(view.latest_committed or 0).offset("0")
        assert offset is not None
        return of_value(offset.view("iceberg").value)

    @property
    def initial(self) -> IcebergOffset:
        return of_value(json.loads(self.checkpoint.read(INITIAL)))


@pytest.fixture
def case(recorded, tmp_path):
    return lambda name: Case(recorded, tmp_path, name)


GOALS = {
    # two snapshots are read, and a third one is there; each has one file
    "the end of the first": ("appended", lambda case: ToSnapshot(case.oldest(0)), (0, 1)),
    "the end of the newest": ("appended", lambda case: ToSnapshot(case.oldest(2)), (2, 1)),
    "the oldest": ("appended", lambda case: ToEarliest(), (0, 0)),
    "the newest": ("appended", lambda case: ToLatest(), (2, 1)),
    "a time": ("appended", lambda case: ToDatetime(case.history.snapshots[1].at_ms), (1, 0)),
    "a time before all": ("appended", lambda case: ToDatetime(0), (0, 0)),
    "a time after all": ("appended", lambda case: ByDuration(0), (2, 1)),
    "long ago": ("appended", lambda case: ByDuration(10**13), (0, 0)),
    # append, append, append, delete, append
    "the end of a delete": ("deleted", lambda case: ToSnapshot(case.oldest(3)), (4, 0)),
    # append, append, overwrite, append
    "one that is skipped": ("overwritten", lambda case: SkipSnapshot(case.oldest(2)), (3, 0)),
    "an append that is skipped": ("appended", lambda case: SkipSnapshot(case.oldest(2)), (2, 1)),
    # append, append, replace, append
    "one behind a replace": ("replaced", lambda case: SkipSnapshot(case.oldest(3)), (3, 1)),
    "the snapshot that both have": ("rolled_back_and_appended", lambda case: ToSnapshot(case.oldest(0)), (0, 1)),
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", GOALS)
def test_the_source_goes_there_and_undo_gives_the_bytes_back(case, name, version):
    recorded, goal_of, (number, position) = GOALS[name]
    at = case(recorded)
    if version == 2:
        write_in_version_2(at.checkpoint)
    before, goal = read_all(at.checkpoint), goal_of(at)
    at.apply(plan_from_dict(at.plan(goal).to_dict()))
    assert at.position == IcebergOffset(at.oldest(number), position)
    at.apply(make_undo(at.stores))
    assert read_all(at.checkpoint) == before


def write_in_version_2(checkpoint: Store) -> None:
    """The entries as a later Spark writes them, of which none has an Iceberg yet."""
    view = observe(checkpoint)
    for batch_id in view.planned:
        entry = view.offset_seq(batch_id)
        data = OffsetSeq(2, entry.metadata, entry.offsets).encode()
        for name in (f"offsets/{batch_id}", f"offsets/.{batch_id}.crc"):
            checkpoint.delete(name)
        checkpoint.create(f"offsets/{batch_id}", data)


EFFECTS = {
    "nothing is left out and nothing is read again": ("appended", ToCurrent(), []),
    "all is read again": ("appended", ToEarliest(), ["duplicated"]),
    "the rest is left out": ("appended", ToLatest(), ["skipped"]),
    "what expired is unknown": ("long_expired", ToEarliest(), ["duplicated", "skipped"]),
    "the snapshot right after it is there": ("position_expired", ToEarliest(), ["skipped"]),
    "another table": ("recreated", ToLatest(), ["duplicated", "skipped"]),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_the_effect_on_the_sink_is_that_of_the_files_between(case, name):
    recorded, goal, effects = EFFECTS[name]
    plan = case(recorded).plan(goal)
    assert [item.effect for item in plan.effects] == (effects or ["exact"])


def test_what_is_skipped_is_named_with_its_operation_files_rows_and_time(case):
    at = case("overwritten")
    overwrite = at.history.find(at.oldest(2))
    plan = at.plan(SkipSnapshot(overwrite.snapshot_id))
    assert (
        plan.notes[1] == (f"Skipped is snapshot {overwrite.text}.")
        and "adds 1 data file with 1 row and removes 2 data files with 2 rows" in plan.notes[1]
    )
    (effect,) = plan.effects
    assert effect.reason == f"it never gets the rows of snapshot {overwrite.text}, of source 0"
    at.apply(plan)


# --- the initial offset ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["initial_expired", "initial_at_the_end"])
def test_an_initial_offset_that_stops_a_query_is_replaced_and_the_position_stays(case, name):
    at = case(name)
    position, before = at.position, read_all(at.checkpoint)
    plan = at.plan(ToCurrent())
    assert [(action.do, action.name) for action in plan.actions][-1] == ("replace", INITIAL)
    assert any("becomes the oldest snapshot that the table has at that start" in note for note in plan.notes)
    at.apply(plan)
    assert (at.initial, at.position) == (START, position)
    at.apply(make_undo(at.stores))
    assert read_all(at.checkpoint) == before


def test_an_initial_offset_after_what_stops_it(case):
    at = case("deleted_before")
    at.apply(at.plan(ToCurrent()))
    assert at.initial == IcebergOffset(at.oldest(3), 0)
    assert not at.plan(ToCurrent()).actions, "it walks now"


def test_an_initial_offset_that_will_do_stays(case):
    assert not case("appended").plan(ToCurrent()).actions


def test_position_and_initial_offset_are_replaced_in_this_order(case):
    at = case("position_expired")
    plan = at.plan(ToEarliest())
    replaced = [action.name for action in plan.actions if action.do == "replace"]
    assert replaced == [INITIAL, "offsets/0"]
    at.apply(plan)
    assert (at.initial, at.position) == (START, IcebergOffset(at.oldest(0), 0))


def test_an_initial_offset_that_cannot_be_read_is_replaced(case):
    at = case("appended")
    at.checkpoint.delete(INITIAL)
    at.checkpoint.delete("sources/0/offsets/.0.crc")
    at.checkpoint.create(INITIAL, b'{"version":9}')
    at.apply(at.plan(ToCurrent()))
    assert at.initial == START


@pytest.mark.parametrize(
    "change",
    [
        {"name": "sources/7/offsets/0"},
        {"data": '{"t":{"0":1}}'},
        {"data": "nothing"},
        {"data": '{"version":1,"snapshot_id":5,"position":0,"scan_all_files":false}'},
    ],
)
def test_an_edited_plan_is_refused(case, change):
    at = case("initial_expired")
    fields = at.plan(ToCurrent()).to_dict()
    step = next(action for action in fields["actions"] if action["do"] == "replace")
    if "snapshot_id" in change.get("data", ""):  # the initial offset is taken as it is, the rest of the plan is not
        fields["actions"] = [action for action in fields["actions"] if action["do"] == "replace"]
    step.update(change)
    with pytest.raises((PlanError, StalePlanError)):
        at.apply(plan_from_dict(fields))


# --- refusals --------------------------------------------------------------------------------------------------------

REFUSED = {
    "a snapshot of another table": ("appended", lambda case: ToSnapshot(42), "none of its snapshots has expired"),
    "one that has expired": (
        "long_expired",
        lambda case: ToSnapshot(42),
        "it has expired, or is of another table. The",
    ),
    "one that was rolled back": (
        "rolled_back",
        lambda case: ToSnapshot(next(iter(case.history.others))),
        "the current snapshot does not come from it",
    ),
    "staying at one that has expired": ("position_expired", lambda case: ToCurrent(), "from which it cannot go on"),
    "staying at one that was rolled back": ("rolled_back", lambda case: ToCurrent(), "from which it cannot go on"),
    "a number": ("appended", lambda case: ShiftBy(1), "no offsets that could be counted"),
    "offsets": ("appended", lambda case: ToOffsets(1), "no offsets that could be counted"),
    "an empty table": ("recreated_and_empty", lambda case: ToEarliest(), "the table has no snapshot"),
    "one that was read": ("appended", lambda case: SkipSnapshot(case.oldest(0)), "the query has passed snapshot"),
    "one before which another is unread": (
        "deleted",
        lambda case: SkipSnapshot(case.oldest(3)),
        r"would be skipped, too",
    ),
    "the newest that does not append": (
        "deleted_at_the_end",
        lambda case: SkipSnapshot(case.oldest(2)),
        "is the newest of the table",
    ),
    "skipping without a position": (
        "position_expired",
        lambda case: SkipSnapshot(case.oldest(0)),
        "from which it cannot go on",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_with_nothing_done(case, name):
    recorded, goal_of, problem = REFUSED[name]
    at = case(recorded)
    before = read_all(at.checkpoint)
    with pytest.raises(PlanError, match=problem) as refused:
        at.plan(goal_of(at))
    assert (refused.value.hint or "").startswith("Nothing was done.")
    assert read_all(at.checkpoint) == before


def test_what_is_unread_before_one_that_is_skipped_is_read_first(case):
    at = case("deleted")
    with pytest.raises(PlanError) as refused:
        at.plan(SkipSnapshot(at.oldest(3)))
    assert "streaming-max-rows-per-micro-batch=1 and the trigger processingTime" in (refused.value.hint or "")


def test_a_source_of_another_type_is_refused(case):
    aim = IcebergAim(case("appended").table, ToEarliest())
    with pytest.raises(PlanError, match="source 0 is not an Iceberg source"):
        aim.move("0", SourceOffset('{"t":{"0":1}}'), None)


def test_what_stops_the_query_later_is_a_warning(case):
    at = case("deleted")
    (warning,) = [text for text in at.plan(ToEarliest()).warnings if "stops at snapshot" in text]
    assert f"--skip-snapshot {at.oldest(3)}" in warning and "streaming-skip-delete-snapshots=true" in warning


def test_a_batch_in_flight_is_dropped_first(case):
    at = case("in_flight")
    plan = at.plan(ToCurrent())
    assert [action.name for action in plan.actions] == ["offsets/.1.crc", "offsets/1"]


def test_every_case_is_recorded(recorded):
    assert {path.name for path in recorded.iterdir()} == set(CASES)


# --- killed in between -----------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("undone", [False, True], ids=["reset", "undo"])
def test_a_fault_at_any_call_leaves_the_old_position_or_the_new_one(recorded, tmp_path, undone):
    """Two objects are replaced, of which the position is the last: what is between is the old position."""

    def prepared(name: str) -> tuple[Case, dict[str, bytes]]:
        at = Case(recorded, tmp_path / name, "position_expired_in_flight")
        at.checkpoint = FaultyStore.of(at.checkpoint, Fault())
        at.stores = Stores(at.checkpoint)
        before = read_all(at.checkpoint)
        if undone:
            at.apply(at.plan(ToEarliest()))
        return at, before

    def act(at: Case) -> None:
        try:
            at.apply(make_undo(at.stores) if undone else at.plan(ToEarliest()))
        except PlanError as error:
            assert undone and "no change that can be undone" in str(error)

    at, before = prepared("counted")
    old = of_value(json.loads(before["offsets/0"].splitlines()[-1]))
    at.checkpoint.fault = counted = Fault()
    act(at)
    after = before if undone else read_all(at.checkpoint)
    assert read_all(at.checkpoint) == after
    for call in calls_to_fail(counted.calls, 5):
        at, _ = prepared(f"round-{call}")
        at.checkpoint.fault = Fault(call, after=True)
        with suppress(CheckpointError):
            act(at)
        at.checkpoint.fault = Fault()
        files = read_all(at.checkpoint)
        assert at.position in (old, IcebergOffset(at.oldest(0), 0)), f"after call {call}"
        if at.position != old:
            assert at.initial == START and "offsets/1" not in files, f"after call {call}"
        act(at)
        assert read_all(at.checkpoint) == after, f"completed after call {call}"
