"""``spark.read.format("checkpoint")`` in real Spark: its rows are those that the library reads directly."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt.batches.arrow import arrow_schema, record_batch
from airflow_provider_ckpt.batches.columns import BATCHES, CHECKPOINTS, TABLES
from airflow_provider_ckpt.batches.read_logs import one_after_the_other
from airflow_provider_ckpt.batches.read_rows import Reading, read_rows
from airflow_provider_ckpt.batches.selection import DeclaredTypes
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.spark import register
from airflow_provider_ckpt.spark.table import CheckpointSource, TableReader, divided
from airflow_provider_ckpt.storage.store import Store
from tests.batches.directly import declared_types, rows_by_hand
from tests.batches.fleet_story import FleetStory
from tests.package import loaded_by

TYPES = '{"0": "rate-micro-batch"}'


@pytest.fixture(scope="module")
def session(spark):
    own = spark.newSession()
    register(own)
    return own


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Twelve checkpoints with random histories; some are damaged, and beside them is what is no checkpoint."""
    story, chance = FleetStory(tmp_path_factory.mktemp("fleet")), random.Random(11)
    names = tuple(f"team-{number % 3}/query-{number}" for number in range(12))
    for _ in range(60):
        story.happens(chance, names)
    for name in story.logs:
        if chance.random() < 0.4:
            story.plan(name)
        if chance.random() < 0.4:
            files = [*sorted((story.root / name).glob("*/[0-9]*")), story.root / name / "metadata"]
            chance.choice(files).write_bytes(chance.choice([b"", b"nonsense", b"v9\n{}", b"v1\n{"]))
    (story.root / "data").mkdir()
    (story.root / "data" / "part-0.parquet").touch()
    return story


def read(session, root, **options):
    return session.read.format("checkpoint").options(**options).load(str(root))


def in_order(rows):
    return sorted(rows, key=lambda row: (row["location"], row["batch_id"] or -1, row["source_id"] or ""))


def through_spark(frame):
    """Rows as Arrow has them, which is what the library gives."""
    return in_order(frame.toArrow().to_pylist())


def directly(root, **options):
    """What the library reads of every checkpoint below a root, through no Spark."""
    reading = Reading(declared=DeclaredTypes.parse(json.loads(options.get("sourceTypes", "{}"))))
    stores = [found.store for found in find_checkpoints([Store.open(str(root))])]
    rows = [row for store in stores for row in read_rows(store, reading, one_after_the_other(store))]
    return in_order(record_batch(rows, BATCHES).to_pylist())


@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES)
def test_the_schema_is_the_one_that_spark_derives(session, columns):
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(CheckpointSource({"rows": "batches" if columns is BATCHES else "checkpoints"}).schema())
    assert arrow_schema(columns).equals(to_arrow_schema(schema, timezone="UTC"))


def test_the_rows_of_every_golden_are_what_its_files_say(session, goldens, tmp_path):
    for case, home in goldens.items():
        shutil.copytree(home / "checkpoint", tmp_path / case)
    declared = {str(tmp_path / case): declared_types(tmp_path / case) for case in goldens}
    rows = through_spark(read(session, tmp_path, sourceTypes=json.dumps(declared)))
    by_hand = [row for case in goldens for row in rows_by_hand(tmp_path / case, declared[str(tmp_path / case)])]
    times = {column.name for column in BATCHES if column.type == "timestamp"}
    assert len(rows) == len(by_hand) > 500
    for row, expected in zip(rows, in_order(by_hand), strict=True):
        row = {name: int(value.timestamp() * 1000) if name in times and value else value for name, value in row.items()}
        row["confs"] = None if row["confs"] is None else dict(row["confs"])
        assert {name: row[name] for name in expected} == expected


def test_the_rows_of_a_random_fleet_are_those_of_the_library(session, fleet):
    expected = directly(fleet.root, sourceTypes=TYPES)
    assert through_spark(read(session, fleet.root, sourceTypes=TYPES)) == expected
    assert {row["problem"] is None for row in expected} == {True, False}


def test_ckpt_log_and_the_table_agree(capsys, fleet):
    name = whole(fleet)
    fields = ("source_id", "source_type", "start_offset", "end_offset", "unit", "advanced")
    rows = [row for row in directly(fleet.root, sourceTypes=TYPES) if row["location"] == fleet.location(name)]
    assert run(["log", fleet.location(name), "--last", "100", "--source", "0=rate-micro-batch", "--json"]) == 0
    batches = json.loads(capsys.readouterr().out)["batches"]
    assert [[row[field] for field in fields] for row in rows] == [
        [source["total" if field == "advanced" else field] for field in fields]
        for batch in batches
        for source in batch["sources"]
    ]


def whole(fleet):
    """A checkpoint of the fleet that is not damaged, with some batches."""
    problems = {row["location"] for row in directly(fleet.root) if row["problem"]}
    return next(name for name, log in fleet.logs.items() if len(log) > 4 and fleet.location(name) not in problems)


def test_filters_are_pushed_down_and_change_no_row(spark, session, fleet):
    name = whole(fleet)
    where = f"location = '{fleet.location(name)}' and batch_id >= 2 and batch_time > timestamp'2026-01-01 00:02:30Z'"
    pushing = spark.newSession()
    register(pushing, pushdown=True)
    rows = through_spark(read(pushing, fleet.root).where(where))
    assert rows == through_spark(read(session, fleet.root).where(where))
    assert rows
    assert read(pushing, fleet.root).where(where).rdd.getNumPartitions() == 1  # of one checkpoint alone


def test_a_view_answers_each_question_by_itself(session, fleet):
    """With filters pushed down Spark plans a question that pushes none by those of the one before."""
    rows = directly(fleet.root)
    read(session, fleet.root).createOrReplaceTempView("fleet_rows")
    for where in ("batch_id = 1", "true", "batch_id = 1 or batch_id = 2", "location = 'nowhere'", "batch_id % 2 = 0"):
        session.sql(f"SELECT * FROM fleet_rows WHERE {where}").count()
    counted = session.sql("SELECT count(*) FROM fleet_rows WHERE batch_id = 1 OR batch_id = 2").first()[0]
    assert counted == sum(row["batch_id"] in (1, 2) for row in rows) > 0
    assert session.sql("SELECT count(*) FROM fleet_rows").first()[0] == len(rows)


def test_columns_are_those_asked_for(session, fleet):
    names = ["batch_id", "location"]
    frame = session.read.format("checkpoint").schema("batch_id bigint, location string").load(str(fleet.root))
    assert frame.columns == names
    assert frame.count() == len(directly(fleet.root))


def test_a_row_for_each_checkpoint_is_what_the_rules_say(session, fleet):
    expected = list(judge_checkpoints(find_checkpoints([Store.open(str(fleet.root))])))
    rows = read(session, fleet.root, rows="checkpoints").toArrow().to_pylist()
    found = record_batch(expected, CHECKPOINTS).to_pylist()
    changing = ("last_commit_age_ms",)
    assert [
        {key: row[key] for key in row if key not in changing} for row in sorted(rows, key=lambda row: row["location"])
    ] == [
        {key: row[key] for key in row if key not in changing} for row in sorted(found, key=lambda row: row["location"])
    ]


def test_failfast_ends_with_the_problem(session, fleet):
    with pytest.raises(Exception, match=r"MalformedEntryError|IncompleteLogFileError|UnsupportedVersionError"):
        read(session, fleet.root, mode="failfast").collect()


def test_without_a_checkpoint_there_are_no_rows(session, tmp_path):
    assert read(session, tmp_path).count() == 0


def test_a_release_without_data_sources_is_refused():
    class Old:
        version = "3.5.9"

    with pytest.raises(
        CheckpointError, match=r"Spark 3\.5\.9 does not support data sources in Python; Spark 4\.0 and later does"
    ):
        register(Old())


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("offset string", "there is no column 'offset'"),
        ("batch_id int", "the column batch_id has the type bigint and may be null, but the given schema says int"),
        ("batch_id bigint not null", "the given schema says bigint not null"),
    ],
)
def test_a_schema_that_it_does_not_have_is_refused(session, schema, message):
    from pyspark.sql.types import StructType

    with pytest.raises(ValueError, match=message):
        CheckpointSource({"path": "/"}).reader(StructType.fromDDL(schema))


@pytest.mark.parametrize(("count", "wanted", "sizes"), [(10, 4, [2, 3, 2, 3]), (2, 4, [1, 1]), (0, None, [])])
def test_checkpoints_are_divided_evenly(count, wanted, sizes):
    parts = divided(range(count), wanted)
    assert [len(part) for part in parts] == sizes
    assert [item for part in parts for item in part] == list(range(count))


def test_no_partition_has_too_many():
    assert max(map(len, divided(range(100_000), None))) <= 500


@pytest.mark.parametrize("module", ["table", "tail"])
def test_workers_need_neither_airflow_nor_the_command(module):
    loaded = loaded_by(f"import airflow_provider_ckpt.spark.{module}")
    assert not loaded & {"airflow", "click", "rich", "pendulum", "yaml", "google_crc32c", "fsspec", "s3fs"}


def test_a_reader_is_what_plain_pickle_takes(fleet):
    import pickle

    from airflow_provider_ckpt.spark.options import TableOptions

    reader = TableReader(TableOptions.parse({"path": str(fleet.root)}), BATCHES)
    [first, *_] = pickle.loads(pickle.dumps(reader.partitions()))
    rows = [row for batch in pickle.loads(pickle.dumps(reader)).read(first) for row in batch.to_pylist()]
    assert {row["location"] for row in rows} == set(first.value)
    assert Path(first.value[0]).is_dir()
