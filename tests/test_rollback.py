"""The planner of rollbacks alone: which steps, in which order, and what is refused."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.restart_set import RestartSet
from airflow_provider_ckpt.rollback import plan_rollback
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.view import CheckpointView

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
    with pytest.raises(BatchNotRestorableError, match="lives on only inside _spark_metadata/3.compact"):
        steps_of(view, sink_of(*entries))


def test_a_source_log_that_is_compacted_past_the_batch_stays_and_is_told():
    view = view_of("metadata", *LOGS, "offsets/3", "sources/0/3.compact", "sources/0/4")
    plan = plan_rollback(view, RestartSet(KEEP, (), ()), 1)
    assert [action.name for action in plan.actions] == ["offsets/3", "sources/0/4"]
    assert "compacted past the target" in plan.warnings[-1]
