"""A deploy with another compaction interval than the logs of file sources and sinks were written with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.restart import compaction
from airflow_provider_ckpt.restart.compaction import SINK_INTERVAL, SOURCE_INTERVAL
from tests.views import offset_entry, sink_of, view_of

MISSING = "FileNotFoundException"
COMPACTED = (*map(str, range(9)), "9.compact", "10", "11")


def source_log(*entries: str, last: int) -> CheckpointView:
    return view_of(*(f"sources/0/{entry}" for entry in entries), **{f"offsets/{last}": offset_entry(log_offset=last)})


def found(step, view: CheckpointView, **confs: str) -> list[tuple[str | None, str | None]]:
    deploy = DeploySpec(confs={key.replace("_", "."): value for key, value in confs.items()})
    findings = list(step(view, deploy))
    assert {(finding.code, finding.severity) for finding in findings} <= {("CKPT241", "error")}
    return [(finding.name, finding.spark_error) for finding in findings]


@pytest.mark.parametrize(
    ("entries", "conf", "missing"),
    [
        ("012345", None, None),
        ("012345", "7", None),
        ("012345", " +007 ", None),
        ("012345", "100", None),
        ("012345", "4", "sources/0/3.compact"),
        ("012345", "3", "sources/0/5.compact"),
        ("012345", "1", "sources/0/5.compact"),
        (COMPACTED, "3", None),
        (COMPACTED, "2", "sources/0/11.compact"),
        ((*COMPACTED, "8.compact"), "10", "sources/0/11.compact"),
    ],
)
def test_a_source_finds_its_log_at_the_start_or_stops(entries, conf, missing):
    view = source_log(*entries, last=len(set(entries) - {"8.compact"}) - 1)
    deploy = DeploySpec(confs={} if conf is None else {SOURCE_INTERVAL: conf})
    findings = list(compaction.source_logs(view, deploy))
    assert [(finding.name, finding.spark_error) for finding in findings] == ([(missing, MISSING)] if missing else [])


@pytest.mark.parametrize(
    ("last", "conf", "expected"),
    [
        (5, "10", []),
        (5, "7", []),
        (5, "3", [("_spark_metadata/5.compact", 8, None)]),
        (6, "4", [("_spark_metadata/3.compact", 7, "BATCH_METADATA_NOT_FOUND")]),
    ],
)
def test_a_sink_stops_at_its_next_compaction(last, conf, expected):
    view = replace(view_of(f"offsets/{last}", f"commits/{last}"), sink=sink_of(*map(str, range(last + 1))))
    findings = compaction.sink_log(view, DeploySpec(confs={SINK_INTERVAL: conf}))
    assert [(finding.name, finding.batch_id, finding.spark_error) for finding in findings] == expected


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "1.5", "9" * 400, str(1 << 31)])
@pytest.mark.parametrize(
    ("step", "conf"), [(compaction.source_logs, SOURCE_INTERVAL), (compaction.sink_log, SINK_INTERVAL)]
)
def test_what_is_no_interval_is_an_error(step, conf, text):
    (finding,) = step(view_of(), DeploySpec(confs={conf: text}))
    assert finding.severity == "error" and conf in finding.message


def test_sources_that_the_deploy_does_not_have_are_not_read():
    view = source_log(*"012345", last=5)
    entry = offset_entry(log_offset=5).replace(b"v1", b"v2", 1)
    entry = entry.rpartition(b"\n")[0] + b"\norders:" + entry.rpartition(b"\n")[2]
    view = view_of(*(f"sources/orders/{number}" for number in range(6)), **{"offsets/5": entry})
    confs = {SOURCE_INTERVAL: "3"}
    for name, count in (("orders", 1), ("refunds", 0)):
        deploy = DeploySpec(confs=confs, sources=(Source(name, "file"),))
        assert len(list(compaction.source_logs(view, deploy))) == count


def test_without_a_log_nothing_is_found():
    assert found(compaction.source_logs, view_of()) == found(compaction.sink_log, view_of()) == []
