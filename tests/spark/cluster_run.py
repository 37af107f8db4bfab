"""A stream into a history on ``local-cluster``, whose workers have no Airflow and this package out of a zip.

``python cluster_run.py ROOT ZIP…``, as a process of its own: it must not find the tree.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(root: Path, zips: list[str]) -> None:
    sys.path[:0] = zips
    from pyspark import TaskContext
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.submit.pyFiles", ",".join(zips)).config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.python.authenticate.socketTimeout", "300s").config("spark.log.level", "ERROR")
    builder = builder.config("spark.executor.memory", "512m").config("spark.sql.shuffle.partitions", "4")
    session = builder.getOrCreate()

    def worker(_: object) -> tuple[str, bool, str]:
        import importlib.util

        import airflow_provider_ckpt

        executor = Path.cwd().name
        assert TaskContext.get() is not None
        return executor, importlib.util.find_spec("airflow") is not None, airflow_provider_ckpt.__file__

    told = session.sparkContext.parallelize(range(8), 8).map(worker).collect()

    from history_faults import FaultyHistory

    from airflow_provider_ckpt.spark.read_back import history

    session.dataSource.register(FaultyHistory)
    stream = (
        session.readStream.schema("key string, value long").option("maxFilesPerTrigger", 2).json(str(root / "input"))
    )
    writer = stream.repartition(4).writeStream.format("faulty_history").option("faults", str(root / "faults"))
    writer = writer.option("checkpointLocation", str(root / "checkpoint")).trigger(availableNow=True)
    writer.start(str(root / "table")).awaitTermination()
    rows = sorted(map(tuple, history(session, str(root / "table")).collect()))
    print(
        json.dumps(
            {
                "executors": len({name for name, _, _ in told}),
                "airflow": any(has for _, has, _ in told),
                "package": sorted({file for _, _, file in told}),
                "rows": rows,
            }
        )
    )
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
