"""A repartition: a Spark of its own gives the state of a checkpoint another number of partitions.

Run as ``python -m airflow_provider_ckpt.spark.repartition``. One JSON object a line goes in and out:

1. in: the request of :mod:`airflow_provider_ckpt.changes.repartition.session`, with a local directory ``scratch``;
2. out: ``spark``, the version, and ``processes``, the ids of this process and of the JVM; nothing was written yet;
3. in: ``go``. When stdin ends, whoever asked has ended: this process and the JVM end at once;
4. out: ``rows`` before and after, by part of the state; or ``failed``, in which of ``STEPS``, and why.

Before it plans anything Spark has to see the batches that the request names, and to read all of the state. Without
``partitions`` in the request it only reads.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from airflow_provider_ckpt.spark.rehearse import explained, newest_entry, start, state_frame

SINCE = (4, 2)
#: Where it may fail: nothing is written before the second, and the batch is committed after it.
STEPS = ("read", "repartition", "read again")


def main() -> None:
    """Answer the request on stdin."""
    out = _own_stdout()

    def say(answer: Mapping[str, Any]) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    request = json.loads(sys.stdin.readline())
    confs = {"spark.master": "local[*]", **request["confs"]}
    try:
        spark = start(request["scratch"], confs)
    except Exception as error:  # whatever stops a JVM from starting
        say({"failed": {"step": STEPS[0], "message": str(error)[:500]}})
        return
    jvm = spark.sparkContext._gateway.proc  # noqa: SLF001  # PySpark has no other way to its JVM
    say({"spark": spark.version, "processes": [os.getpid(), jvm.pid]})
    if sys.stdin.readline() != "go\n":
        _end(jvm)
    threading.Thread(target=_end_with_stdin, args=(jvm,), daemon=True).start()
    say(_answer(spark, request))
    spark.stop()
    _end(jvm)


def _own_stdout() -> Any:
    """The stdout that is answered on; what the JVM and its libraries print goes to stderr."""
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return own


def _end_with_stdin(jvm: Any) -> None:
    sys.stdin.read()
    _end(jvm)


def _end(jvm: Any) -> NoReturn:
    """End at once, the JVM first: nothing of it writes any more when this process is gone."""
    jvm.kill()
    jvm.wait()
    os._exit(0)


def _answer(spark: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    kept, step = request["kept"], STEPS[0]
    try:
        _require_manager(spark)
        _require_same_batches(spark, request)
        before = _rows(spark, request, kept)
        step = STEPS[1]
        if request["partitions"] is None:
            return {"rows": [before, _rows(spark, request, kept + 1)]}
        manager = spark._streamingCheckpointManager  # noqa: SLF001  # experimental, so with an underscore
        manager.repartition(request["location"], request["partitions"], True)
        step = STEPS[2]
        return {"rows": [before, _rows(spark, request, kept + 1)]}
    except (Py4JError, PySparkException, _RefusedError) as error:
        return {"failed": {"step": step, **explained(str(error), None)}}


class _RefusedError(Exception):
    """Refusal by this program itself."""


def _require_manager(spark: Any) -> None:
    if tuple(map(int, spark.version.split(".")[:2])) < SINCE:
        raise _RefusedError(f"Spark {spark.version} has no manager of checkpoints; the first that has is 4.2")
    if not hasattr(spark, "_jsparkSession"):
        raise _RefusedError("a session of Spark Connect has no manager of checkpoints")


def _require_same_batches(spark: Any, request: Mapping[str, Any]) -> None:
    """Spark has to see what we have seen: it makes a checkpoint of any location that is not there."""
    for log, wanted in (("offsets", request["planned"]), ("commits", request["committed"])):
        newest = newest_entry(spark, log, f"{request['location']}/{log}")
        if newest is None or newest[0] != wanted:
            seen = "no entry" if newest is None else f"batch {newest[0]}"
            raise _RefusedError(
                f"at {request['location']}/{log} Spark sees {seen} as the newest, and not batch {wanted}"
            )


def _rows(spark: Any, request: Mapping[str, Any], batch_id: int) -> Sequence[int]:
    """How many rows each part of the state has after a batch."""
    return [state_frame(spark, request["location"], batch_id, options).count() for options in request["reads"]]


if __name__ == "__main__":
    main()
