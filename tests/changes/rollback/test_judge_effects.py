"""What is read to judge a rollback's effects: the sink, the entry after the target, and the input files."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.changes.rollback.judge_effects import entry_after, inputs_after, judge_sink
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store


def seen(path, batch_id):
    store = Store.open(str(path))
    return store, observe(store, deep=True, batch_id=batch_id)


@pytest.mark.parametrize(
    ("sink", "trigger", "effect"),
    [
        (Sink("noop"), "", "exact"),
        (Sink("kafka"), "", "duplicated"),
        (None, "", "unknown"),
    ],
)
def test_the_effect_is_that_of_the_batches_that_are_dropped(sink, trigger, effect, golden):
    store, view = seen(golden("agg-hdfs"), 5)
    found, sink_log = judge_sink(Stores(store), view, 5, Said(sink, trigger))
    assert (found.effect, sink_log) == (effect, None)


def test_nothing_runs_again_after_the_newest_batch_but_in_real_time(golden):
    store, view = seen(golden("agg-hdfs"), 7)
    for trigger, effect in (("", "exact"), ("realTime", "duplicated")):
        assert judge_sink(Stores(store), view, 7, Said(Sink("kafka"), trigger))[0].effect == effect


def test_only_the_log_of_a_file_sink_is_trimmed(golden):
    store, view = seen(golden("agg-hdfs"), 5)
    with pytest.raises(PlanError, match="only for a file sink"):
        judge_sink(Stores(store), view, 5, Said(Sink("kafka"), trim_sink_log=True))


def test_the_entry_after_the_target_is_read_as_far_as_it_is_whole(golden):
    path = golden("agg-hdfs")
    store, view = seen(path, 5)
    assert entry_after(store, view, 5).encode() == (path / "offsets/6").read_bytes()
    assert entry_after(store, view, 7) is None
    (path / "offsets/6").write_bytes(b"v1")
    assert entry_after(*seen(path, 5), 5) is None


def test_input_files_of_later_batches_are_looked_for(golden):
    found = inputs_after(*seen(golden("file-to-parquet-5"), 2), 2)
    assert found.named == 2
