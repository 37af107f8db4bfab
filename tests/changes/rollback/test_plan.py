"""The planner of rollbacks alone: which steps, in which order, and what is refused."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.change.plan.facts import Saved
from airflow_provider_ckpt.change.undo.left import After
from airflow_provider_ckpt.change.undo.plan import judge_undo
from airflow_provider_ckpt.changes.rollback.exchange_plan import plan_exchange
from airflow_provider_ckpt.changes.rollback.plan import plan_rollback
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.stored_object import StoredObject

KEEP = 2


def listed(*names: str) -> dict[str, StoredObject]:
    return {name: StoredObject(name, len(name), 1, f"etag of {name}") for name in names}


def view_of(*names: str, log_offset: int = KEEP) -> CheckpointView:
    """A checkpoint with these files, whose batch KEEP stands at this entry of its file source."""
    metadata = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'
    entry = codec.decode(f"offsets/{KEEP}", f'v1\n{metadata}\n{{"logOffset":{log_offset}}}'.encode())
    return CheckpointView("c", 0, listed(*names), {f"offsets/{KEEP}": entry}, complete=True)


def steps_of(view: CheckpointView, sink_log: SinkLog | None = None) -> list[str]:
    plan = plan_rollback(view, RestartSet(KEEP, (), ()), 1, (), sink_log)
    return [action.name if action.place == "checkpoint" else f"sink: {action.name}" for action in plan.actions]


def sink_of(*entries: str) -> SinkLog:
    return SinkLog("out", listed(*(f"_spark_metadata/{entry}" for entry in entries)))


LOGS = tuple(f"{log}/{batch}" for batch in range(KEEP + 1) for log in ("offsets", "commits"))

STEPS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "nothing after the batch": ((), []),
    "the commit of a batch, its state, its offsets; newest batch first": (
        ("offsets/3", "commits/3", "state/0/0/4.delta", "offsets/4", "commits/4", "state/0/0/5.delta"),
        ["commits/4", "state/0/0/5.delta", "offsets/4", "commits/3", "state/0/0/4.delta", "offsets/3"],
    ),
    "the state of the batch itself stays": (
        ("state/0/0/3.delta", "state/0/0/3.snapshot", "state/0/0/4.delta", "offsets/3"),
        ["state/0/0/4.delta", "offsets/3"],
    ),
    "what operators wrote of the batch itself stays": (
        (
            "state/0/_metadata/v2/2",
            "state/0/_metadata/v2/3",
            "state/0/_stateSchema/default/2_a",
            "state/0/_stateSchema/default/3_b",
            "offsets/3",
        ),
        ["state/0/_metadata/v2/3", "state/0/_stateSchema/default/3_b", "offsets/3"],
    ),
    "a batch in flight has no commit": (("offsets/3",), ["offsets/3"]),
    "a checksum file goes before its object": (
        ("offsets/3", "offsets/.3.crc", "commits/3", "commits/.3.crc", "state/0/0/4.delta", "state/0/0/.4.delta.crc"),
        [
            "commits/.3.crc",
            "commits/3",
            "state/0/0/.4.delta.crc",
            "state/0/0/4.delta",
            "offsets/.3.crc",
            "offsets/3",
        ],
    ),
    "batch ids by number, not by text": (
        ("offsets/10", "commits/10", "offsets/9", "commits/9"),
        ["commits/10", "offsets/10", "commits/9", "offsets/9"],
    ),
    "entries of a source log go last, newest first": (
        ("offsets/3", "sources/0/2", "sources/0/3", "sources/0/.3.crc", "sources/0/4"),
        ["offsets/3", "sources/0/4", "sources/0/.3.crc", "sources/0/3"],
    ),
    "a compacted entry goes before a plain one of its number": (
        ("offsets/3", "sources/0/3", "sources/0/3.compact"),
        ["offsets/3", "sources/0/3.compact", "sources/0/3"],
    ),
    "what is not known stays": (("offsets/3", "_schema_log_1/3", "state/0/0/notes", "offsets/x"), ["offsets/3"]),
}


@pytest.mark.parametrize(("files", "steps"), STEPS.values(), ids=STEPS)
def test_the_steps_and_their_order(files, steps):
    whole = ("sources/0/0", "sources/0/1", "sources/0/2")
    assert steps_of(view_of("metadata", *LOGS, *whole, *files)) == steps


def test_each_step_says_what_the_object_must_still_be():
    plan = plan_rollback(view_of("metadata", *LOGS, "offsets/3"), RestartSet(KEEP, (), ()), 1)
    (step,) = plan.actions
    assert (step.size, step.identity) == (len("offsets/3"), "etag of offsets/3")


# --- the log of the sink --------------------------------------------------------------------------------------------

TRIMMED: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "later entries go before the offsets of their batch": (
        ("0", "1", "2", "3", "4"),
        ["sink: _spark_metadata/4", "offsets/4", "commits/3", "sink: _spark_metadata/3", "offsets/3"],
    ),
    "a checksum file of an entry goes before it": (
        ("2", "3", ".3.crc"),
        ["offsets/4", "commits/3", "sink: _spark_metadata/.3.crc", "sink: _spark_metadata/3", "offsets/3"],
    ),
    "a hole below the batch does not matter when nothing is compacted past it": (
        ("0", "2", "3"),
        ["offsets/4", "commits/3", "sink: _spark_metadata/3", "offsets/3"],
    ),
    "a compacted entry past the batch goes while those that it was made from are there": (
        ("0", "1", "2", "3.compact", "4"),
        ["sink: _spark_metadata/4", "offsets/4", "commits/3", "sink: _spark_metadata/3.compact", "offsets/3"],
    ),
    "when the batch itself is compacted, nothing before it need be there": (
        ("2.compact", "3.compact"),
        ["offsets/4", "commits/3", "sink: _spark_metadata/3.compact", "offsets/3"],
    ),
    "what an earlier compacted entry holds need not be there": (
        ("1.compact", "2", "3.compact"),
        ["offsets/4", "commits/3", "sink: _spark_metadata/3.compact", "offsets/3"],
    ),
}


@pytest.mark.parametrize(("entries", "steps"), TRIMMED.values(), ids=TRIMMED)
def test_the_log_of_a_file_sink_is_trimmed_with_the_batches(entries, steps):
    view = view_of("metadata", *LOGS, "offsets/3", "commits/3", "offsets/4", log_offset=KEEP)
    assert steps_of(view, sink_of(*entries)) == steps


@pytest.mark.parametrize("entries", [("0", "2", "3.compact"), ("3.compact",), ("0.compact", "2", "3.compact")])
def test_a_batch_that_lives_on_only_in_a_later_compacted_entry_is_not_lost(entries):
    view = view_of("metadata", *LOGS, "offsets/3")
    with pytest.raises(BatchNotRestorableError, match="is only in the compacted file _spark_metadata/3.compact"):
        steps_of(view, sink_of(*entries))


def test_a_source_log_that_is_compacted_past_the_batch_stays_and_is_told():
    view = view_of("metadata", *LOGS, "offsets/3", "sources/0/3.compact", "sources/0/4")
    plan = plan_rollback(view, RestartSet(KEEP, (), ()), 1)
    assert [action.name for action in plan.actions] == ["offsets/3", "sources/0/4"]
    assert "compacted after the target" in plan.warnings[-1]


def test_what_nobody_can_judge_of_the_state_is_told():
    target = RestartSet(KEEP, (), (), unknown=("state/0: partition 0 alone has state",))
    plan = plan_rollback(view_of("metadata", *LOGS, "offsets/3"), target, 1)
    assert plan.warnings[-1] == "state/0: partition 0 alone has state."


# --- from a backup --------------------------------------------------------------------------------------------------


def exchange_steps(*files: str, sink_log: SinkLog | None = None) -> list[str]:
    """The steps to a backup of batch KEEP, whose files are not there any more."""
    objects = tuple(ManifestObject(name, 1, "0" * 64, f"b/checkpoint/{name}") for name in ("offsets/2", "commits/2"))
    backup = Manifest("b", "c", "", KEEP, 0, None, objects)
    plan = plan_exchange(view_of("metadata", *files), backup, "root", 1, (), sink_log, sha256_of=lambda name: "")
    return [
        f"{step.do} {step.place if step.place == 'sink' else ''} {step.name}".replace("  ", " ")
        for step in plan.actions
    ]


def test_what_the_sink_has_of_the_oldest_planned_batch_goes_when_the_backup_has_come():
    later = [f"{log}/{batch}" for batch in (4, 5) for log in ("offsets", "commits")]
    assert exchange_steps(*later, sink_log=sink_of("2", "3", "4", "5")) == [
        "delete commits/5",
        "delete sink _spark_metadata/5",
        "delete offsets/5",
        "copy commits/2",
        "copy offsets/2",
        "delete commits/4",
        "delete sink _spark_metadata/4",
        "delete sink _spark_metadata/3",
        "delete offsets/4",
    ]


def test_the_log_of_a_source_that_keeps_no_files_stays_when_the_backup_lacks_it():
    steps = exchange_steps("offsets/4", "commits/4", "sources/0/3", "sources/1/0")
    assert [step for step in steps if "sources" in step] == ["delete sources/0/3"]


# --- an undo --------------------------------------------------------------------------------------------------------

LATER = ("commits/3", "state/0/0/.4.delta.crc", "state/0/0/4.delta", "offsets/3", "sources/0/3")
LEFT = ("metadata", *LOGS, "sources/0/0", "sources/0/1", "sources/0/2")


def steps_of_undo(*written: str) -> list[str]:
    """The steps of an undo of a rollback that was done whole, when a query has written some files since."""
    done = plan_rollback(view_of(*LEFT, *LATER), RestartSet(KEEP, (), ()), 1)
    saved = {("checkpoint", name): Saved(stored.size, "0" * 64) for name, stored in listed(*LATER).items()}
    after = After(done, view_of(*LEFT, *written), None, saved)
    undo = judge_undo(after, dict.fromkeys(after.to_hash(), "1" * 64))
    return [f"{step.do} {step.name}" for step in undo.plan("record", 2).actions]


def test_what_was_removed_last_comes_back_first():
    assert steps_of_undo() == [f"copy {name}" for name in reversed(LATER)]


def test_what_a_query_has_written_since_goes_first_and_its_source_log_with_it():
    steps = steps_of_undo("offsets/4", "sources/0/4")
    assert steps[:2] == ["delete offsets/4", "delete sources/0/4"]
    assert steps[2:] == [f"copy {name}" for name in reversed(LATER)]
