"""A repair over S3, whose times are whole seconds and those of the upload: a copy proves what they do not."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.repair.decision import parse_decisions
from airflow_provider_ckpt.changes.repair.make import make_repair
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from tests.changes.repair.fake_table import FakeTable, part

pytestmark = pytest.mark.s3


def test_an_entry_from_a_copy_and_one_that_was_decided(tmp_path, s3_store):
    table = FakeTable(tmp_path, tasks=1).run(4)
    sink = s3_store("out")
    root = sink.root.strip("/").encode()
    gone = ("_spark_metadata/1", "_spark_metadata/2")
    for name in sorted(str(path.relative_to(table.output)) for path in table.output.rglob("*") if path.is_file()):
        data = (table.output / name).read_bytes().replace(f"file://{table.output}".encode(), b"s3a://" + root)
        if name not in gone:
            sink.create(name, data)
        if name == gone[0]:
            s3_store("copy").create(name, data)
    checkpoint = s3_store("checkpoint")
    for path in sorted(path for path in table.checkpoint.rglob("*") if path.is_file()):
        checkpoint.create(str(path.relative_to(table.checkpoint)), path.read_bytes())
    stores = Stores(checkpoint, sink, backups=s3_store("copy"))
    declared = Sink("file", sink.location)
    with pytest.raises(PlanError, match="the checkpoint was copied or restored") as refused:
        make_repair(stores, declared)
    assert refused.value.batch_id == 2
    plan = make_repair(stores, declared, parse_decisions([f"2={part(2, 0)}"], []))
    assert (plan.to_accept, [action.name for action in plan.actions]) == (("unknown",), list(reversed(gone)))
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert part(1, 0).encode() in sink.read(gone[0])
    assert f's3a://{root.decode()}/{part(2, 0)}"'.encode() in sink.read(gone[1])
    assert make_repair(stores, declared).actions == ()
    apply(make_undo(stores, sink=declared), stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped")
    assert not {*gone} & sink.ls("_spark_metadata")[0].keys()
