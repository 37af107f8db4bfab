"""Every rule of the checkpoint and of the restart, each shown by the damage or the deploy that it is for."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.flows import Flow, Neighbour, Surroundings
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check, logs, registry
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.codec.offsets.iceberg import IcebergOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.fleet.find_twins import Relation, Twin, finding_of
from airflow_provider_ckpt.fleet.pipeline_findings import pipeline_findings
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source, parse_source
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.sources.delta.findings import findings_of as findings_of_delta
from airflow_provider_ckpt.sources.delta.findings import lost_files
from airflow_provider_ckpt.sources.delta.loss import DeltaTable, stops
from airflow_provider_ckpt.sources.file.judge import Unlogged, finding_of_rule
from airflow_provider_ckpt.sources.file.judge import findings_of as unlogged_findings
from airflow_provider_ckpt.sources.foresee_expiry import expiring
from airflow_provider_ckpt.sources.iceberg.loss import IcebergSource
from airflow_provider_ckpt.sources.iceberg.loss import losses as losses_of_iceberg
from airflow_provider_ckpt.sources.iceberg.way import Skips
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.loss import KafkaSource, Losses, losses
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.storage.lifecycle import LifecycleRule
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.tables.delta_commit import RESTORE, DeltaCommit
from airflow_provider_ckpt.tables.delta_restores import Reverted
from airflow_provider_ckpt.tables.delta_schema import DeltaSchema
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot
from tests.distributions import install, on_path
from tests.fleet.pipelines import BRONZE, READER, TABLE, seen
from tests.goldens import EXPECTED
from tests.oracle.case import PROVIDER
from tests.oracle.mutations import mutate

#: What is left of a value that was not filled in.
#: What says what to do where no command does it.
NEXT_STEP = re.compile(
    r"(?:^|[.;,] )(?:or |[Tt]hen )?(?:Deploy|Keep|Stay|Move|Remove|Put|Restore|Start|Declare|Give|Wait|Stop|move|keep|delete|use) "
)
#: Damages of entries that a restart reads: each can be saved.
DAMAGES = (
    "empty offsets/{N}", "truncate offsets/{N}", "empty commits/{N}", "truncate commits/{N}", "text metadata nonsense",
    "text offsets/{N} nonsense", "text commits/{N} {", "line offsets/{N} 0 'v1 '", "line offsets/{N} 1 '{'",
    "truncate offsets/{N-1}", "text offsets/{N} '{\"a\": 1}'",
)  # fmt: skip
PLACEHOLDER = re.compile(r"\{[a-z_]+(?:\.[a-z_]+)*\}")
SHUFFLE = "spark.sql.shuffle.partitions"
STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
SINK_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSinkEvolution"
QUERY_ID = EXPECTED["4.3.0"]["file-to-parquet-5"]["query_id"]
#: The memory of the sink that was declared first, beside the checkpoint.
MEMORY = {"query_id": QUERY_ID, "sinks": ["file:/lake/orders"], "places": ["file:/lake/orders"]}
BACKUP = "20260101T000000.000Z-0a3c26f7"
FIRST_SINK = f"text ../_ckpt_undo/checkpoint/sink.json {shlex.quote(json.dumps(MEMORY))}"


@dataclass(frozen=True)
class Shown:
    """A golden of Spark 4.3, what is done to it, a deploy, and where the finding points.

    ``says`` is the severity and the file; with a deploy the forecast is asked, else the check.
    """

    says: tuple[str, str | None]
    golden: str = "file-to-parquet-5"
    mutations: tuple[str, ...] = ()
    deploy: DeploySpec | None = None
    sink: bool = False
    kafka: KafkaSource | None = None
    table: tuple[Finding, ...] = ()
    package: Mapping[str, str] = field(default_factory=dict)
    around: Surroundings | None = None
    unstarted: bool = False


def around(newest: int = 0, *others: str) -> Surroundings:
    """What is beside version 0 of a flow: a later version, other flows, and the log of a table with two batches."""
    names = [f"{layout.SINK_LOG}/{batch}" for batch in range(2)]
    log = SinkLog("/t", {name: StoredObject(name, 1, 0, "") for name in names})
    beside = tuple(Neighbour(name, f"/s/_checkpoints/c/d/t/{name}/0", 1) for name in others)
    return Surroundings(Flow("/s", ("c", "d", "t"), "q", 0), newest, beside, log)


def at_ten(*, planned: int | None = None, **partitions: tuple[int, int]) -> KafkaSource:
    """A Kafka source at offset 10 of the first partition; the first and the end offset of each."""
    ranges = {("t", int(name[1:])): ends for name, ends in partitions.items()}
    extent = Extent(
        {"t": "new"}, {at: ends[0] for at, ends in ranges.items()}, {at: ends[1] for at, ends in ranges.items()}
    )
    ahead = None if planned is None else {("t", 0): planned}
    return KafkaSource("0", 4, "offsets/4", {("t", 0): 10}, ahead, extent, known_ids={"t": "old"})


def of_pipeline(python: str, *refreshed: str) -> tuple[Finding, ...]:
    """What is found of a pipeline with a flow that has run, and with these definitions."""
    return pipeline_findings(seen(BRONZE, python=python), refreshed)


def of_twins(relation: Relation) -> tuple[Finding, ...]:
    """What is found of a checkpoint that another one has been copied from."""
    row, leader = FleetRow("/copy", latest_planned_batch=3), FleetRow("/live", latest_planned_batch=5)
    return (finding_of(Twin(row, leader, relation), leader, is_leader=False),)


def of_delta(table: DeltaTable) -> tuple[Finding, ...]:
    """What is found of a Delta source that has read version 4, with its own batch."""
    at = TableAtRestart("/c", "0", parse_source("delta:/t"), 4, SourceOffset(DeltaOffset("t", 5).json), now_ms=0)
    at = replace(at, before=SourceOffset(DeltaOffset("t", 4).json))
    return tuple(findings_of_delta(at, table, stops(at, table)))


_DELTA = DeltaTable(DeltaSchema("t", {}), 5, frozenset({4, 5}), schemas={4: DeltaSchema("t", {})})
_RESTORED = replace(
    _DELTA, newest=6, versions=frozenset({4, 5, 6}), commits={6: DeltaCommit(RESTORE, removed={"a": 1})}
)
_OTHER_SCHEMA = {"id": "t", "schemaString": '{"type":"struct"}', "partitionColumns": ["day"]}


def of_iceberg(at: IcebergOffset, *, initial: int = 1, from_ms: int | None = None) -> tuple[Finding, ...]:
    """What is found of an Iceberg source whose table has deleted after two snapshots, and was rolled back from 9 to 2."""
    made = [Snapshot(number, number - 1, 1_000, "delete" if number == 3 else "append") for number in (4, 3, 2, 1)]
    history = History("/t", "t", tuple(made), {9: Snapshot(9, 2, 1_000, "append")})
    source = TableAtRestart(
        "/c", "0", parse_source("iceberg:/t"), 4, SourceOffset(at.json), trigger="availableNow", now_ms=0
    )
    skips = Skips(from_ms=from_ms)
    return tuple(losses_of_iceberg(IcebergSource(source, at, None, IcebergOffset(initial, 0), history, skips)))


KINESIS = '{"metadata":{"streamName":"s","batchId":"%s"},"shard-0":{"iteratorType":"LATEST","iteratorPosition":""}}'

BY_CODE: dict[str, Shown] = {
    "CKPT101": Shown(("error", "offsets/4"), mutations=("empty offsets/{N}",)),
    "CKPT102": Shown(("warning", "offsets/2"), mutations=("truncate offsets/{N-2}",)),
    "CKPT103": Shown(("error", "commits/4"), mutations=("version commits/{N} v9",)),
    "CKPT104": Shown(("error", "metadata"), mutations=("drop metadata",)),
    "CKPT105": Shown(("error", "offsets/4"), mutations=("line offsets/{N} 1 ''",)),
    "CKPT107": Shown(("error", "offsets/4"), mutations=("append offsets/{N} 0a0a",)),
    "CKPT108": Shown(("error", "state/0/0/._8.zip"), "agg-rocksdb", ("junk state/0/0 ._8.zip 6a",)),
    "CKPT109": Shown(
        ("error", "offsets/4"),
        mutations=(f"line offsets/{{N-1}} 2 '{KINESIS % 93}'", f"line offsets/{{N}} 2 '{KINESIS % 92}'"),
    ),
    "CKPT110": Shown(("error", "offsets/3"), mutations=("drop offsets/{N-1}",)),
    "CKPT111": Shown(("note", None), mutations=("drop offsets/{N-2}",)),
    "CKPT112": Shown(("error", "commits/4"), mutations=("drop offsets/{N}",)),
    "CKPT113": Shown(("warning", None), mutations=("drop commits/{N}", "drop commits/{N-1}")),
    "CKPT115": Shown(("error", "offsets/007"), mutations=("copy offsets/{N} offsets/007",)),
    "CKPT116": Shown(("error", "offsets/4"), mutations=(f"conf offsets/{{N}} {SHUFFLE} null",)),
    "CKPT117": Shown(
        ("warning", "offsets/4"), "offset-log-v2", (f"conf offsets/{{N}} {SHUFFLE} absent",), DeploySpec()
    ),
    "CKPT118": Shown(("warning", "offsets/7"), "agg-hdfs", ("watermark offsets/{N} 1",)),
    "CKPT119": Shown(("error", "offsets/7"), "agg-hdfs", (f"conf offsets/{{N}} {SHUFFLE} '\"4\"'", "drop commits/{N}")),
    "CKPT120": Shown(("error", "offsets/.4.crc"), mutations=("bare-drop commits/{N}", "bare-drop offsets/{N}")),
    "CKPT121": Shown(("warning", "offsets/.4.crc"), mutations=("stale offsets/{N}",)),
    "CKPT122": Shown(("error", "state/0/0/8.zip"), "agg-rocksdb", ("rot state/0/0/{V}.zip",)),
    "CKPT123": Shown(("error", "sources/0/4"), mutations=("drop sources/0/{N}",)),
    "CKPT124": Shown(("error", "sources/0/2"), mutations=("drop sources/0/{N-2}",)),
    "CKPT125": Shown(("error", "offsets/4"), mutations=("line offsets/{N} 2 -",)),
    "CKPT106": Shown(("warning", "offsets/4"), mutations=("foreign offsets/4 offsets/3",)),
    "CKPT126": Shown(("error", "offsets/4"), mutations=("line offsets/{N} 2 '{\"logOffset\":0}'",)),
    "CKPT128": Shown(
        ("error", "offsets/4"),
        mutations=(
            "drop commits/{N}",
            """text sources/0/4 'v1\n{"path":"file:///gone.json","timestamp":1,"batchId":4}'""",
        ),
    ),
    "CKPT129": Shown(
        ("warning", "sources/0/4"),
        mutations=("""text sources/0/4 'v1\n{"path":"file:///a.json","timestamp":9999999999999,"batchId":4}'""",),
    ),
    "CKPT130": Shown(("error", "state/0/0/8.delta"), "agg-hdfs", ("drop state/0/0/{V}.delta",)),
    "CKPT131": Shown(("error", "state"), "agg-hdfs", ("drop offsets/*", "drop commits/*")),
    "CKPT132": Shown(("error", "state"), "agg-rocksdb-v2", ("drop state",)),
    "CKPT133": Shown(("error", "commits/7"), "agg-rocksdb-v2", ("text commits/{N} v1 {}",)),
    "CKPT134": Shown(("warning", "state/0/0/5.snapshot"), "agg-hdfs", ("empty state/0/0/*.snapshot",)),
    "CKPT127": Shown(("error", "sources/0/3"), mutations=("foreign sources/0/3 sources/0/2",)),
    "CKPT135": Shown(("warning", "state/0"), "count-all-hdfs", ("drop state/0/_metadata", "drop state/0/0/_metadata")),
    "CKPT137": Shown(
        ("error", "state/0/0/8.delta"),
        "agg-hdfs",
        ("drop commits/{N}", "empty state/0/0/{V}.delta"),
    ),
    "CKPT138": Shown(("warning", "state/0/0"), "agg-hdfs", ("drop commits/{N}", "drop offsets/{N}")),
    "CKPT140": Shown(("error", "_spark_metadata/4"), mutations=("drop commits/{N}", "drop offsets/{N}"), sink=True),
    "CKPT141": Shown(("warning", "_spark_metadata"), mutations=("drop ../output/_spark_metadata/{N}",), sink=True),
    "CKPT136": Shown(
        ("warning", "offsets/7"),
        "agg-hdfs",
        (f"conf offsets/{{N}} {PROVIDER} '\"org.example.OurProvider\"'",),
        deploy=DeploySpec(),
    ),
    "CKPT142": Shown(("error", "_spark_metadata/2"), mutations=("drop ../output/_spark_metadata/{N-2}",), sink=True),
    "CKPT143": Shown(
        ("warning", None), mutations=("folder ../_ckpt_undo", "folder ../_ckpt_undo/checkpoint", FIRST_SINK), sink=True
    ),
    "CKPT144": Shown(("error", "_spark_metadata/2"), mutations=("empty ../output/_spark_metadata/2",), sink=True),
    "CKPT145": Shown(
        ("error", "_spark_metadata/3"),
        mutations=("foreign ../output/_spark_metadata/3 ../output/_spark_metadata/2",),
        sink=True,
    ),
    "CKPT146": Shown(("error", "offsets/9"), mutations=("copy offsets/{N} offsets/{N+5}",)),
    "CKPT147": Shown(("warning", "offsets/7"), "agg-hdfs", ("watermark offsets/{N} 91729497600000",)),
    "CKPT150": Shown(
        ("warning", "offsets/5"),
        mutations=("copy offsets/{N} offsets/.5.aa.tmp", "copy offsets/{N} offsets/.5.bb.tmp"),
    ),
    "CKPT151": Shown(
        ("note", "offsets/4"),
        mutations=("drop commits/{N}", """line offsets/{N} 1 '{"conf":{},"ckptFence":true}'"""),
    ),
    "CKPT152": Shown(
        ("warning", "offsets/4"),
        mutations=(
            "owner offsets/* 1000 644",
            "owner commits/* 1000 644",
            "owner sources/0/* 1000 644",
            "owner offsets/{N} 0 600",
        ),
    ),
    "CKPT160": Shown(("note", "notes.txt"), mutations=("text notes.txt mine",)),
    "CKPT161": Shown(("warning", "metadata"), mutations=("link metadata",)),
    "CKPT162": Shown(
        ("warning", "backups"),
        mutations=(
            f"folder backups/{BACKUP}/checkpoint",
            f"text backups/{BACKUP}/checkpoint/metadata {{}}",
            f"text backups/{BACKUP}/manifest.json {{}}",
        ),
    ),
    "CKPT153": Shown(("error", "offsets/4"), mutations=("pipe offsets/{N}",)),
    "CKPT156": Shown(("note", None), around=around(1)),
    "CKPT157": Shown(("error", None), around=around(0, "late")),
    "CKPT158": Shown(("warning", None), deploy=DeploySpec(), table=of_twins("ran")),
    "CKPT159": Shown(("note", None), deploy=DeploySpec(), table=of_twins("rests")),
    "CKPT206": Shown(("error", None), deploy=DeploySpec(), around=around(1)),
    "CKPT207": Shown(("error", "_spark_metadata/1"), deploy=DeploySpec(), around=around(0, "before"), unstarted=True),
    "CKPT163": Shown(("warning", r"x\..\y"), mutations=(r"text 'x\..\y' mine",)),
    "CKPT208": Shown(("note", None), deploy=DeploySpec(), table=of_pipeline("@dp.table\ndef gold(): ...")),
    "CKPT209": Shown(("warning", None), deploy=DeploySpec(), table=pipeline_findings(seen())),
    "CKPT216": Shown(
        ("warning", None), deploy=DeploySpec(), table=of_pipeline("@dp.table(format='delta')\ndef bronze(): ...")
    ),
    "CKPT217": Shown(("warning", None), deploy=DeploySpec(), table=of_pipeline(f"{TABLE}{READER}", "bronze")),
    "CKPT201": Shown(("error", None), "agg-hdfs", deploy=DeploySpec(confs={SHUFFLE: "8"})),
    "CKPT202": Shown(("note", "offsets/4"), mutations=("confs offsets/{N} none",), deploy=DeploySpec()),
    "CKPT203": Shown(("note", None), deploy=DeploySpec(confs={SHUFFLE: "8"})),
    "CKPT204": Shown(
        ("error", "offsets/7"), "agg-hdfs", ("confs offsets/{N} none",), DeploySpec(operators=("stateStoreSave",))
    ),
    "CKPT205": Shown(("error", "state/0"), "agg-hdfs", (f"conf offsets/{{N}} {SHUFFLE} '\"1\"'",), DeploySpec()),
    "CKPT210": Shown(("error", "offsets/4"), deploy=DeploySpec(sources=(Source(None),) * 2)),
    "CKPT211": Shown(
        ("error", "offsets/3"),
        "named-sources",
        deploy=DeploySpec(
            confs={SOURCE_EVOLUTION: "true"},
            sources=tuple(Source(name, "file") for name in ("orders", "payments", "refunds")),
        ),
    ),
    "CKPT212": Shown(("error", "offsets/4"), deploy=DeploySpec(sources=(Source("0", "kafka"),))),
    "CKPT213": Shown(
        ("error", "offsets/4"),
        deploy=DeploySpec(confs={SOURCE_EVOLUTION: "true"}, sources=(Source("orders", "file"),)),
    ),
    "CKPT214": Shown(("error", None), deploy=DeploySpec(sources=(Source("orders", "file"),))),
    "CKPT215": Shown(
        ("warning", None),
        deploy=DeploySpec(sources=(Source("0", "broken"),)),
        package={"broken": "no_such:KIND"},
    ),
    "CKPT220": Shown(("error", "offsets/4"), "offset-log-v2", deploy=DeploySpec((4, 1))),
    "CKPT221": Shown(("error", "commits/7"), "agg-rocksdb-v2", deploy=DeploySpec((3, 5))),
    "CKPT222": Shown(("error", "commits/7"), "agg-rocksdb-v2", deploy=DeploySpec(confs={STATE_FORMAT: "1"})),
    "CKPT223": Shown(("error", "commits/3"), "commit-log-v3", deploy=DeploySpec()),
    "CKPT224": Shown(("warning", "offsets/4"), deploy=DeploySpec((4, 0))),
    "CKPT225": Shown(("note", "commits/6"), "agg-hdfs", ("drop commits/{N}", "drop offsets/{N}"), DeploySpec()),
    "CKPT230": Shown(("error", "state"), "agg-hdfs", deploy=DeploySpec(operators=("dedupe",))),
    "CKPT231": Shown(("error", "offsets/3"), "async-progress", deploy=DeploySpec(async_progress=False)),
    "CKPT232": Shown(("warning", "offsets/7"), "agg-rocksdb-v2", deploy=DeploySpec(trigger="realTime")),
    "CKPT233": Shown(("error", None), deploy=DeploySpec(sink=parse_sink("json:/out"), trigger="continuous")),
    "CKPT240": Shown(
        ("warning", "commits/3"),
        "commit-log-v3",
        deploy=DeploySpec(confs={SINK_EVOLUTION: "true"}, sink_name="lake"),
    ),
    "CKPT241": Shown(
        ("error", "sources/0/2.compact"),
        deploy=DeploySpec(confs={"spark.sql.streaming.fileSource.log.compactInterval": "3"}),
    ),
    "CKPT250": Shown(("error", "offsets/4"), deploy=DeploySpec(), kafka=at_ten(p0=(15, 30))),
    "CKPT251": Shown(("error", "offsets/4"), deploy=DeploySpec(), kafka=at_ten(p1=(0, 30))),
    "CKPT252": Shown(("error", "offsets/4"), deploy=DeploySpec(), kafka=at_ten(p0=(0, 30), planned=4)),
    "CKPT253": Shown(("error", "offsets/4"), deploy=DeploySpec(), kafka=at_ten(p0=(0, 30))),
    "CKPT254": Shown(("error", "offsets/4"), deploy=DeploySpec(), kafka=at_ten(p0=(0, 30), p1=(5, 9))),
    "CKPT255": Shown(
        ("error", "offsets/4"),
        deploy=DeploySpec(),
        table=of_delta(replace(_DELTA, commits={5: DeltaCommit(removed={"a": 1})})),
    ),
    "CKPT256": Shown(
        ("error", "offsets/4"),
        deploy=DeploySpec(),
        table=of_delta(
            replace(
                _DELTA,
                schema=DeltaSchema("t", {"type": "struct"}, ("day",)),
                commits={5: DeltaCommit(metadata=_OTHER_SCHEMA)},
            )
        ),
    ),
    "CKPT257": Shown(
        ("error", "offsets/4"), deploy=DeploySpec(), table=of_delta(replace(_DELTA, versions=frozenset({5})))
    ),
    "CKPT258": Shown(
        ("error", "offsets/4"),
        deploy=DeploySpec(),
        table=(
            lost_files(TableAtRestart("/c", "0", parse_source("delta:/t"), 4, SourceOffset("{}"), now_ms=0), 5, ["a"]),
        ),
    ),
    "CKPT259": Shown(
        ("error", "offsets/4"), deploy=DeploySpec(), table=of_delta(replace(_DELTA, schema=DeltaSchema("u", {})))
    ),
    "CKPT260": Shown(("error", "offsets/4"), deploy=DeploySpec(), table=of_iceberg(IcebergOffset(7, 0))),
    "CKPT261": Shown(("error", "offsets/4"), deploy=DeploySpec(), table=of_iceberg(IcebergOffset(9, 0))),
    "CKPT262": Shown(("error", "offsets/4"), deploy=DeploySpec(), table=of_iceberg(IcebergOffset(2, 0))),
    "CKPT263": Shown(
        ("error", "sources/0/offsets/0"), deploy=DeploySpec(), table=of_iceberg(IcebergOffset(4, 0), initial=8)
    ),
    "CKPT264": Shown(("error", "offsets/4"), deploy=DeploySpec(), table=of_iceberg(IcebergOffset(4, 0), from_ms=2_000)),
    "CKPT149": Shown(("note", "other"), mutations=("folder other/offsets", "text other/offsets/0 v1")),
    "CKPT148": Shown(
        ("warning", "offsets/3"),
        deploy=DeploySpec(),
        table=(
            *unlogged_findings(
                TableAtRestart("/c", "0", parse_source("file:/in"), 4, SourceOffset("{}"), back_to=2, now_ms=0),
                Unlogged((("a", 3),)),
                3,
                4,
            ),
        ),
    ),
    "CKPT265": Shown(
        ("warning", "offsets/4"),
        deploy=DeploySpec(),
        table=(
            finding_of_rule(
                TableAtRestart("/c", "0", parse_source("file:/in"), 4, SourceOffset("{}"), now_ms=0),
                LifecycleRule("old", ""),
                "in/a",
                1,
                0,
            ),
        ),
    ),
    "CKPT266": Shown(
        ("error", "offsets/4"),
        deploy=DeploySpec(),
        table=expiring(4, Losses(expires_ms=60_000), (), 0, 3_600_000).findings,
    ),
    "CKPT267": Shown(
        ("error", "offsets/4"),
        deploy=DeploySpec(),
        table=of_delta(replace(_RESTORED, reverted=Reverted((6,), (5,), (), 6))),
    ),
    "CKPT268": Shown(
        ("error", "offsets/4"),
        deploy=DeploySpec(),
        table=of_delta(replace(_RESTORED, reverted=Reverted((6,), (), (4,), 6))),
    ),
}


def view_of(shown: Shown, home: Path) -> CheckpointView:
    mutate(home / "checkpoint", shown.mutations)
    sink = Store.open(str(home / "output")) if shown.sink else None
    view = examine(Store.open(str(home / "checkpoint")), deep=True, sink=sink, each=True)
    view = replace(view, objects={}, entries={}) if shown.unstarted else view
    return replace(view, surroundings=shown.around)


def findings_of(shown: Shown, home: Path) -> tuple[Finding, ...]:
    view = view_of(shown, home)
    found = (*(losses(shown.kafka) if shown.kafka else ()), *shown.table)
    lost = Losses(found, (), {}) if found else None
    with on_path(*([install(home / "site", "acme-ckpt", shown.package)] if shown.package else [])):
        return check(view) if shown.deploy is None else forecast(view, shown.deploy, lost).findings


@pytest.mark.parametrize("code", BY_CODE)
def test_a_rule_finds_what_it_is_for(code, golden_home):
    shown = BY_CODE[code]
    found = {finding.code: finding for finding in findings_of(shown, golden_home(shown.golden))}
    assert code in found, found
    assert (found[code].severity, found[code].name) == shown.says
    assert found[code].severity == "note" or found[code].hint
    for finding in found.values():
        assert finding.severity != "error" or finding.commands or NEXT_STEP.search(finding.hint or ""), finding
    for finding in found.values():
        assert not PLACEHOLDER.search(f"{finding.message} {finding.hint}"), "an f-string without its f"


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_entry_that_cannot_be_read_is_saved_by_a_command(damage, golden):
    checkpoint = golden("file-to-parquet-5")
    mutate(checkpoint, (damage,))
    found = [item for item in check(examine(Store.open(str(checkpoint)), deep=True)) if item.severity == "error"]
    assert found
    for finding in found:
        assert f"ckpt salvage {checkpoint} --sink TYPE[:URI]" in finding.commands, finding


def test_entries_that_no_restart_reads_are_named_up_to_a_number_and_counted_beyond(golden):
    checkpoint = golden("file-to-parquet-12")
    for batch_id in range(100, 103 + logs.MOST_NAMED):
        (checkpoint / "commits" / str(batch_id)).touch()
    found = [
        item for item in check(examine(Store.open(str(checkpoint)), deep=True)) if item.code in ("CKPT101", "CKPT102")
    ]
    (newest,) = [item for item in found if item.severity == "error"]
    assert newest.name == f"commits/{102 + logs.MOST_NAMED}", "what a restart reads is always named"
    others = [item for item in found if item.severity == "warning"]
    assert len(others) == logs.MOST_NAMED + 1 and "2 more log entries" in others[-1].message + others[0].message


@pytest.mark.parametrize("code", [code for code, shown in BY_CODE.items() if shown.mutations])
def test_a_rule_is_silent_on_the_healthy_checkpoint(code, goldens):
    shown = BY_CODE[code]
    healthy = Shown(shown.says, shown.golden, (), shown.deploy, shown.sink)
    assert code not in {finding.code for finding in findings_of(healthy, goldens[f"4.3.0/{shown.golden}"])}


@pytest.mark.parametrize("code", [code for code, shown in BY_CODE.items() if shown.deploy is None])
def test_a_check_gives_the_codes_that_it_is_registered_under(code, golden_home):
    shown = BY_CODE[code]
    view = view_of(shown, golden_home(shown.golden))
    for judge, codes in registry.CHECKS.items():
        assert {finding.code for finding in judge(view)} <= set(codes), judge


def test_every_rule_is_shown():
    assert BY_CODE.keys() == {code for code in RULES if code < "CKPT300"}
