"""A pipeline of real Spark: files into a table, a table read from it, and a sink of files.

``spark-pipelines run`` starts a Connect server for each run, in the directory of the project, where the tables are.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

SPEC = """name: shop
storage: file://{root}/storage
libraries:
  - glob:
      include: def/**
configuration:
  spark.sql.shuffle.partitions: "2"
"""
#: A catalog that outlives a run: each run has a server of its own.
CATALOG = ("--conf", "spark.sql.catalogImplementation=hive")
HEAD = """from pyspark import pipelines as dp
import time

SCHEMA = "id INT, ts TIMESTAMP"
"""
#: A flow of files into a table, a file a batch; each row takes some time.
OF_FILES = """
@dp.append_flow(target="{table}", name="{name}")
def {name}():
    rows = spark.readStream.schema(SCHEMA).format("json").option("maxFilesPerTrigger", 1).load("{root}/{input}")
    return rows.selectExpr("id", "ts"{slowly})
"""
REST = """
@dp.table
def silver():
    return spark.readStream.table("bronze")

dp.create_sink("out", "json", {{"path": "{root}/out"}})

@dp.append_flow(target="out", name="to_out")
def to_out():
    return spark.readStream.table("silver")
"""


@dataclass
class Pipeline:
    """A project directory."""

    root: Path
    flows: dict[str, str] = field(default_factory=lambda: {"bronze": "in"})
    #: SQL that each row of the first table takes its time in.
    slowly: str = ""

    @property
    def storage(self) -> Path:
        return self.root / "storage"

    def table(self, name: str) -> Path:
        return self.root / "spark-warehouse" / name

    def flow(self, table: str, name: str) -> Path:
        return self.storage / "_checkpoints/spark_catalog/default" / table / name

    def add(self, directory: str, ids: Iterable[int]) -> None:
        """A file of one row for each id."""
        (self.root / directory).mkdir(parents=True, exist_ok=True)
        for number in ids:
            row = {"id": number, "ts": "2026-01-01T00:00:00"}
            (self.root / directory / f"{number}.json").write_text(json.dumps(row))

    def write(self) -> None:
        """The definition of the pipeline as it is now."""
        (self.root / "def").mkdir(parents=True, exist_ok=True)
        (self.root / "spark-pipeline.yml").write_text(SPEC.format(root=self.root))
        flows = [
            OF_FILES.format(table="bronze", name=name, input=source, root=self.root, slowly=self.slowly)
            for name, source in self.flows.items()
        ]
        rest = REST.format(root=self.root)
        text = f'{HEAD}\ndp.create_streaming_table("bronze")\n{"".join(flows)}{rest}'
        (self.root / "def" / "flows.py").write_text(text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a run."""
        self.write()
        import pyspark

        home = Path(pyspark.__file__).parent
        python = sys.executable
        own = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
        path = f"{Path(python).parent}:{os.environ['PATH']}"
        return subprocess.Popen(
            [shutil.which("spark-pipelines", path=path) or "spark-pipelines", "run", *CATALOG, *arguments],
            cwd=self.root,
            env={**os.environ, **own, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        """A whole run: exit code, and what it printed."""
        run = self.start(*arguments)
        out, _ = run.communicate(timeout=300)
        return run.returncode, out

    def rows(self, directory: Path) -> list[int]:
        """The ids that the log of the files of a table or a sink has, as readers see them."""
        import pyarrow.parquet

        names = {
            json.loads(line)["path"].rpartition("/")[2]
            for entry in (directory / "_spark_metadata").iterdir()
            if not entry.name.startswith(".")
            for line in entry.read_text().splitlines()[1:]
        }
        found: list[int] = []
        for name in names:
            if name.endswith(".parquet"):
                found += pyarrow.parquet.read_table(directory / name)["id"].to_pylist()
            else:
                found += [json.loads(line)["id"] for line in (directory / name).read_text().splitlines()]
        return sorted(found)
