"""The history joined with Spark's readers of state, by the very statement of docs/pipeline.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.spark import register
from airflow_provider_ckpt.spark.read_back import history
from tests.spark_lab import Lab, activate

PAGE = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text()
CODE, SQL = re.findall(r"```(?:python|sql)\n(.*?)```", PAGE.partition("## State beside the history")[2], re.DOTALL)[:2]
#: The batches of each query.
BATCHES = {"hdfs": 3, "rocksdb": 4}


@pytest.fixture(scope="module")
def fleet(spark, tmp_path_factory):
    """Two queries that sum by key, and their history."""
    root = tmp_path_factory.mktemp("state")
    for kind, batches in BATCHES.items():
        lab = Lab(spark, root / kind, kind)
        lab.write(range(batches))
        lab.run(root / "fleet" / kind)
    session = activate(spark.newSession())
    register(session)
    rows = session.readStream.format("checkpoint").load(str(root / "fleet"))
    sink = rows.writeStream.format("checkpoint_history").option("checkpointLocation", str(root / "own"))
    sink.trigger(availableNow=True).start(str(root / "history")).awaitTermination()
    return session, root


@pytest.fixture(scope="module")
def answer(fleet):
    """What the page says to type."""
    session, root = fleet
    code = CODE.replace("s3a://lake/audit/history", str(root / "history")).replace("s3a://lake", str(root))
    exec(compile(code, "docs/pipeline.md", "exec"), {"spark": session})
    return [row.asDict() for row in session.sql(SQL).collect()]


def test_each_operator_is_beside_the_newest_batch_of_its_query(answer):
    assert {
        (Path(row["location"]).name, row["batch_id"], row["operatorName"], row["numPartitions"]) for row in answer
    } == {(kind, batches - 1, "stateStoreSave", 2) for kind, batches in BATCHES.items()}


def test_the_keys_of_the_state_are_counted(answer):
    """A batch has one key that is new; there are two partitions."""
    assert {Path(row["location"]).name: row["keys"] for row in answer} == {
        kind: batches + 1 for kind, batches in BATCHES.items()
    }
    assert all(row["keys"] / 2 <= row["keys_of_the_largest"] <= row["keys"] for row in answer)


def test_the_confs_are_those_of_the_batch(answer, fleet):
    session, root = fleet
    providers = {Path(row["location"]).name: row["provider"].rpartition(".")[2] for row in answer}
    assert providers == {"hdfs": "HDFSBackedStateStoreProvider", "rocksdb": "RocksDBStateStoreProvider"}
    assert history(session, str(root / "history")).count() == sum(BATCHES.values())
