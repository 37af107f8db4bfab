"""Restart real queries on prepared checkpoints, and say what Spark did."""

from __future__ import annotations

import json
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

import lab as golden_lab
import pyspark
from cases import count_by_window, count_counts, count_in_pandas, count_with_processor, session_totals, totals
from generate import start_spark
from pyspark.sql import functions as sql

from airflow_provider_ckpt.restart.forecast import Forecast
from airflow_provider_ckpt.storage.store import Store
from tests.changes.fence.driver import JARS, s3_confs

from .bucket_trees import CHECKPOINT, foretell, put
from .case import Case
from .prepared import deploy_confs, files_read, prepare

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
_LOGGER = (
    "org.apache.spark.sql.execution.streaming" + (".checkpointing" if SPARK >= (4, 1) else "") + ".OffsetSeqMetadata"
)


@dataclass(frozen=True)
class Outcome:
    """What Spark did.

    Args:
        error: Error condition, or the simple name of the innermost Java exception; None when it ran.
        message: The first line of the error, for people.
        batches: Batches that ran to their end.
        start: Start offset of each source in the first of them, JSON text or None, by position.
        watermark_ms: Watermark of the first of them, where the query has one.
        warnings: What ``OffsetSeqMetadata`` logged.
        confs: Once-only confs of the newest offset log entry that was written, where they are not those of the
            newest one before; None when none was written.
        sink_wrote_first: Whether a file sink wrote the first batch; None for other sinks.
    """

    error: str | None
    message: str | None
    batches: list[int]
    start: list[str | None]
    watermark_ms: int | None
    warnings: list[str]
    confs: dict[str, str] | None
    sink_wrote_first: bool | None


def rate(lab: Any) -> Any:
    """Five rows a batch."""
    source = lab.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5)
    rows = source.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()
    return rows.select(sql.lit("r").alias("key"), "value", sql.col("timestamp").alias("at"))


def join(lab: Any) -> Any:
    """The inner join of the golden case."""
    orders = lab.read("orders").withWatermark("at", "10 seconds").alias("o")
    payments = lab.read("payments").withWatermark("at", "10 seconds").alias("p")
    in_time = "o.key = p.key AND p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS"
    return orders.join(payments, sql.expr(in_time)).select("o.key", "o.value", "o.at")


def named(*names: str) -> Callable[[Any], Any]:
    """The union of named sources."""

    def build(lab: Any) -> Any:
        first, *rest = (lab.read(name, named=True) for name in names)
        for other in rest:
            first = first.union(other)
        return first

    return build


def _count(frame: Any, *keys: str) -> Any:
    windows = frame.withWatermark("at", "10 seconds").groupBy(sql.window("at", "20 seconds"), *keys)
    return windows.agg(sql.count("*").alias("orders"), sql.sum("value").alias("total"))


BUILD: Mapping[str, Callable[[Any], Any]] = {
    "copy": lambda lab: lab.read(),
    "copy-noop": lambda lab: lab.read(),
    "copy-async": lambda lab: lab.read(),
    "copy-to-archive": lambda lab: lab.read(),
    "copy-to-lake": lambda lab: lab.read(),
    "copy-rate": rate,
    "copy-two": lambda lab: lab.read("orders").union(lab.read("payments")),
    "copy-two-swapped": lambda lab: lab.read("payments").union(lab.read("orders")),
    "copy-file-and-rate": lambda lab: lab.read("orders").union(rate(lab)),
    "copy-named": named("orders", "payments"),
    "copy-named-swapped": named("payments", "orders"),
    "copy-named-one": named("orders"),
    "copy-named-other": named("orders", "refunds"),
    "copy-named-three": named("orders", "payments", "refunds"),
    "count": lambda lab: count_by_window(lab.read()),
    "count-to-archive": lambda lab: count_by_window(lab.read()),
    "count-noop": lambda lab: count_by_window(lab.read()),
    "count-update": lambda lab: count_by_window(lab.read()),
    "count-by-value": lambda lab: _count(lab.read(), "value"),
    "count-more": lambda lab: count_by_window(lab.read()).withColumn("more", sql.lit(1)),
    "count-two": lambda lab: count_by_window(lab.read("orders").union(lab.read("payments"))),
    "count-deduplicated": lambda lab: count_by_window(
        lab.read().withWatermark("at", "10 seconds").dropDuplicates(["key", "at"])
    ),
    "dedupe": lambda lab: lab.read().withWatermark("at", "10 seconds").dropDuplicates(["key", "at"]),
    "dedupe-within": lambda lab: lab.read().withWatermark("at", "10 seconds").dropDuplicatesWithinWatermark(["key"]),
    "sessions": lambda lab: session_totals(lab.read()),
    "count-count": lambda lab: count_counts(lab.read()),
    "in-pandas": lambda lab: count_in_pandas(lab.read()),
    "processor": lambda lab: count_with_processor(lab.read()),
    "totals": lambda lab: totals(lab.read()),
    "limit": lambda lab: lab.read().limit(8),
    "count-limit": lambda lab: count_by_window(lab.read()).limit(4),
    "join": join,
}


class Oracle:
    """One Spark session that restarts cases, one after the other."""

    def __init__(self, root: Path, jars: Iterable[Path] = ()) -> None:
        self.root = root
        self.spark = start_spark(root, jars)
        self._writer = self._capture_warnings()

    def ask(self, case: Case) -> Outcome:
        """Prepare a case, restart its query, and say what happened."""
        home = self.root / "case"
        shutil.rmtree(home, ignore_errors=True)
        bench = self._bench(case, home)
        checkpoint = prepare(case, home)
        self._again = lambda: self._outcome(bench, case, home, lambda: _entries_of(checkpoint))
        return self._again()

    def ask_again(self) -> Outcome:
        """Start the query of the last case once more, on what its last start has left."""
        return self._again()

    def _outcome(self, bench: Any, case: Case, home: Path, entries_now: Callable[[], dict[str, bytes]]) -> Outcome:
        entries = entries_now()
        sink_log = home / "output" / "_spark_metadata"
        sunk = {path.name: path.stat().st_mtime_ns for path in sink_log.glob("[0-9]*")}
        self._writer.getBuffer().setLength(0)
        query, error = self._run(bench, case)
        progress = [json.loads(line) for line in self._progress(query)]
        batches = sorted({item["batchId"] for item in progress})
        first = next((item for item in progress if item["batchId"] == batches[0]), {}) if batches else {}
        condition, message = _condition(error) if error is not None else (None, None)
        wrote = None
        if case.deployed.sink == "parquet" and batches:
            names = (str(batches[0]), f"{batches[0]}.compact")
            now = {path.name: path.stat().st_mtime_ns for path in sink_log.glob("[0-9]*")}
            wrote = any(name in now and now[name] != sunk.get(name) for name in names)
        return Outcome(
            condition,
            message and message.replace(str(home), "<home>").replace(str(self.root), "<root>")[:300],
            batches,
            [_text(source.get("startOffset")) for source in first.get("sources", [])],
            _ms(first.get("eventTime", {}).get("watermark")),
            sorted({line for line in self._writer.toString().splitlines() if line}),
            _written_confs(entries_now(), entries),
            wrote,
        )

    def _bench(self, case: Case, home: Path) -> Any:
        """The bench, with the input that the golden has read and one more file a source."""
        session = self.spark.newSession()
        for key, value in deploy_confs(case).items():
            session.conf.set(key, value)
        deployed = case.deployed
        unmutated = Case(case.base)
        prepare(unmutated, home)
        read = files_read(home)
        shutil.rmtree(home)
        golden = golden_lab.Case(case.name, lambda lab: None, sink=deployed.sink, output_mode=deployed.mode)
        bench = golden_lab.Lab(session, golden, home)
        for source in ("orders", "payments", "refunds"):
            bench.add_files(read.get(source, 0) + 1, source)
        return bench

    def _run(self, bench: Any, case: Case) -> tuple[Any, Any]:
        """The query, when it started, and its Java exception."""
        deployed = case.deployed
        options = {"asyncProgressTrackingEnabled": "true"} if deployed.asynchronous else {}
        trigger = {"processingTime": "0 seconds"} if deployed.asynchronous else {"availableNow": True}
        try:
            frame = BUILD[case.query or _own_query(case)](bench)
            name = deployed.sink_name if SPARK >= (4, 2) else None
            query = bench.start(frame, trigger, options=options, sink_name=name)
        except Exception as error:  # what start() throws is an answer
            return None, _java(error)
        with suppress(Exception):  # it is asked for below
            query.processAllAvailable() if deployed.asynchronous else query.awaitTermination(600)
        query.stop()
        raised = query._jsq.exception()
        return query, raised.get() if raised.isDefined() else None

    def _progress(self, query: Any) -> Iterator[str]:
        if query is not None:
            yield from (item.json() for item in query._jsq.recentProgress())

    def _capture_warnings(self) -> Any:
        log4j = self.spark._jvm.org.apache.logging.log4j
        writer = self.spark._jvm.java.io.StringWriter()
        layout = log4j.core.layout.PatternLayout.newBuilder().withPattern("%m%n").build()
        appender = log4j.core.appender.WriterAppender.createAppender(layout, None, writer, "captured", False, True)
        appender.start()
        context = log4j.LogManager.getContext(False)
        logger = log4j.core.config.LoggerConfig(_LOGGER, log4j.Level.WARN, False)
        logger.addAppender(appender, log4j.Level.WARN, None)
        context.getConfiguration().addLogger(_LOGGER, logger)
        context.updateLoggers()
        return writer


class OracleInBucket(Oracle):
    """Restarts cases whose checkpoints are in a bucket, through S3A.

    Args:
        root: A directory for everything else.
        fs: The driver of the S3 API.
        url: Of that.
    """

    def __init__(self, root: Path, fs: Any, url: str) -> None:
        super().__init__(root, sorted(JARS.glob("*.jar")))
        self.fs = fs
        conf = self.spark._jsc.hadoopConfiguration()
        for key, value in s3_confs(url).items():
            conf.set(f"fs.s3a.{key}", value)

    def ask_in_bucket(self, case: Case, added: str) -> tuple[Outcome, Forecast]:
        """What Spark did with a case, and what the gate had said of it."""
        home, bucket = self.root / "case", f"case-{uuid.uuid4()}"
        shutil.rmtree(home, ignore_errors=True)
        bench = self._bench(case, home)
        self.fs.mkdir(bucket)
        checkpoint = put(case, added, home, self.fs, bucket)
        foretold = foretell(case, home, checkpoint)
        bench.checkpoint = f"s3a://{bucket}/{CHECKPOINT}"
        return self._outcome(bench, case, home, lambda: _entries_in(checkpoint)), foretold


def _entries_in(checkpoint: Store) -> dict[str, bytes]:
    names = (name for name in checkpoint.names("offsets") if name.rpartition("/")[2].isdigit())
    return {name.rpartition("/")[2]: checkpoint.read(name) for name in names}


def _entries_of(checkpoint: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (checkpoint / "offsets").glob("[0-9]*") if path.is_file()}


def _own_query(case: Case) -> str:
    from .case import BASES

    return BASES[case.base][1]


def _java(error: Exception) -> Any:
    """The Java exception behind one of PySpark's; itself where there is none."""
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None) or error


def _condition(error: Any) -> tuple[str, str]:
    """The outermost error condition below ``STREAM_FAILED``, else the innermost exception's simple name."""
    chain = []
    while error is not None and len(chain) < 20:
        chain.append(error)
        error = error.getCause() if hasattr(error, "getCause") else None
    for link in chain:
        name = _own_condition(link)
        if name and name != "STREAM_FAILED":
            return name, _first_line(link)
    last = chain[-1]
    name = last.getClass().getSimpleName() if hasattr(last, "getClass") else type(last).__name__
    return name, _first_line(last)


def _own_condition(link: Any) -> str | None:
    try:
        name = link.getCondition() if SPARK >= (4, 0) else link.getErrorClass()
    except Exception:  # not a SparkThrowable
        return None
    return str(name) if name else None


def _first_line(link: Any) -> str:
    text = str(link.getMessage() if hasattr(link, "getMessage") else link)
    return next((line for line in text.splitlines() if line.strip()), "")


def _text(offset: Any) -> str | None:
    return None if offset is None else json.dumps(offset, separators=(",", ":"), sort_keys=True)


def _ms(watermark: str | None) -> int | None:
    from datetime import datetime

    return None if watermark is None else int(datetime.fromisoformat(watermark).timestamp() * 1000)


def _written_confs(now: Mapping[str, bytes], before: Mapping[str, bytes]) -> dict[str, str] | None:
    """The confs of the newest entry that the restart wrote, as far as they are not those of the newest one before."""
    written = [name for name in now if name not in before and name.isdigit()]
    if not written:
        return None
    old = max((name for name in before if name.isdigit()), key=int, default=None)
    known = {} if old is None else _confs_of(before[old])
    return {key: value for key, value in _confs_of(now[max(written, key=int)]).items() if known.get(key) != value}


def _confs_of(entry: bytes) -> dict[str, str]:
    lines = entry.decode().split("\n")
    try:
        return {key: str(value) for key, value in json.loads(lines[1]).get("conf", {}).items()}
    except (ValueError, IndexError, AttributeError):  # no JSON, or no object
        return {}
