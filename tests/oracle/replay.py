"""Restart damaged checkpoints on new input, several at once in one Spark, and compare what reaches the sink."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

from airflow_provider_ckpt.codec.checksum import HadoopChecksum

from .case import Case
from .mutations import mutate
from .prepared import deploy_confs, files_read, prepare
from .restart import BUILD, _condition, _java, _own_query, golden_lab, start_spark

#: Input files that the restart finds; a batch each.
NEW_FILES = 2
#: Seconds that a restart may take.
PATIENCE = 120
#: A Python worker did not start in time: nothing that a checkpoint could do.
NO_WORKER, TRIES = "SocketTimeoutException", 4


@dataclass(frozen=True)
class Replayed:
    """What Spark did with a case.

    Args:
        error: Error condition, or the simple name of the innermost Java exception; None when the query ended well.
        batches: Batches that ran to their end.
        rows: What was written, by content; None with an error.
        table: What a reader of the file sink's log sees of the files from before, by content; an error's name when it
            cannot read the log; None for other sinks.
        message: The first line of the error, for people.
    """

    error: str | None
    batches: list[int]
    rows: str | None
    table: str | None
    message: str | None


class Replay:
    """One Spark session; cases run beside each other in directories of their own."""

    def __init__(self, root: Path, at_once: int = 3) -> None:
        self.root = root
        self.at_once = at_once
        self.spark = start_spark(root)
        # Most cases fail, which is an answer: ten thousand lines of traces would hide the verdicts.
        self.spark.sparkContext.setLogLevel("OFF")
        self._lock = Lock()
        self._read: dict[str, dict[str, int]] = {}
        self._count = 0

    def ask_all(self, cases: Iterable[Case]) -> Iterator[tuple[Case, Replayed]]:
        """What Spark did with each case, in order."""
        with ThreadPoolExecutor(self.at_once) as pool:
            waiting = [(case, pool.submit(self.ask, case)) for case in cases]
            try:
                for case, answer in waiting:
                    yield case, answer.result()
            finally:
                for _, answer in waiting:
                    answer.cancel()

    def ask(self, case: Case) -> Replayed:
        """Prepare a case, restart its query on new files, and say what happened."""
        for _ in range(TRIES):
            with self._lock:
                self._count += 1
                home = self.root / f"case-{self._count:05}"
            try:
                answer = self._ask(case, home)
            finally:
                shutil.rmtree(home, ignore_errors=True)
            if answer.error != NO_WORKER:
                break
        return answer

    def _ask(self, case: Case, home: Path) -> Replayed:
        checkpoint = prepare(Case(case.base), home)
        read = self._read.setdefault(case.base, files_read(home))
        if not any(line.split()[1] == "metadata" for line in case.mutations):  # that of the golden is what is judged
            _new_query_id(checkpoint)
        mutate(checkpoint, case.mutations)
        session = self.spark.newSession()
        for key, value in deploy_confs(case).items():
            session.conf.set(key, value)
        bench = golden_lab.Lab(session, golden_lab.Case(case.name, lambda lab: None), home)
        for source, count in read.items():
            bench.add_files(count + NEW_FILES, source)
        query, error, rows = self._run(bench, case)
        progress = [json.loads(item.json()) for item in query._jsq.recentProgress()] if query is not None else []
        condition, message = _condition(error) if error is not None else (None, None)
        batches = sorted({item["batchId"] for item in progress})
        return Replayed(
            condition,
            batches,
            None if condition else _digest(rows),
            self._table(session, home) if case.deployed.sink == "parquet" else None,
            message and message.replace(str(home), "<home>")[:200],
        )

    def _run(self, bench: Any, case: Case) -> tuple[Any, Any, list[str]]:
        """The query, its Java exception, and the rows that it wrote."""
        rows: list[str] = []
        raised_within: list[Exception] = []
        query = None

        def collect(batch: Any) -> None:
            try:
                rows.extend(map(str, batch.collect()))
            except Exception as error:
                raised_within.append(error)  # what Spark makes of it does not name it
                raise

        try:
            frame = BUILD[case.query or _own_query(case)](bench)
            writer = frame.writeStream.outputMode(case.deployed.mode).trigger(availableNow=True)
            writer = writer.option("checkpointLocation", str(bench.checkpoint))
            if case.deployed.sink == "parquet":
                writer = writer.format("json").option("path", str(bench.output))
            else:
                writer = writer.foreachBatch(lambda batch, _: collect(batch))
            query = writer.start()
        except Exception as error:  # what start() throws is an answer
            return None, _java(error), rows
        ended = False
        with suppress(Exception):  # it is asked for below
            ended = query.awaitTermination(PATIENCE)
        query.stop()
        raised = query._jsq.exception()
        if case.deployed.sink == "parquet":
            rows = [line for path in bench.output.glob("*.json") for line in path.read_text().splitlines()]
        error = _java(raised_within[0]) if raised_within else raised.get() if raised.isDefined() else None
        return query, error if ended or error is not None else TimeoutError("it did not end"), rows

    def _table(self, session: Any, home: Path) -> str:
        """What the sink's log says of the files that were there before, as Spark reads it."""
        jvm = session._jvm
        sinks = jvm.org.apache.spark.sql.execution.streaming.sinks
        try:
            log = sinks.FileStreamSinkLog(
                1, session._jsparkSession, str(home / "output/_spark_metadata"), jvm.scala.Option.empty()
            )
            paths = [status.path() for status in log.allFiles()]
        except Exception as error:
            return str(_condition(_java(error))[0])
        names = [path.rpartition("/")[2] for path in paths]
        old = [name for name in names if not (home / "output" / name).exists()]
        new = sum(1 for path in (home / "output").glob("*.json") if path.name not in names)
        return _digest([*old, f"{new} written and not listed"])


def _new_query_id(checkpoint: Path) -> None:
    """Spark does not run two queries with one id at once."""
    path = checkpoint / "metadata"
    path.write_text(json.dumps({"id": str(uuid4())}, separators=(",", ":")))
    path.with_name(".metadata.crc").write_bytes(HadoopChecksum.of(path.read_bytes()).encode())


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:12]
