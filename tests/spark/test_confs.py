"""What a real restart does with the once-only confs, against what the forecast says, word for word."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE, catalogue
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.spark_version import SPARK_MAX
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store

pytestmark = pytest.mark.spark

_CLASS = "org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata"
SHUFFLE = "spark.sql.shuffle.partitions"
CODEC = "spark.sql.streaming.stateStore.compression.codec"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
AGGREGATION = "spark.sql.streaming.aggregation.stateFormatVersion"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
FULL = {conf.key: conf.default for conf in CATALOGUE} | {SHUFFLE: "2"}

#: name: (confs in the offset log, confs of the deploy)
CASES = {
    "nothing set": (FULL, {}),
    "the same set": (FULL, {SHUFFLE: "2", CODEC: "lz4"}),
    "shuffle partitions changed": (FULL, {SHUFFLE: "4"}),
    "internal partitions set": (FULL, {"spark.sql.streaming.internal.stateStore.partitions": "9", SHUFFLE: "4"}),
    "several changed": (FULL, {CODEC: "zstd", POLICY: "max", AGGREGATION: "1"}),
    "an empty log": ({}, {}),
    "an empty log and a deploy": ({}, {SHUFFLE: "4", CODEC: "zstd", PROVIDER: FULL[PROVIDER]}),
    "an old log": ({key: value for key, value in FULL.items() if "rocksdb" not in key and "policy" not in key.lower()}, {POLICY: "max"}),
    "unknown confs": ({**FULL, "spark.sql.old.thing": "x"}, {}),
}  # fmt: skip


def hand_made(root: Path, conf: dict[str, str]) -> Path:
    """A committed batch 0 of a rate source."""
    for directory in ("offsets", "commits"):
        (root / directory).mkdir(parents=True)
    (root / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": conf})
    (root / "offsets" / "0").write_text(f'v1\n{metadata}\n{{"offset":500,"timestamp":100000}}')
    (root / "commits" / "0").write_text("v1\n{}")
    return root


@pytest.fixture(scope="module")
def warnings(spark):
    """The WARN lines of OffsetSeqMetadata, as they come."""
    log4j = spark._jvm.org.apache.logging.log4j
    writer = spark._jvm.java.io.StringWriter()
    layout = log4j.core.layout.PatternLayout.newBuilder().withPattern("%m%n").build()
    appender = log4j.core.appender.WriterAppender.createAppender(layout, None, writer, "captured", False, True)
    appender.start()
    context = log4j.LogManager.getContext(False)
    logger = log4j.core.config.LoggerConfig(_CLASS, log4j.Level.WARN, False)
    logger.addAppender(appender, log4j.Level.WARN, None)
    context.getConfiguration().addLogger(_CLASS, logger)
    context.updateLoggers()

    def taken() -> list[str]:
        lines = [line for line in writer.toString().splitlines() if line]
        writer.getBuffer().setLength(0)
        return lines

    yield taken
    context.getConfiguration().removeLogger(_CLASS)
    context.updateLoggers()


@pytest.mark.parametrize("case", CASES)
def test_the_forecast_is_what_spark_does(spark, warnings, tmp_path, case):
    log, deploy = CASES[case]
    checkpoint = hand_made(tmp_path / "checkpoint", log)
    foretold = forecast(observe(Store.open(str(checkpoint))), DeploySpec(SPARK_MAX, deploy))

    session = spark.newSession()
    session.conf.unset(SHUFFLE)
    base = spark.sparkContext.getConf().get(SHUFFLE)
    for key, value in deploy.items():
        session.conf.set(key, value)
    warnings()
    stream = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(once=True)
    writer.start().awaitTermination(600)

    said = [line.replace(f"from '{base}' to", "from '200' to") for line in warnings()]
    assert said == [conf.message for conf in foretold.confs if conf.message]
    view = observe(Store.open(str(checkpoint)))
    assert foretold.resumes_at_batch == 1 == view.latest_committed and foretold.reruns_batch is None
    written = dict(view.offset_seq(1).metadata.conf)
    assert written == {conf.key: conf.effective for conf in foretold.confs}


def test_the_catalogue_is_that_of_the_installed_spark(spark):
    """Read by reflection; a new Spark release shows itself here."""
    cls = spark._jvm.java.lang.Class.forName(f"{_CLASS}$")
    module = cls.getField("MODULE$").get(None)

    def private(name: str):
        field = cls.getDeclaredField(name)
        field.setAccessible(True)
        return field.get(module)

    confs = private("relevantSQLConfs").toList()
    keys = [confs.apply(index).key() for index in range(confs.length())]
    rebound = private("rebindSQLConfsSessionToOffsetLog").values().toList()
    keys += [rebound.apply(index).key() for index in range(rebound.length())]
    defaults = private("relevantSQLConfDefaultValues")
    ours = catalogue(SPARK_MAX)
    assert [conf.key for conf in ours] == keys
    assert {conf.key: conf.when_absent for conf in ours if conf.when_absent} == {
        key: defaults.apply(key) for key in keys if defaults.contains(key)
    }
    session = spark._jvm.org.apache.spark.sql.internal.SQLConf()
    fresh = {key: session.getConfString(key) for key in keys}
    assert {conf.key: conf.default for conf in ours} == fresh
