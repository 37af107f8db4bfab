"""Queries that fail by the code, the data or the systems of their user: one line of JSON a failure.

It imports PySpark alone, so that it runs in the environment of an earlier Spark.

python job.py DIRECTORY KIND…
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import traceback
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

#: What a function in Python does with a text, by the name of the failure.
PYTHON: dict[str, Callable[[str], Any]] = {
    "key": lambda text: {"amount": 1}["price"],
    "value": int,
    "uuid": lambda text: str(uuid.UUID(text)),
    "json": lambda text: json.loads("")["price"],
    "zero": lambda text: 1 / (len(text) - len(text)),
    "index": lambda text: text.split(",")[3],
    "none": lambda text: None.strip(),  # type: ignore[attr-defined]
    "assert": lambda text: _assert(text),
    "next": lambda text: next(iter([])),
    "own-offsets": lambda text: open("/data/app/exports/offsets/17").read(),
    "own-state": lambda text: open("/data/app/state/0/3/7.delta").read(),
    "own-metadata": lambda text: open("/data/app/report/_spark_metadata/9").read(),
    "denied": lambda text: open("/sys/kernel/orders", "w").write(text),
    "disk-full": lambda text: os.write(os.open("/dev/full", os.O_WRONLY), b"1"),
    "refused": lambda text: socket.create_connection(("127.0.0.1", 1)),
    "timed-out": lambda text: _silent(),
    "http": lambda text: urllib.request.urlopen("http://127.0.0.1:1/prices").read(),
    "no-memory": lambda text: bytearray(1 << 62),
    "deep": lambda text: PYTHON["deep"](text),
    "killed": lambda text: os.kill(os.getpid(), signal.SIGKILL),
    "no-module": lambda text: __import__("price_rules"),
    "own-words": lambda text: _raise(f"batch 12 of {text} doesn't exist"),
    "own-words-of-two": lambda text: _raise("another process is writing offsets/12 of the export"),
    "own-words-of-state": lambda text: _raise("the state of the order is not compatible with its schema"),
}


def _assert(text: str) -> None:
    assert not text, "an order has no key"


def _raise(text: str) -> None:
    raise RuntimeError(text)


def _silent() -> bytes:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        client.settimeout(0.02)
        return client.recv(1)


#: Expressions of SQL over the columns key, value and at.
SQL = {
    "cast": "CAST(key AS INT)",
    "cast-date": "CAST(key AS DATE)",
    "zero": "value / (value - value)",
    "overflow": "CAST(value + 2147483647 AS INT)",
    "array-index": "array(1, 2)[5]",
    "element-at": "element_at(array(1, 2), 0)",
    "raise": "raise_error('no price for the batch 12')",
    "assert": "assert_true(value < 0)",
    "timestamp": "to_timestamp(key, 'yyyy-MM-dd')",
    "json": "from_json(key, 'price INT', map('mode', 'FAILFAST')).price",
    "map-key": "map_from_arrays(array(1, 1), array(2, 3))",
    "date": "make_date(2026, 13, 45)",
    "sub-query": "(SELECT key FROM (VALUES ('a'), ('b')) AS t(key))",
    "interval": "CAST(key AS INTERVAL DAY)",
    "url": "parse_url(concat('http://', ' ', key), 'HOST')",
    "decimal": "CAST(CAST(value * 100000 AS STRING) AS DECIMAL(3, 1))",
}
#: Files of the user with names that a checkpoint has as well, by Hadoop's file systems.
HADOOP = (
    *("hadoop-offsets", "hadoop-commits", "hadoop-state", "hadoop-sink-log", "hadoop-exists", "hadoop-rename"),
    *("hadoop-checksum", "wrong-file-system"),
)
#: What ends the driver as well; each needs one of its own.
FATAL = ("deep", "no-memory")
#: What the code of a user in Java does, and its code in Scala (``code/Parse.java``, ``code/Jobs.scala``).
JAVA = (
    *("uuid", "integer", "long", "jackson-empty", "jackson-text", "iterator", "array", "list", "substring", "null"),
    *("class-cast", "date", "end-of-file", "own-offsets", "own-commits", "own-state", "denied", "disk-full", "refused"),
    *("timed-out", "unknown-host", "no-class", "own-words", "own-words-of-two", "no-value", *FATAL),
    *HADOOP,
)
SCALA = (
    *("head", "next", "none", "key", "assert", "require", "match", "to-int", "to-double", "json4s-text", "json4s-type"),
    *("json4s-field", "caught"),
)
Kind = Callable[["Run"], Any]
KINDS: dict[str, Kind] = {}


class Run:
    """What a kind gets: a session, an empty directory, and a stream of rows of files."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        """Write the input."""
        self.spark = spark
        self.home = home
        self.jvm = spark._jvm
        home.joinpath("orders").mkdir(parents=True)
        row = {"key": "N/A", "value": 2147483000, "at": "2026-01-01T00:00:00Z"}
        home.joinpath("orders", "f1.json").write_text(json.dumps(row))

    @property
    def rows(self) -> DataFrame:
        """The input as a stream."""
        schema = "key string, value long, at timestamp"
        return self.spark.readStream.schema(schema).json(str(self.home / "orders"))

    def printed(self, rows: DataFrame) -> Any:
        """A writer that prints."""
        return rows.writeStream.format("noop")

    def frame(self, java: Any) -> DataFrame:
        """A DataFrame of one of the JVM."""
        return DataFrame(java, self.spark)

    def each_batch(self, does: Callable[[DataFrame], Any]) -> Any:
        """A writer that calls a function for each batch."""
        return self.rows.writeStream.foreachBatch(lambda batch, batch_id: does(batch))


def kind(function: Kind) -> Kind:
    """Name a kind of failure by its function."""
    KINDS[function.__name__.replace("_", "-")] = function
    return function


def _python_kinds(how: str, does: Callable[[str], Any]) -> None:
    def mapped(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            does(batch["key"].iloc[0])
            yield batch

    def of_batch(batch: DataFrame) -> None:
        for row in batch.collect():
            does(row["key"])

    def of_column(run: Run) -> Any:
        return run.printed(run.rows.select(sql.udf(lambda text: str(does(text)))("key")))

    def of_many(run: Run) -> Any:
        column = sql.pandas_udf(lambda texts: texts.map(does).astype(str), "string")
        return run.printed(run.rows.select(column("key")))

    KINDS[f"python-udf/{how}"] = of_column
    if how in ("key", "value", "index", "own-offsets", "next", "uuid"):
        KINDS[f"pandas-udf/{how}"] = of_many
    if how in ("key", "json", "own-state", "next", "assert"):
        KINDS[f"map-in-pandas/{how}"] = lambda run: run.printed(
            run.rows.mapInPandas(mapped, "key string, value long, at timestamp")
        )
    if how in ("key", "uuid", "own-offsets", "refused", "denied", "disk-full", "own-words", "own-words-of-two"):
        KINDS[f"foreach-batch/{how}"] = lambda run: run.each_batch(of_batch)
        KINDS[f"foreach/{how}"] = lambda run: run.rows.writeStream.foreach(lambda row: does(row["key"]))


for _how, _does in PYTHON.items():
    if _how != "killed":
        _python_kinds(_how, _does)
KINDS["python-udf/killed"] = lambda run: run.printed(run.rows.select(sql.udf(PYTHON["killed"])("key")))


def _sql_kind(how: str, expression: str) -> None:
    KINDS[f"sql/{how}"] = lambda run: run.printed(run.rows.selectExpr(expression))


for _how, _expression in SQL.items():
    _sql_kind(_how, _expression)


def _jvm_kinds(how: str) -> None:
    def of_java(run: Run) -> Any:
        run.spark.udf.registerJavaFunction("parse", "com.acme.orders.Parse", "string")
        return run.printed(run.rows.selectExpr(f"parse('{how}', key)"))

    def jobs(run: Run) -> Any:
        return run.jvm.com.acme.orders.Jobs  # type: ignore[union-attr]

    def of_writer(call: str) -> Kind:
        def writer(run: Run) -> Any:
            written = run.rows.writeStream
            getattr(jobs(run), call)(written._jwrite, how)
            return written

        return writer

    of = "java" if how in JAVA else "scala"
    if how in JAVA:
        KINDS[f"java-udf/{how}"] = of_java
    else:
        KINDS[f"scala-udf/{how}"] = lambda run: run.printed(run.frame(jobs(run).column(run.rows._jdf, how)))
    if how in ("uuid", "integer", "next", "json4s-field", "own-offsets", "key"):
        KINDS[f"{of}-map/{how}"] = lambda run: run.printed(run.frame(jobs(run).map(run.rows._jdf, how)))
        KINDS[f"{of}-groups/{how}"] = lambda run: run.printed(
            run.frame(jobs(run).groups(run.rows._jdf, how))
        ).outputMode("update")
    if how in (
        "uuid",
        "jackson-empty",
        "array",
        "next",
        "json4s-field",
        "own-offsets",
        "assert",
        "end-of-file",
        *HADOOP,
    ):
        KINDS[f"{of}-foreach-batch/{how}"] = of_writer("batches")
        KINDS[f"{of}-foreach/{how}"] = of_writer("each")
    if how in ("refused", "denied", "timed-out", "jackson-empty", "to-int", "own-commits", *HADOOP):
        KINDS[f"bus-sink/{how}"] = lambda run: (
            run.rows.writeStream.format("com.acme.orders.Bus").option("how", how).outputMode("append")
        )


for _how in (*JAVA, *SCALA):
    _jvm_kinds(_how)
for _how in ("batch-twice", "no-bucket"):
    KINDS[f"bus-sink/{_how}"] = lambda run, how=_how: (  # type: ignore[misc]
        run.rows.writeStream.format("com.acme.orders.Bus").option("how", how).outputMode("append")
    )


def _batch_kind(how: str, does: Callable[[DataFrame, Path], Any]) -> None:
    KINDS[f"batch/{how}"] = lambda run: run.each_batch(lambda batch: does(batch, run.home))


for _how, _of_batch in {
    "no-input": lambda batch, home: batch.sparkSession.read.parquet(str(home / "prices")).collect(),
    "no-input-offsets": lambda batch, home: batch.sparkSession.read.text(str(home / "exports/offsets/3")).collect(),
    "no-input-state": lambda batch, home: batch.sparkSession.read.parquet(str(home / "exports/state/0/3")).collect(),
    "no-input-sink-log": lambda batch, home: batch.sparkSession.read.text(
        str(home / "out/_spark_metadata/4")
    ).collect(),
    "no-table": lambda batch, home: batch.sparkSession.table("prices").collect(),
    "there-already": lambda batch, home: [batch.write.parquet(str(home / "out")) for _ in (1, 2)],
    "no-column": lambda batch, home: batch.select("price").collect(),
    "not-parquet": lambda batch, home: (
        batch.sparkSession.read.schema("key string").parquet(str(home / "orders")).collect()
    ),
    "fail-fast": lambda batch, home: (
        batch.sparkSession.read.schema("key int").option("mode", "FAILFAST").json(str(home / "orders")).collect()
    ),
    "input-gone": lambda batch, home: [home.joinpath("orders", "f1.json").unlink(), batch.collect()],
    "result-size": lambda batch, home: batch.sparkSession.range(400_000).repartition(2).collect(),
    "jdbc": lambda batch, home: batch.write.jdbc("jdbc:derby:/data/none", "orders"),
    "no-driver": lambda batch, home: batch.write.jdbc("jdbc:postgresql://127.0.0.1:1/orders", "orders"),
    "denied": lambda batch, home: batch.write.parquet("/proc/orders"),
    "s3-without-library": lambda batch, home: batch.write.parquet("s3a://acme-lake/orders"),
    "hdfs-refused": lambda batch, home: batch.write.parquet("hdfs://127.0.0.1:1/orders"),
    "no-format": lambda batch, home: batch.write.format("mongodb").save(),
    "udf-in-batch": lambda batch, home: batch.select(sql.udf(lambda text: int(text))("key")).collect(),
}.items():
    _batch_kind(_how, _of_batch)


@kind
def csv_fail_fast(run: Run) -> Any:
    """A line of the input is no row."""
    run.home.joinpath("orders", "f1.json").write_text("a,b,c,d\n")
    rows = run.spark.readStream.schema("a int, b int").option("mode", "FAILFAST").csv(str(run.home / "orders"))
    return run.printed(rows)


@kind
def not_parquet(run: Run) -> Any:
    """The input has another format."""
    return run.printed(run.spark.readStream.schema("key string").parquet(str(run.home / "orders")))


@kind
def no_input(run: Run) -> Any:
    """The directory of the input is not there."""
    return run.printed(run.spark.readStream.schema("key string").json(str(run.home / "nothing")))


@kind
def pandas_udf_length(run: Run) -> Any:
    """A function of many rows returns too few."""
    short = sql.pandas_udf(lambda texts: texts.head(0), "string")
    return run.printed(run.rows.select(short("key")))


@kind
def map_in_pandas_schema(run: Run) -> Any:
    """A function returns other columns than it says."""
    return run.printed(run.rows.mapInPandas(lambda batches: batches, "price double"))


@kind
def pandas_state(run: Run) -> Any:
    """A function with state fails by its own code."""
    from pyspark.sql.streaming.state import GroupStateTimeout

    def total(key: Any, frames: Any, state: Any) -> Any:
        (seen,) = state.get  # the state is not there yet
        yield next(frames).assign(total=seen)

    schema = "key string, total long"
    rows = run.rows.groupBy("key").applyInPandasWithState(
        total, schema, "total long", "update", GroupStateTimeout.NoTimeout
    )
    return run.printed(rows).outputMode("update")


@kind
def no_column(run: Run) -> Any:
    """A column is not there."""
    return run.printed(run.rows.select("price"))


@kind
def no_format(run: Run) -> Any:
    """The library of a sink is not there."""
    return run.rows.writeStream.format("kinesis")


@kind
def cannot_be_sent(run: Run) -> Any:
    """A function has hold of what no worker can have."""
    lock = threading.Lock()
    return run.printed(run.rows.select(sql.udf(lambda text: lock.locked())("key")))


@kind
def kafka_refused(run: Run) -> Any:
    """The broker that a query writes to does not answer."""
    wait = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.max.block.ms": "1500", "topic": "orders"}
    return run.rows.selectExpr("key AS value").writeStream.format("kafka").options(**wait)


def _data_sources() -> None:
    try:
        from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
    except ImportError:  # Spark 3.5 has none
        return

    class Prices(DataSource):
        @classmethod
        def name(cls) -> str:
            return "prices"

        def schema(self) -> str:
            return "key string"

        def simpleStreamReader(self, schema: Any) -> Any:
            how, step = self.options["how"].split("@")

            class Reader(SimpleDataSourceStreamReader):
                def initialOffset(self) -> dict[str, int]:
                    return PYTHON[how]("N/A") if step == "initial" else {"at": 0}

                def read(self, start: dict[str, int]) -> Any:
                    return PYTHON[how]("N/A") if step == "read" else (iter([("a",)]), {"at": 1})

            return Reader()

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:
            from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage

            how, step = self.options["how"].split("@")

            class Writer(DataSourceStreamWriter):
                def write(self, rows: Any) -> Any:
                    if step == "write":
                        PYTHON[how](next(rows)["key"])
                    return WriterCommitMessage()

                def commit(self, messages: Any, batchId: int) -> None:
                    if step == "commit":
                        PYTHON[how]("N/A")

            return Writer()

    def reads(how: str) -> Kind:
        def of(run: Run) -> Any:
            run.spark.dataSource.register(Prices)
            return run.printed(run.spark.readStream.format("prices").option("how", how).load())

        return of

    def writes(how: str) -> Kind:
        def of(run: Run) -> Any:
            name = run.home.name.replace("@", "_").replace("-", "_")
            run.spark.dataSource.register(type("Named", (Prices,), {"name": classmethod(lambda _: name)}))
            # A sink is looked up in the active session, which stays the one of the query before.
            run.jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(run.spark._jsparkSession)
            return run.rows.writeStream.format(name).option("how", how)

        return of

    for how in ("key@initial", "json@read", "own-offsets@read", "refused@read", "next@read"):
        KINDS[f"python-source/{how}"] = reads(how)
    for how in ("uuid@write", "own-offsets@commit", "refused@commit", "disk-full@write"):
        KINDS[f"python-sink/{how}"] = writes(how)


_data_sources()


def start(directory: Path) -> SparkSession:
    """A session whose driver writes its log as text and as JSON."""
    builder = SparkSession.builder.master("local[1]").appName("orders")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.log.structuredLogging.enabled": "true",
        "spark.python.authenticate.socketTimeout": "300s",
        "spark.driver.maxResultSize": "1m",
        "spark.jars": os.environ["JARS"],
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss512k "
        f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def fail(spark: SparkSession, name: str, home: Path) -> dict[str, str]:
    """Run a query until it fails; what PySpark says."""
    try:
        run = Run(spark.newSession(), home)
        writer = KINDS[name](run).option("checkpointLocation", str(home / "checkpoint")).trigger(availableNow=True)
        if not writer.start().awaitTermination(60):
            raise TimeoutError(name)
    except Exception as error:
        return {"said": str(error), "traceback": traceback.format_exc()}
    return {}


def main() -> None:
    """Fail in each way that is asked for."""
    directory, *asked = sys.argv[1:]
    spark = start(Path(directory))
    for name in asked or [name for name in KINDS if name not in {f"java-udf/{how}" for how in FATAL}]:
        print("KIND " + json.dumps({"kind": name, **fail(spark, name, Path(directory, name))}), flush=True)


if __name__ == "__main__":
    main()
