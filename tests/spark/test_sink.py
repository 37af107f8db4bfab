"""``checkpoint_history`` in real Spark: what is written is there once, whatever dies."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from airflow_provider_ckpt.cli import run as ckpt
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.history_table.manifest import GRACE_MS, Place
from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.history_table.rewind import rewind
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.spark import sink
from airflow_provider_ckpt.spark.sink import CheckpointHistory, Message, StreamTask
from airflow_provider_ckpt.storage.store import Store
from tests.spark.history_faults import STEPS, arm, armed
from tests.spark.sink_lab import FILES, orphans, rows_in, run, stream_of, table_of, wanted


def test_each_batch_is_an_epoch(sink_lab):
    assert run(sink_lab) is None
    assert rows_in(sink_lab) == wanted(FILES)
    manifests = read_table(Store.open(table_of(sink_lab))).manifests
    assert [manifest.place.epoch for manifest in manifests] == list(range(FILES))
    entries = [(sink_lab.checkpoint / "offsets" / str(number)).read_bytes() for number in range(FILES)]
    assert [manifest.plan for manifest in manifests] == [sha256(entry).hexdigest() for entry in entries]
    assert orphans(sink_lab) == set()
    sink_lab.write([FILES])
    assert run(sink_lab) is None
    assert rows_in(sink_lab) == wanted(FILES + 1)


def test_a_batch_that_spark_runs_again_is_not_written_again(sink_lab):
    """The driver died between the commit of the sink and Spark's own commit log."""
    run(sink_lab)
    forget_last_commit(sink_lab)
    assert run(sink_lab) is None
    assert rows_in(sink_lab) == wanted(FILES)
    assert orphans(sink_lab) == set()


def forget_last_commit(lab):
    for name in (f"{FILES - 1}", f".{FILES - 1}.crc"):
        (lab.checkpoint / "commits" / name).unlink()


@pytest.mark.parametrize(
    "to_batch",
    [
        pytest.param(FILES - 2, id="by one batch"),
        pytest.param(0, id="to the first", marks=pytest.mark.exhaustive),
    ],
)
def test_behind_its_table_a_stream_that_was_rolled_back_stops_until_the_table_goes_back(sink_lab, to_batch, capsys):
    """By one batch there are as many rows as before: the offset entry alone tells that they are others."""
    run(sink_lab)
    table = f"history:{table_of(sink_lab)}"
    command = ["rollback", str(sink_lab.checkpoint), "--to-batch", str(to_batch), "--sink", table]
    command += ["--accept-sink", "skipped", "--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]
    assert ckpt([*command, "--json"]) == 0
    (effect,) = json.loads(capsys.readouterr().out)["plan"]["sink_effects"]
    sink_lab.write([FILES])
    before = rows_in(sink_lab)
    said = run(sink_lab)
    assert said is not None and f"epochs {to_batch + 1} to {FILES - 1} of query" in said
    assert rows_in(sink_lab) == before
    query_id = read_table(Store.open(table_of(sink_lab))).manifests[0].place.query_id
    assert f'"{query_id}", {to_batch})' in effect["remedy"]
    rewind(Store.open(table_of(sink_lab)), query_id, to_batch)
    assert run(sink_lab) is None
    assert rows_in(sink_lab) == wanted(FILES + 1)


@pytest.mark.parametrize(
    ("step", "how", "leaves"),
    [
        ("write-create-after", "raise", True),  # a task fails: its message is None
        ("commit-create-before", "exit", True),  # the process that commits dies
        ("commit-create-after", "raise", False),  # the answer got lost
    ],
)
def test_a_fault_ends_the_run_and_the_next_one_completes_it(sink_lab, step, how, leaves):
    faults = sink_lab.root / "faults"
    arm(faults, step, how)
    assert run(sink_lab, faults=str(faults)) is not None
    assert armed(faults) == set()
    assert run(sink_lab, faults=str(faults)) is None
    assert rows_in(sink_lab) == wanted(FILES)
    assert bool(orphans(sink_lab)) == leaves
    vacuum(Store.open(table_of(sink_lab)), now_ms=10 * GRACE_MS + int(sink_lab.input.stat().st_mtime * 1000))
    assert orphans(sink_lab) == set()
    assert rows_in(sink_lab) == wanted(FILES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["raise", "exit"])
@pytest.mark.parametrize("step", STEPS)
def test_every_step(sink_lab, step, how):
    """Aborts follow a commit that fails; a second commit follows one whose log entry Spark has lost."""
    faults = sink_lab.root / "faults"
    if step.startswith(("commit-read", "commit-delete")):
        run(sink_lab)
        forget_last_commit(sink_lab)
    if step.startswith("abort"):
        arm(faults, "commit-create-after")
    arm(faults, step, how)
    for _ in range(4):
        if run(sink_lab, faults=str(faults)) is None:
            break
    assert rows_in(sink_lab) == wanted(FILES)
    # what abort deletes is of an epoch that others committed, or of one that no task of has finished
    assert armed(faults) == ({step} if step.startswith("abort-delete") else set())


def test_of_two_attempts_of_one_partition_the_message_decides(tmp_path, monkeypatch):
    """A speculative attempt writes its own file; its message never reaches the commit."""
    import pyarrow as pa

    monkeypatch.setattr(sink, "task_of_this_process", lambda: StreamTask("q", 0, 0))
    source = CheckpointHistory({"path": str(tmp_path)})
    schema = StructTypeOf("number")
    batch = pa.record_batch({"number": [1, 2]})
    first, second = (source.streamWriter(schema, False).write(iter([batch])) for _ in range(2))
    assert isinstance(first, Message) and first.written.files != second.written.files
    source.streamWriter(schema, False).commit([second], 0)
    found = read_table(Store.open(str(tmp_path)))
    assert found.manifests[0].place == Place("q", 0)
    assert found.files == second.written.files


@pytest.mark.parametrize("partition", [0, 1])
def test_a_driver_that_slept_through_a_rollback_does_not_commit(tmp_path, monkeypatch, partition):
    """The first task says what the epoch was planned as when it began; the others need not."""
    import pyarrow as pa

    offsets = tmp_path / "checkpoint/offsets/3"
    offsets.parent.mkdir(parents=True)
    offsets.write_text("one plan")
    monkeypatch.setattr(sink, "task_of_this_process", lambda: StreamTask("q", 3, partition))
    source = CheckpointHistory({"path": str(tmp_path / "table"), "checkpointLocation": str(tmp_path / "checkpoint")})
    writer = source.streamWriter(StructTypeOf("number"), False)
    message = writer.write(iter([pa.record_batch({"number": [1]})]))
    assert message.written.plan == (sha256(b"one plan").hexdigest() if partition == 0 else None)
    offsets.write_text("another plan")
    if partition == 0:
        with pytest.raises(StoreError, match="epoch 3 of query q was planned anew while its files were written"):
            writer.commit([message], 3)
    else:
        writer.commit([message], 3)


class StructTypeOf:
    """The one thing of a ``StructType`` that the sink asks for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def json(self) -> str:
        return f'{{"type":"struct","fields":[{{"name":"{self.name}","type":"long"}}]}}'


@pytest.mark.parametrize(
    ("options", "mode", "said"),
    [({}, "append", "needs the option path"), ({"path": "{}"}, "complete", "does not support outputMode")],
)
def test_what_it_cannot_do_is_said_at_the_start(sink_lab, options, mode, said):
    stream = stream_of(sink_lab)
    stream = stream.groupBy("key").count() if mode == "complete" else stream
    writer = stream.writeStream.format("checkpoint_history").outputMode(mode)
    writer = writer.options(**{key: text.format(table_of(sink_lab)) for key, text in options.items()})
    query = writer.option("checkpointLocation", str(sink_lab.checkpoint)).trigger(availableNow=True)
    with pytest.raises(Exception, match=said):
        query.start().awaitTermination(240)
