"""Record what real Spark prints when a query fails by its user's own code, data or systems.

python -m tests.explain.users.record [3.5|4.3] [KIND…]

It compiles the user's code in Java and Scala, runs ``code/job.py``, and writes ``recorded-VERSION.jsonl.xz``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.explain.users.texts import CODE, HOME, pack, unpack

REPOSITORY = HOME.parents[2]
#: Kinds that end their driver.
FATAL = ("java-udf/deep", "java-udf/no-memory")
ENVIRONMENTS = {"4.3": ".venv", "3.5": ".venv-spark-3.5.9"}
#: A driver that writes each record as text and as JSON; what executors say of a task once more is left out.
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRefs = text{json}
rootLogger.appenderRef.text.ref = text
appender.text.type = File
appender.text.name = text
appender.text.fileName = {root}/driver.log
appender.text.layout.type = PatternLayout
appender.text.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = warn
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = off
logger.executor.name = org.apache.spark.executor
logger.executor.level = off
logger.writes.name = org.apache.spark.sql.execution.datasources
logger.writes.level = off
"""
AS_JSON = """\
rootLogger.appenderRef.json.ref = json
appender.json.type = File
appender.json.name = json
appender.json.fileName = {root}/driver.json
appender.json.layout.type = JsonTemplateLayout
appender.json.layout.eventTemplateUri = classpath:org/apache/spark/SparkLayout.json
"""
#: A frame inside Py4J, Netty, reflection or threads says nothing about the query.
DULL = re.compile(
    r"^\s+at (?:py4j|io\.netty|java\.base/(?:java\.lang\.Thread|java\.util\.concurrent|jdk|sun)|scala\.coll)"
)
_TIME = re.compile(r"\b\d{2}/\d{2}/\d{2} \d{2}:\d{2}:\d{2}\b|\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def compiled(version: str, root: Path) -> Path:
    """The user's code as a jar, for one Spark."""
    python = REPOSITORY / ENVIRONMENTS[version] / "bin" / "python"
    (jars,) = python.parents[1].glob("lib/python3*/site-packages/pyspark/jars")
    classes = root / "classes"
    classes.mkdir()
    scala, java = map(str, (CODE / "Jobs.scala", CODE / "Parse.java"))
    path = f"{jars}/*"
    words = ["java", "-cp", path, "scala.tools.nsc.Main", "-nowarn", "-cp", ":".join(map(str, jars.glob("*.jar")))]
    subprocess.run([*words, "-d", str(classes), scala, java], check=True)
    subprocess.run(["javac", "-nowarn", "-cp", path, "-d", str(classes), java], check=True)
    subprocess.run(["jar", "cf", str(root / "orders.jar"), "-C", str(classes), "."], check=True)
    return root / "orders.jar"


def with_pandas(version: str, root: Path) -> str:
    """Where pandas is, for an environment that lacks it; empty for one that has it."""
    python = REPOSITORY / ENVIRONMENTS[version] / "bin" / "python"
    if subprocess.run([python, "-c", "import pandas, pyarrow"], capture_output=True, check=False).returncode == 0:
        return ""
    words = ["-m", "pip", "install", "--quiet", "--target", str(root / "packages"), "pandas<3", "pyarrow"]
    subprocess.run([str(python), *words], check=True)
    return str(root / "packages")


def ran(version: str, root: Path, jar: Path, kinds: Iterable[str], packages: str = "") -> Iterator[dict[str, str]]:
    """Every failure of one driver with what was printed; of all kinds that one driver can have, when none is named."""
    root.mkdir()
    python = REPOSITORY / ENVIRONMENTS[version] / "bin" / "python"
    has_json = version != "3.5"
    logging = LOGGING.format(root=root, json=", json" if has_json else "")
    (root / "log4j2.properties").write_text(logging + (AS_JSON.format(root=root) if has_json else ""))
    kafka = (REPOSITORY / ".kafka-connector").glob("**/*.jar") if has_json else ()
    process = subprocess.Popen(
        [str(python), str(CODE / "job.py"), str(root), *kinds],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=(root / "stderr").open("w"),
        text=True,
        env={
            **os.environ,
            "JARS": ",".join(map(str, [jar, *kafka])),
            "PYTHONPATH": packages,
            "PYSPARK_PYTHON": str(python),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
    )
    at = dict.fromkeys(("log", "json"), 0)
    for line in process.stdout or ():
        if line.startswith("KIND "):
            failure = json.loads(line[5:])
            for form in at:
                path = root / f"driver.{form}"
                data = path.read_bytes() if path.exists() else b""
                failure[form], at[form] = data[at[form] :].decode(), len(data)
            yield {key: neutral(text, root) for key, text in failure.items()}
    if process.wait():
        raise SystemExit((root / "stderr").read_text())


def neutral(text: str, root: Path) -> str:
    """A text without the paths of this machine and the time of the day, and without dull frames."""
    text = text.replace(str(root), "/data/app").replace(str(CODE), "/app")
    text = text.replace(str(root.parent / "packages"), "/app/site-packages")
    text = re.sub(r'"[^"\s]*/site-packages/', '"/app/site-packages/', text)
    text = re.sub(r'"[^"\s]*/lib/python3', '"/usr/lib/python3', text)
    text = _TIME.sub(lambda found: "26/01/01 00:00:00" if "/" in found[0] else "2026-01-01T00:00:00.000Z", text)
    return "\n".join(line for line in text.splitlines() if not DULL.match(line))


def main() -> None:
    """Record for each Spark that is asked for."""
    versions = [word for word in sys.argv[1:] if word in ENVIRONMENTS]
    kinds = [word for word in sys.argv[1:] if word not in ENVIRONMENTS]
    for version in versions or ENVIRONMENTS:
        failures = []
        with tempfile.TemporaryDirectory(prefix="users-") as scratch:
            jar, packages = compiled(version, Path(scratch)), with_pandas(version, Path(scratch))
            for number, asked in enumerate([kinds] if kinds else [[], *([kind] for kind in FATAL)]):
                for failure in ran(version, Path(scratch, f"app{number}"), jar, asked, packages):
                    said = failure.get("said")
                    print(version, failure["kind"], (said or "DID NOT FAIL").split("\n")[0][:160], flush=True)
                    failures += [failure] if said else []
        kept = [old for old in unpack(version) if old["kind"] not in kinds] if kinds else []
        pack(version, sorted(kept + failures, key=lambda failure: failure["kind"]))


if __name__ == "__main__":
    main()
