"""A sink that is not the query's is refused before anything is done: by numbers, and by what was declared first."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.fit_sink import last_written, require_fit
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.sinks.memory import MEMORY, remember
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore
from tests.goldens import EXPECTED

DO_IT = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--json"]


@pytest.fixture
def revenue(golden_home) -> Path:
    """A query with batches 0 to 4 and its output."""
    return golden_home("file-to-parquet-5")


@pytest.fixture
def ckpt(capsys):
    def ask(*arguments: object) -> tuple[int, dict[str, Any]]:
        code = run([str(argument) for argument in arguments])
        return code, json.loads(capsys.readouterr().out)

    return ask


def everything(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def declare(home: Path) -> None:
    """The sink of the query is declared for the first time."""
    checkpoint, sink = Store.open(str(home / "checkpoint")), parse_sink(f"file:{home / 'output'}")
    remember(checkpoint, observe(checkpoint).query_id, [(sink, Store.open(sink.location))], "ann@host")


def other_output(home: Path, batches: range) -> Path:
    """The output directory of another query, whose log holds some batches."""
    log = home.parent / "orders" / "_spark_metadata"
    log.mkdir(parents=True)
    for batch in batches:
        (log / str(batch)).write_text("v1")
    return log.parent


def back(home: Path, output: Path, *options: str) -> list[object]:
    return ["rollback", home / "checkpoint", "--to-batch", 2, "--sink", f"file:{output}", "--trim-sink-log", *options]


@pytest.mark.parametrize("batches", [range(4), range(6), range(0)], ids=["behind", "ahead", "none"])
def test_the_log_of_another_query_is_never_trimmed(revenue, ckpt, batches):
    output, before = other_output(revenue, batches), everything(revenue)
    code, said = ckpt(*back(revenue, output, *DO_IT))
    assert code == 4 and said["error"]["code"] == "PLAN_REFUSED"
    assert f"the sink file:{output} does not fit the query" in said["error"]["message"]
    assert everything(revenue) == before and len(list((output / "_spark_metadata").iterdir())) == len(batches)


def test_one_that_is_at_the_same_batch_is_told_by_the_times_of_its_files(revenue, goldens, ckpt):
    """Real Spark wrote it after the query had committed these batches. A copy of either has the same times inside."""
    output = revenue.parent / "of-another"
    shutil.copytree(goldens["4.3.0/offset-log-v2"] / "output", output)
    before = everything(revenue.parent)
    code, said = ckpt(*back(revenue, output, *DO_IT))
    assert code == 4 and everything(revenue.parent) == before
    assert f"the sink file:{output} does not fit the query: it has the file part-" in said["error"]["message"]
    assert said["error"]["message"].endswith("Z: it is the sink of another query.")
    code, said = ckpt(*back(revenue, shutil.copytree(revenue / "output", revenue / "copied"), "--json"))
    assert code == 0 and said["plan"]["sink_effects"][0]["effect"] == "exact"


def test_one_whose_files_are_older_than_the_batches_is_unknown(goldens, golden_home, ckpt):
    """It may be the query's own, if somebody moved the query back without ckpt: nothing is trimmed unless accepted."""
    later, output = golden_home("offset-log-v2"), goldens["4.3.0/file-to-parquet-5"] / "output"
    code, said = ckpt(*back(later, output, "--json"))
    (effect,) = said["plan"]["sink_effects"]
    assert code == 0 and effect["effect"] == "unknown" and ", but the query planned it at 20" in effect["reason"]
    assert ckpt(*back(later, output, *DO_IT))[0] == 4


def test_one_that_is_at_the_same_batch_is_told_by_the_sink_that_was_declared_first(revenue, ckpt):
    declare(revenue)
    output, before = other_output(revenue, range(5)), everything(revenue)
    code, said = ckpt(*back(revenue, output, *DO_IT))
    assert code == 4 and everything(revenue) == before
    memory = revenue / "_ckpt_undo" / "checkpoint" / MEMORY
    assert f"file:{output} is not the sink that was declared before" in said["error"]["message"]
    assert f"which is file:{revenue / 'output'} (declared by ann@host)" in said["error"]["message"]
    assert said["error"]["hint"].endswith(f"delete the file {memory}.")
    memory.unlink()
    assert ckpt(*back(revenue, output, "--json"))[0] == 0, "on purpose"


def test_an_undo_puts_the_log_back_where_it_was_trimmed(revenue, ckpt):
    """A copy of the trimmed directory, here of links to the same files, is another sink."""
    assert ckpt(*back(revenue, revenue / "output", *DO_IT))[0] == 0
    other = revenue / "elsewhere"
    shutil.copytree(revenue / "output", other, copy_function=os.link)
    before = everything(revenue)
    code, said = ckpt("undo", revenue / "checkpoint", "--sink", f"file:{other}", *DO_IT)
    assert code == 4 and everything(revenue) == before
    assert f"the sink file:{other} is not the sink that was declared before" in said["error"]["message"]
    (revenue / "_ckpt_undo" / "checkpoint" / MEMORY).unlink()
    before = everything(revenue)
    code, said = ckpt("undo", revenue / "checkpoint", "--sink", f"file:{other}", *DO_IT)
    assert code == 4 and everything(revenue) == before
    assert f"changed the log of {revenue / 'output'}, not the log of {other}" in said["error"]["message"]


def test_an_undo_looks_at_the_sink_that_it_is_given(revenue):
    """No sink was declared for the rollback."""
    checkpoint, output = Store.open(str(revenue / "checkpoint")), Store.open(str(revenue / "output"))
    rollback = make_rollback(Stores(checkpoint), 2)
    apply(rollback, Stores(checkpoint), query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    undo = make_undo(Stores(checkpoint, output))
    assert [(item.sink, item.effect) for item in undo.effects] == [(f"file:{output.location}", "exact")]


def test_an_undo_does_not_say_of_another_sink_that_its_log_was_changed(revenue, ckpt):
    """The log of the sink that the rollback trimmed is as it was left."""
    assert ckpt(*back(revenue, revenue / "output", *DO_IT))[0] == 0
    output = other_output(revenue, range(5))
    code, said = ckpt("undo", revenue / "checkpoint", "--sink", f"file:{output}", "--json")
    assert code == 4 and f"the sink file:{output} is not the sink that was declared before" in said["error"]["message"]
    assert ckpt("undo", revenue / "checkpoint", *DO_IT)[0] == 0


@pytest.mark.parametrize("batches", [range(3), range(7), range(0)], ids=["behind", "ahead", "none"])
def test_an_undo_refuses_a_sink_that_is_not_the_querys(revenue, ckpt, batches):
    """No sink was declared for the rollback, and none is remembered, neither before the undo nor after it."""
    assert ckpt("rollback", revenue / "checkpoint", "--to-batch", 3, "--accept-sink", "unknown", *DO_IT)[0] == 0
    output, before = other_output(revenue, batches), everything(revenue)
    code, said = ckpt("undo", revenue / "checkpoint", "--sink", f"file:{output}", *DO_IT)
    assert code == 4 and f"the sink file:{output} does not fit the query" in said["error"]["message"]
    assert everything(revenue) == before
    assert ckpt("undo", revenue / "checkpoint", "--sink", f"file:{revenue / 'output'}", *DO_IT)[0] == 0


class WhileSaving(Fault):
    """A query plans a batch while the first file is saved."""

    def hits(self, call: str, store: Store) -> bool:
        if call == "keep":
            store.write("offsets/5", b"v1\n{}\n{}")
        return False


def test_a_change_that_takes_no_step_remembers_no_sink(revenue):
    checkpoint, output = Store.open(str(revenue / "checkpoint")), Store.open(str(revenue / "output"))
    plan = make_rollback(Stores(checkpoint, output), 2)
    stores = Stores(FaultyStore.of(checkpoint, WhileSaving()), output)
    with pytest.raises(CheckpointBusyError, match="offsets/5 is new"):
        apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped")
    assert not (revenue / "_ckpt_undo" / "checkpoint" / MEMORY).exists()


@pytest.mark.parametrize("sink", ["noop", "kafka", "foreachBatch"])
def test_a_sink_without_a_place_is_not_the_one_that_was_declared_first(revenue, ckpt, sink):
    declare(revenue)
    before = everything(revenue)
    code, said = ckpt("rollback", revenue / "checkpoint", "--to-batch", 2, "--sink", sink, *DO_IT)
    assert code == 4 and everything(revenue) == before
    assert f"the sink {sink} is not the sink that was declared before" in said["error"]["message"]
    code, said = ckpt("rollback", revenue / "checkpoint", "--to-batch", 2, "--json")
    assert code == 0 and said["plan"]["sink_effects"][0]["effect"] == "unknown", "no declaration is no other one"


def test_of_several_sinks_each_is_remembered(revenue, ckpt):
    root, new = revenue / "backups", revenue / "new"
    assert ckpt("backup", revenue / "checkpoint", "--to", root, "--json")[0] == 0
    sinks = ["--sink", f"file:{revenue / 'output'}", "--sink", "kafka", "--accept-sink", "duplicated"]
    for _ in range(2):
        assert ckpt("restore", root, "latest", "--to", new, *sinks, "--execute", "--json")[0] == 0
        (new / "commits" / "4").unlink(missing_ok=True)
    memory = json.loads((revenue / "_ckpt_undo" / "new" / MEMORY).read_text())
    assert memory["sinks"] == [f"file:{revenue / 'output'}", "kafka"] and len(memory["places"]) == 1


def test_a_change_remembers_the_sink_that_was_declared_for_it(revenue, ckpt):
    assert ckpt(*back(revenue, revenue / "output", *DO_IT))[0] == 0
    memory = json.loads((revenue / "_ckpt_undo" / "checkpoint" / MEMORY).read_text())
    assert memory["sinks"] == [f"file:{revenue / 'output'}"] and memory["by"]


def test_looking_and_planning_remember_nothing(revenue, ckpt):
    assert ckpt(*back(revenue, revenue / "output", "--json"))[0] == 0
    ckpt("gate", revenue / "checkpoint", "--sink", f"parquet:{revenue / 'output'}", "--json")
    assert not (revenue / "_ckpt_undo").exists()


def test_the_gate_tells_of_another_sink(revenue, ckpt):
    declare(revenue)
    output = other_output(revenue, range(5))
    _, said = ckpt("gate", revenue / "checkpoint", "--sink", f"file:{output}", "--json")
    (found,) = (item for item in said["findings"] if item["code"] == "CKPT143")
    assert found["severity"] == "warning" and f"file:{revenue / 'output'}" in found["message"]
    _, said = ckpt("gate", revenue / "checkpoint", "--sink", f"file:{revenue / 'output'}", "--json")
    assert "CKPT143" not in {item["code"] for item in said["findings"]}


def test_a_link_and_a_format_are_the_same_sink(revenue, ckpt):
    link = revenue / "by-another-name"
    link.symlink_to(revenue / "output")
    declare(revenue)
    code, said = ckpt("rollback", revenue / "checkpoint", "--to-batch", 2, "--sink", f"parquet:{link}", "--json")
    assert code == 0 and said["plan"]["sink_effects"][0]["effect"] == "skipped"


def test_what_was_remembered_of_a_query_that_is_gone_does_not_count(revenue, ckpt):
    declare(revenue)
    (revenue / "checkpoint" / "metadata").write_text('{"id":"00000000-0000-4000-8000-000000000000"}')
    (revenue / "checkpoint" / ".metadata.crc").unlink()
    assert ckpt(*back(revenue, other_output(revenue, range(5)), "--json"))[0] == 0


def test_a_memory_that_is_none_is_refused(revenue, ckpt):
    memory = revenue / "_ckpt_undo" / "checkpoint" / MEMORY
    memory.parent.mkdir(parents=True)
    memory.write_text("[")
    code, said = ckpt(*back(revenue, revenue / "output", "--json"))
    assert code == 3 and said["error"]["name"] == MEMORY


@pytest.mark.parametrize("case", [f"{version}/{name}" for version, cases in EXPECTED.items() for name in cases])
@pytest.mark.sweep
def test_what_spark_left_fits(goldens, case):
    """Batches without data, compacted logs, crashes, repartitions: of each query that Spark has run into a file sink."""
    home = goldens[case]
    if not (home / "output" / "_spark_metadata").is_dir():
        return  # of another sink
    checkpoint, output = Store.open(str(home / "checkpoint")), Store.open(str(home / "output"))
    view, sink = observe(checkpoint), Sink("file", output.location)
    marker = read_marker(sink, output, view.query_id, view.latest_committed)
    require_fit(checkpoint, None, view, sink, output, marker)
    with pytest.raises(PlanError, match="does not fit"):
        require_fit(checkpoint, None, view, sink, output, replace(marker, last_batch=view.latest_planned + 1))


@pytest.mark.parametrize("case", ["repartition-2-to-4", "repartition-2-to-1", "repartition-offset-log-v2"])
def test_a_batch_that_repartitioned_the_state_is_not_expected_in_the_sink(golden_home, case):
    """Spark commits it without asking the sink; should it stop right after, the sink ends one batch before."""
    home = golden_home(case)
    numbers = {int(path.name) for path in (home / "output" / "_spark_metadata").glob("[0-9]*")}
    planned = EXPECTED["4.3.0"][case]["planned_batches"]
    (left_out,) = set(planned) - numbers
    for path in [*home.glob("checkpoint/offsets/*"), *home.glob("checkpoint/commits/*")]:
        if path.name.isdecimal() and int(path.name) > left_out:
            path.unlink()
    checkpoint = Store.open(str(home / "checkpoint"))
    assert last_written(checkpoint, observe(checkpoint)) == left_out - 1


def test_a_restore_refuses_a_sink_that_never_had_the_batch(revenue, ckpt):
    root = revenue / "backups"
    assert ckpt("backup", revenue / "checkpoint", "--to", root, "--json")[0] == 0
    output = other_output(revenue, range(3))
    restore = ["restore", root, "latest", "--to", revenue / "new", "--json"]
    code, said = ckpt(*restore, "--sink", f"file:{output}")
    assert code == 4 and "has batches up to 2, but the query has committed batch 4" in said["error"]["message"]
    assert ckpt(*restore, "--sink", f"file:{output}", "--new-query-id")[0] == 0, "a fork has a sink of its own"
    shutil.rmtree(output)
    assert ckpt(*restore, "--sink", f"file:{revenue / 'output'}")[0] == 0


def test_a_sink_that_was_remembered_with_a_password_fits_and_is_told_without(revenue, ckpt):
    declare(revenue)
    memory = revenue / "_ckpt_undo" / "checkpoint" / MEMORY
    fields = json.loads(memory.read_text())
    memory.write_text(json.dumps({**fields, "sinks": ["kafka:u:hunter22@h:9092"], "places": []}))
    rollback = ["rollback", revenue / "checkpoint", "--to-batch", 2, "--json", "--sink"]
    assert ckpt(*rollback, "kafka:u:hunter22@h:9092")[0] == 0
    code, refused = ckpt(*rollback, "kafka:other")
    assert code == 4 and "which is kafka:u@h:9092 (" in refused["error"]["message"]
