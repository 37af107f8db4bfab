"""How the tests start a JVM that lives for seconds: without what pays off in hours, and with Spark's classes archived.

``python -m tests.jvm`` runs some queries and writes the archive of the classes that they load. Until the first query is
done, a Spark that has it takes less than half of the CPU. A JVM of other jars or of another release passes over it, and
one that finds none reads the jars.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

ARCHIVE = Path(__file__).parents[1] / ".spark.jsa"
#: Neither the second compiler, nor parallel collectors, nor the verification of classes that were released long ago.
SHORT_LIFE = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)
#: An archive that does not fit is not worth a word.
ARCHIVED = (f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:disable")


def let_be_short() -> None:
    """Let the JVMs of Spark that this process starts, and those of its children, be started so."""
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(SHORT_LIFE))
    os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join((*SHORT_LIFE, *ARCHIVED)))


def main() -> None:
    """Write the archive."""
    from tests.spark_lab import STATE_CONFS, Lab, start_spark

    # the JVM verifies what it archives
    os.environ["SPARK_SUBMIT_OPTS"] = f"{' '.join(SHORT_LIFE[:2])} -XX:ArchiveClassesAtExit={ARCHIVE} -Xlog:disable"
    spark = start_spark()
    with tempfile.TemporaryDirectory() as place:
        for config in STATE_CONFS:
            lab = Lab(spark, Path(place, config), config)
            lab.write(range(3))
            lab.run()
        jvm = spark.sparkContext._gateway.proc
        spark.stop()
    jvm.stdin.close()  # which ends it
    jvm.wait()


if __name__ == "__main__":
    main()
