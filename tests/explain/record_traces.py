"""Record what real Spark prints when a query cannot go on: its driver log, and the traceback of PySpark.

python -m tests.explain.record_traces

It writes ``traces/<spark version>/<case>.log`` and ``.traceback`` for each case that the running Spark knows.
"""

from __future__ import annotations

import os
import re
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.explain.traces import EARLIER, LATER, TRACED, TRACES
from tests.oracle.case import Case
from tests.oracle.corpus import CASES
from tests.oracle.restart import SPARK, Oracle

#: A frame inside Py4J, Netty or the JVM says nothing about the query.
DULL = re.compile(r"^\s+at (?:py4j|io\.netty|java\.base/(?:java|jdk|sun))")


#: Where this tree and its Python are.
OURS = re.compile(r'File "[^"]*/(site-packages|tests)(?=/)')


class Recorder(Oracle):
    """An oracle that keeps what was printed."""

    traceback: str

    def _run(self, bench: Any, case: Case) -> tuple[Any, Any]:
        self.traceback = ""
        start = bench.start

        def started(*arguments: Any, **options: Any) -> Any:
            try:
                return start(*arguments, **options)
            except Exception:
                self.traceback = traceback.format_exc()
                raise

        bench.start = started
        query, error = super()._run(bench, case)
        try:
            if query is not None:
                query.awaitTermination()
        except Exception:
            self.traceback = traceback.format_exc()
        return query, error


def main() -> None:
    """Record every case that this Spark can run."""
    target = TRACES / ".".join(map(str, SPARK))
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="traces-") as scratch:
        log = Path(scratch, "stderr")
        with log.open("w") as file:
            os.dup2(file.fileno(), 2)
        recorder = Recorder(Path(scratch))
        for slug, name in TRACED.items():
            case = CASES[name]
            if not case.runs_on(SPARK):
                case = replace(case, base=EARLIER.get(case.base, ""))
            if SPARK < (4, 0) and (slug in LATER or not case.base):
                continue
            before = log.stat().st_size
            outcome = recorder.ask(case)
            printed = log.read_bytes()[before:].decode()
            print(slug, outcome.error, len(printed), flush=True)
            for suffix, text in ((".log", printed), (".traceback", recorder.traceback)):
                text = OURS.sub(r'File "/app/\1', text.replace(scratch, "/data"))
                kept = (line for line in text.splitlines() if not DULL.match(line))
                if text.strip():
                    (target / f"{slug}{suffix}").write_text("\n".join(kept) + "\n")
        recorder.spark.stop()


if __name__ == "__main__":
    main()
