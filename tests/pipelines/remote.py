"""Pipelines over a Connect server, with definitions, formats and a storage of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.pipelines.lab import Pipeline

HEAD = """from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()


def rows_of(directory):
    rows = spark.readStream.schema("id INT, ts TIMESTAMP").format("json").option("maxFilesPerTrigger", 1)
    return rows.load("{root}/" + directory)

"""
#: Two flows into a table, and one that reads it.
TWO_FLOWS = """
dp.create_streaming_table("bronze")

@dp.append_flow(target="bronze", name="early")
def early():
    return rows_of("in")

@dp.append_flow(target="bronze", name="late")
def late():
    return rows_of("late")

@dp.table
def silver():
    return spark.readStream.table("bronze")
"""
#: A flow into a table, one that reads it, and one that writes a sink.
TO_SINK = """
@dp.table
def bronze():
    return rows_of("in")

@dp.table
def silver():
    return spark.readStream.table("bronze")

dp.create_sink("out", "{format}", {{"path": "{path}"}})

@dp.append_flow(target="out", name="to_out")
def to_out():
    return spark.readStream.table("silver")
"""


def confs(given: Mapping[str, str]) -> list[str]:
    """Confs as words of a command line."""
    return [word for key, value in given.items() for word in ("--conf", f"{key}={value}")]


@dataclass
class Remote(Pipeline):
    """A project directory, and the server that runs it.

    Args:
        port: Port of the server.
        python: The Python of its client.
        definitions: What its one file defines, in Python.
        spec: Keys of its specification, each in a line, beside its name, its storage and its libraries.
        below: Its storage, as the cluster spells it.
        flows_of: What the query file says of its pipeline, beside the specification.
        of_file: More lines of the query file.
    """

    port: int = 0
    python: str = sys.executable
    definitions: str = TWO_FLOWS
    spec: str = ""
    below: str = ""
    flows_of: str = ""
    of_file: str = ""
    version: str = "4.3"
    environment: Mapping[str, str] = field(default_factory=dict)

    def write(self) -> None:
        """The definitions, the specification and the query file as they are now."""
        (self.root / "def").mkdir(parents=True, exist_ok=True)
        storage = self.below or f"file://{self.storage}"
        spec = f"name: shop\nstorage: {storage}\nlibraries: [{{glob: {{include: def/**}}}}]\n{self.spec}"
        (self.root / "spark-pipeline.yml").write_text(spec)
        (self.root / "def" / "flows.py").write_text(HEAD.replace("{root}", str(self.root)) + self.definitions)
        pipeline = f"pipelines: {{shop: {{spec: spark-pipeline.yml{self.flows_of}}}}}\n"
        version = f'format_version: 1\ndefaults: {{spark_version: "{self.version}"}}\n'
        (self.root / "ckpt.yaml").write_text(f"{version}{pipeline}{self.of_file}")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a run."""
        self.write()
        return subprocess.Popen(
            [self.python, "-m", "pyspark.pipelines.cli", "run", "--spec", "spark-pipeline.yml", *arguments],
            cwd=self.root,
            env={**os.environ, "SPARK_REMOTE": f"sc://localhost:{self.port}", **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def sql(self, text: str) -> list[list[object]]:
        """The rows of a statement."""
        code = (
            "import json, sys; from pyspark.sql import SparkSession; "
            f"s = SparkSession.builder.remote('sc://localhost:{self.port}').getOrCreate(); "
            "print('ROWS ' + json.dumps([list(r) for r in s.sql(sys.argv[1]).collect()], default=str))"
        )
        done = subprocess.run([self.python, "-c", code, text], capture_output=True, text=True, check=True)
        import json

        rows: list[list[object]] = json.loads(done.stdout.rpartition("ROWS ")[2])
        return rows


def directory_of(root: Path) -> Path:
    """A new directory, which a server is started in."""
    root.mkdir(parents=True)
    return root
