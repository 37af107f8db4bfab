"""The live queries of all deploys, in one Spark: a process that obeys lines of JSON on its standard input.

``start``: a query in a directory begins to run. ``finish``: it runs once more, up to its newest committed batch.
``rows``: what its output has. ``clean``: what a run from the beginning writes over the same range.
A file ``stop`` in the directory stops the query, as an operator would; ``stopped`` then says that it has ended.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

from tests.deploys.job import end_of_first, query, writer

TRIGGER = "4 seconds"


class Live:
    """The queries of this process by directory."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.running: dict[str, Any] = {}
        self.streams: dict[str, str] = {}

    def start(self, at: str, stream: str) -> None:
        """Begin to run the old version."""
        folder = Path(at)
        self.streams[at] = stream
        if stream == "files":
            (folder / "in").mkdir(parents=True)
            self.feed()
        rows = query(self.spark, f"{at}/checkpoint", stream)
        write = writer(rows, stream, f"{at}/checkpoint", f"{at}/out")
        self.running[at] = write.trigger(processingTime=TRIGGER).start()

    def finish(self, at: str) -> None:
        """Run the old version once more after it was stopped; a batch that was in flight is committed then."""
        stream = self.streams[at]
        write = writer(query(self.spark, f"{at}/checkpoint", stream), stream, f"{at}/checkpoint", f"{at}/out")
        write.trigger(availableNow=True).start().awaitTermination()

    def is_active(self, at: str) -> bool:
        """Whether the live query runs, and has not failed."""
        return at in self.running and self.running[at].isActive

    def rows(self, output: str, stream: str, retyped: list[str]) -> list[str]:
        """What readers of an output get, as sorted JSON; the time of processing is not part of it.

        Columns that a version writes as text are numbers again in what is compared.
        """
        read = self.spark.read.parquet if stream == "parquet" else self.spark.read.json
        found = read(output)
        kept = [name for name in ("value", "twice", "name", "event") if name in found.columns]
        values = (f"CAST({name} AS BIGINT) AS {name}" if name in retyped else name for name in kept)
        return sorted(found.selectExpr(*values).toJSON().collect())

    def differences(self, at: str, retyped: list[str]) -> list[int]:
        """How many rows the live output lacks, how many it has too many, and how many a clean run has.

        That is the last thing that is asked of a query: its directory goes, and gets no input any more.
        """
        stream = self.streams.pop(at)
        clean = Path(at, "clean")
        if stream == "files":
            count = sum(1 for _ in Path(at, "in").iterdir())
            first = writer(query(self.spark, f"{at}/checkpoint", stream), stream, f"{clean}/checkpoint", f"{clean}/out")
        else:
            count = end_of_first(f"{at}/checkpoint")
            rows = query(self.spark, f"{clean}/checkpoint", stream, rows=count)
            first = writer(rows, stream, f"{clean}/checkpoint", f"{clean}/out")
        first.trigger(availableNow=True).start().awaitTermination()
        ours, truth = (self.rows(f"{place}/out", stream, retyped) for place in (at, clean))
        lacking, extra = list(truth), []
        for row in ours:
            if row in lacking:
                lacking.remove(row)
            else:
                extra.append(row)
        shutil.rmtree(clean)
        return [len(lacking), len(extra), len(truth)]

    def feed(self) -> None:
        """Another input file for each query of files that runs."""
        for at, stream in self.streams.items():
            if stream == "files" and not Path(at, "stop").exists():
                folder = Path(at, "in")
                count = sum(1 for _ in folder.iterdir())
                hidden = Path(at, "next")
                hidden.write_text("".join(f'{{"value": {count * 10 + number}}}\n' for number in range(10)))
                hidden.replace(folder / f"{count:06}.json")

    def obey_files(self) -> None:
        """Stop the queries that somebody wants stopped."""
        for at, running in list(self.running.items()):
            if Path(at, "stop").exists():
                running.stop()
                del self.running[at]
                Path(at, "stopped").touch()


def main() -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Spark prints is no answer
    live, ticks, lock = Live(spark), 0, threading.Lock()
    print("ready", file=answers, flush=True)
    while True:
        if select.select([sys.stdin], [], [], 0.3)[0]:
            line = sys.stdin.readline()
            if not line:
                break
            verb, *arguments = json.loads(line)
            with lock:
                print(json.dumps(getattr(live, verb)(*arguments)), file=answers, flush=True)
        live.obey_files()
        ticks += 1
        if ticks % 13 == 0:
            live.feed()
    spark.stop()


if __name__ == "__main__":
    main()
