"""The audit of a fleet: its logs into a history table, and that into tables and one page.

    python -m airflow_provider_ckpt.spark.audit s3://lake/checkpoints --home /srv/audit

or by ``spark-submit``, whose master it then runs on; by itself it runs on ``local[2]``. Each run takes in what was
committed since the last one and ends; with ``--follow`` it goes on until it is stopped.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from airflow_provider_ckpt.batches.audit import EARLIEST_MS, TABLES, VIEWS, Measure, Prices, statement, window_for
from airflow_provider_ckpt.checkpoint.listing import count_operators
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.write_index import IndexWriter
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.read import list_places, read_table
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.report.audit_page import MOST_CHARTS, MOST_EVENTS, MOST_QUERIES, audit_page
from airflow_provider_ckpt.spark import register
from airflow_provider_ckpt.spark.options import StreamOptions, storage_texts
from airflow_provider_ckpt.spark.read_back import hadoop_url, history, plain
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms

PAGE = "audit.html"
#: Of shuffles on one host: the default of Spark, 200, is for clusters, and each costs a task.
_LOCAL_PARTITIONS = 8
#: How often a stream that is followed is asked whether it still runs, seconds.
_ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class Audit:
    """Checkpoints to audit, and places for the results.

    Args:
        roots: Checkpoints, and directories that have some below.
        home: Place of the history table, the tables and the page: ``batches/``, ``tables/``, ``audit.html``.
        checkpoint: Checkpoint of the stream that reads the fleet: a place that Spark itself can write.
        storage_options: For the fsspec drivers of roots and home.
        reading: More options of ``readStream.format("checkpoint")``.
        tiny: See :class:`~airflow_provider_ckpt.batches.audit.Measure`.
        stall_ms: The same.
        prices: The same.
        index: Directory for the index that the Checkpoints page in Airflow shows; None for none.
    """

    roots: tuple[str, ...]
    home: str
    checkpoint: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    reading: Mapping[str, str] = field(default_factory=dict)
    tiny: int = 100
    stall_ms: int = 300_000
    prices: Prices = field(default_factory=Prices)
    index: str | None = None

    @property
    def table(self) -> str:
        """The history table."""
        return f"{self.home.rstrip('/')}/history"

    def reader_options(self) -> dict[str, str]:
        """The options of the stream that reads the fleet. Raises ValueError for an option that makes no sense."""
        storage = storage_texts(self.storage_options)
        options = {"failOnDataLoss": "false", **self.reading, **storage, "paths": json.dumps(self.roots)}
        StreamOptions.parse(options)
        return options

    def store(self) -> Store:
        """The home."""
        return Store.open(self.home, **self.storage_options)


def take_in(session: Any, audit: Audit, *, follow_s: float | None = None) -> Any:
    """Start the stream from the fleet into the history table; it ends when it has all, or never where it follows.

    Args:
        session: A live Spark session.
        audit: The audit, and the place for its results.
        follow_s: Seconds from one micro-batch to the next; None to end.

    Raises:
        ValueError: An option of the reader makes no sense.
        CheckpointNotFoundError: A root is not there.
    """
    options = audit.reader_options()
    for root in audit.roots:
        if not (store := Store.open(root, **audit.storage_options)).exists():
            raise CheckpointNotFoundError("the location does not exist.", location=store.location)
    register(session)
    rows = session.readStream.format("checkpoint").options(**options).load()
    writer = rows.writeStream.format("checkpoint_history").options(**storage_texts(audit.storage_options))
    writer = writer.option("path", audit.table).option("checkpointLocation", audit.checkpoint)
    trigger = {"availableNow": True} if follow_s is None else {"processingTime": f"{follow_s} seconds"}
    return writer.trigger(**trigger).start()


def judge(session: Any, audit: Audit, *, now_ms: int, polled_ms: int) -> dict[str, int]:
    """Make the tables and the page anew out of the history table. Returns how many rows each table has.

    Args:
        session: A live Spark session.
        audit: The audit, and the place for its results.
        now_ms: The time, epoch milliseconds.
        polled_ms: See :class:`~airflow_provider_ckpt.batches.audit.Measure`.
    """
    rows = history(session, audit.table, **audit.storage_options)
    rows.createOrReplaceTempView("history")
    earliest = rows.where(f"batch_time >= timestamp_millis({EARLIEST_MS})").selectExpr(
        "unix_millis(min(batch_time)) AS ms"
    )
    first_ms = earliest.first()["ms"]
    window_s = window_for(now_ms - (first_ms or now_ms))
    measure = Measure(now_ms, polled_ms, window_s, audit.tiny, stall_ms=audit.stall_ms, prices=audit.prices)
    _operators(session, audit).createOrReplaceTempView("operators")
    kept = []
    for name, sql in VIEWS.items():
        view = session.sql(statement(sql, measure))
        if name != "source_rows":  # the others are small beside it, and each is read several times
            kept.append(view.persist())
        view.createOrReplaceTempView(name)
    for name, sql in TABLES.items():
        _save(session, session.sql(statement(sql, measure)), audit, name).createOrReplaceTempView(name)
    shown = {name: [row.asDict() for row in session.sql(_shown(name)).collect()] for name in TABLES}
    about = f"Checkpoints below {', '.join(audit.roots)}"
    page = audit_page(shown, now_ms=now_ms, about=about, polled_ms=polled_ms)
    audit.store().write(PAGE, page.encode())
    counting = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS rows FROM {name}" for name in TABLES)
    counts = {row["name"]: row["rows"] for row in session.sql(counting).collect()}
    for view in kept:
        view.unpersist()
    return counts


def _shown(name: str) -> str:
    """Columns of a table that the page may show."""
    if name in ("throughput", "delay", "watermark_lag"):
        return (
            f"SELECT * FROM {name} WHERE location IN "
            f"(SELECT location FROM queries ORDER BY silent_ms DESC, location LIMIT {MOST_CHARTS})"
        )
    order = {"events": "at DESC", "queries": "silent_ms DESC"}.get(name, "location")
    return f"SELECT * FROM {name} ORDER BY {order} LIMIT {max(MOST_EVENTS, MOST_QUERIES)}"


def _save(session: Any, table: Any, audit: Audit, name: str) -> Any:
    """Write a table whole in the place of the one before. Returns what was written."""
    store = audit.store().child(f"tables/{name}")
    url = hadoop_url(session, store)
    if url is not None:
        table.write.mode("overwrite").parquet(url)
        return session.read.parquet(plain(url))
    import pyarrow.parquet as pq

    rows = table.toArrow()
    buffer = io.BytesIO()
    pq.write_table(rows, buffer)
    store.write("part-0.parquet", buffer.getvalue())
    return session.createDataFrame(rows)


def _operators(session: Any, audit: Audit) -> Any:
    """How many stateful operators each checkpoint has; workers ask the storage, once a checkpoint."""
    options = dict(audit.storage_options)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            locations = batch.column(0).to_pylist()
            operators = [_stateful(place, options) for place in locations]
            columns = [pa.array(locations, pa.string()), pa.array(operators, pa.int64())]
            yield pa.record_batch(columns, names=["location", "operators"])

    return session.table("history").select("location").distinct().mapInArrow(count, "location string, operators long")


def _stateful(location: str, options: Mapping[str, Any]) -> int | None:
    try:
        return count_operators(Store.open(location, **options))
    except CheckpointError:  # it is gone, or nobody may look any more
        return None


def maintain(audit: Audit, now_ms: int) -> None:
    """Merge epochs of the history table, and delete what was nobody's for a day."""
    table = Store.open(audit.table, **audit.storage_options)
    compact(table, now_ms)
    vacuum(table, now_ms)


def run(session: Any, audit: Audit) -> dict[str, int]:
    """Take in what was committed since the last run, and judge it. Returns how many rows each table has.

    Raises CheckpointNotFoundError when no checkpoint has ever committed a batch.
    """
    began_ms = now_ms()
    take_in(session, audit).awaitTermination()
    maintain(audit, now_ms())
    if not read_table(Store.open(audit.table, **audit.storage_options)).files:
        raise _nothing(audit)
    counts = judge(session, audit, now_ms=now_ms(), polled_ms=began_ms)
    write_index(audit)
    if not counts["queries"]:
        raise _nothing(audit)
    return counts


def _nothing(audit: Audit) -> CheckpointNotFoundError:
    return CheckpointNotFoundError(
        f"no checkpoint below {', '.join(audit.roots)} has committed a batch, so there is nothing to audit.",
        location=audit.home,
        hint="Give locations of checkpoints, or directories that have some below (--option depth=N).",
    )


def follow(session: Any, audit: Audit, *, batch_s: float, judge_s: float, stopped: Event) -> None:
    """Take in what is committed as it comes, and judge it again and again, until it is stopped or the stream fails.

    The first page comes when there is something to tell, and not only after ``judge_s``.
    """
    query = take_in(session, audit, follow_s=batch_s)
    options, polled_ms, pause_s = StreamOptions.parse(audit.reader_options()), 0, min(batch_s, judge_s)
    try:
        while _goes_on(query, pause_s, stopped):
            maintain(audit, now_ms())
            polled_ms = max(polled_ms, polled_since_ms(query, options, now_ms() - round(1000 * batch_s)))
            if list_places(Store.open(audit.table, **audit.storage_options)):
                _say(audit, judge(session, audit, now_ms=now_ms(), polled_ms=polled_ms))
                write_index(audit)
                pause_s = judge_s
    finally:
        query.stop()
    if (failure := query.exception()) is not None:
        raise failure


def _goes_on(query: Any, pause_s: float, stopped: Event) -> bool:
    """Wait. Returns whether the stream still runs and nobody has stopped it; False as soon as that is so."""
    until_s = time.monotonic() + pause_s
    while query.isActive and not stopped.is_set():
        if (left_s := until_s - time.monotonic()) <= 0:
            return True
        stopped.wait(min(left_s, _ASK_S))
    return False


def polled_since_ms(query: Any, options: StreamOptions, waited_ms: int) -> int:
    """Since when every checkpoint has been polled, and was read as far, epoch milliseconds; 0 when that is unknown.

    Args:
        query: The stream. When there is nothing to read, it reports no progress: then it says that it waits.
        options: Options of its reader. A checkpoint is polled by its own rhythm, and at least as often as they say.
        waited_ms: A stream that waits for its next trigger has begun the last one since then, epoch milliseconds.
    """
    status, progress = query.status, query.lastProgress
    is_busy = status["isTriggerActive"] or status["isDataAvailable"]
    if status["message"].startswith("Waiting") and not is_busy:  # and is not beginning only
        return waited_ms - options.quiet_ms
    if progress is None or progress["numInputRows"] >= options.max_batches:  # it has not all that it has found
        return 0
    return parse_time_ms(progress["timestamp"]) - options.quiet_ms


def write_index(audit: Audit) -> None:
    """Check the fleet as it is now, and write its index where one is wanted; the driver does that alone."""
    if audit.index is None:
        return
    roots = [Store.open(root, **audit.storage_options) for root in audit.roots]
    writer = IndexWriter(Store.open(audit.index, **audit.storage_options), roots)
    depth = StreamOptions.parse(audit.reader_options()).places.depth
    for _ in writer.taking(judge_checkpoints(find_checkpoints(roots, depth=depth))):
        pass
    writer.write()


def session_on(master: str | None) -> Any:
    """The session of ``spark-submit``, or one of our own on ``local[2]`` or another master."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("checkpoint audit")
    if "PYSPARK_GATEWAY_PORT" in os.environ and not master:  # spark-submit has chosen all that
        return builder.getOrCreate()
    if SparkSession.getActiveSession() is None and (master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers of this host need this package as well
        builder = builder.config("spark.sql.shuffle.partitions", _LOCAL_PARTITIONS)
        builder = builder.config("spark.ui.showConsoleProgress", "false")  # no bars in the log of a service
        # a Python worker that does not answer within 15 s, the default, fails the audit on a busy machine
        builder = builder.config("spark.python.authenticate.socketTimeout", "300s")
    return builder.master(master or "local[2]").getOrCreate()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns an exit code as ``ckpt`` has them."""
    given = parser().parse_args(arguments)
    home = given.home.rstrip("/")
    audit = Audit(
        roots=tuple(given.roots),
        home=home,
        checkpoint=given.checkpoint or f"{home}/checkpoint",
        storage_options=dict(given.storage_option),
        reading=dict(given.option),
        tiny=given.tiny,
        stall_ms=given.stall_after,
        prices=Prices(given.usd_per_million_writes, given.usd_per_million_reads),
        index=given.index,
    )
    try:
        audit.reader_options()
    except ValueError as error:
        parser().error(str(error))
    try:
        session = session_on(given.master)
        if not given.follow:
            _say(audit, run(session, audit))
            return 0
        stopped = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        _serve(session, audit, given, stopped)
    except CheckpointError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _serve(session: Any, audit: Audit, given: argparse.Namespace, stopped: Event) -> None:
    from py4j.protocol import Py4JError

    try:
        follow(session, audit, batch_s=given.batch_every / 1000, judge_s=given.judge_every / 1000, stopped=stopped)
    except Py4JError:
        if not stopped.is_set():  # systemd may end the JVM by the same signal; the next start reads on
            raise


def _say(audit: Audit, counts: Mapping[str, int]) -> None:
    told = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in ("queries", "events"))
    sys.stdout.write(f"{audit.home}/{PAGE}: {told}\n")
    sys.stdout.flush()


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    given = argparse.ArgumentParser(prog="python -m airflow_provider_ckpt.spark.audit", description="Audit a fleet.")
    given.add_argument(
        "roots", nargs="+", help="checkpoint locations, and directories below which to search for checkpoints"
    )
    given.add_argument("--home", required=True, help="directory for history/, tables/ and audit.html")
    given.add_argument("--checkpoint", help="checkpoint location of the audit's own stream; HOME/checkpoint by default")
    given.add_argument("--index", help="directory for the index that the Checkpoints page in Airflow shows")
    given.add_argument("--master", help="master of Spark; by default that of spark-submit, or local[2]")
    given.add_argument("--storage-option", type=_pair, action="append", default=[], metavar="K=V", help="for fsspec")
    given.add_argument("--option", type=_pair, action="append", default=[], metavar="K=V", help="for the reader")
    given.add_argument(
        "--tiny", type=int, default=100, help="a batch that read at most this many records counts as tiny (%(default)s)"
    )
    given.add_argument(
        "--stall-after",
        type=parse_duration_ms,
        default="5m",
        help="shortest time without a commit that counts as a stall (%(default)s)",
    )
    given.add_argument("--usd-per-million-writes", type=_price, default=Prices().write_usd, metavar="USD")
    given.add_argument("--usd-per-million-reads", type=_price, default=Prices().read_usd, metavar="USD")
    given.add_argument("--follow", action="store_true", help="run until it is stopped (SIGTERM)")
    given.add_argument(
        "--batch-every",
        type=parse_duration_ms,
        default="1m",
        help="with --follow, time from one micro-batch into the history table to the next (%(default)s)",
    )
    given.add_argument(
        "--judge-every",
        type=parse_duration_ms,
        default="15m",
        help="with --follow, time from one page to the next (%(default)s)",
    )
    return given


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def _price(text: str) -> float:
    price = float(text)
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no price")
    return price


if __name__ == "__main__":
    sys.exit(main())
