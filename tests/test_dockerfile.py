"""The image of the compose file, which nothing here can build: what it copies, what it installs, and what services need."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.compose.native import read_file

ROOT = Path(__file__).parents[1]
FILE = (ROOT / "docker" / "Dockerfile").read_text()
#: Keyword and words of each instruction, comments and continued lines aside.
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", FILE, flags=re.MULTILINE)).split("\n")
    if line
]
COPIES = [text.split() for keyword, text in INSTRUCTIONS if keyword == "COPY"]
SERVICES = read_file()["services"]
PINS = dict(re.findall(r"^([\w.-]+)==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))


def is_sent(path: str) -> bool:
    """Whether a path of the project comes into the image: what git has, without what .dockerignore names."""
    ignored = (ROOT / ".dockerignore").read_text().split()
    kept = not any(fnmatch(path.split("/")[0], pattern) for pattern in ignored)
    return kept and (ROOT / path).exists()


def test_what_is_copied_from_the_project_is_there():
    sources = [path for words in COPIES if "--from=jars" not in words for path in words[:-1] if path[:2] != "--"]
    assert "." in sources and len(sources) == 5
    assert [path for path in sources if path != "." and not is_sent(path)] == []


def test_the_jars_are_those_that_maven_writes():
    copied = {words[-2]: words[-1] for words in COPIES if "--from=jars" in words}
    stage = FILE.partition("AS jars")[2].partition("\nFROM")[0]
    parts = re.search(r"for part in ([^;]+);", stage)
    written = {}
    for part in parts[1].split():
        directory = re.search(r"basedir}/\.\./([\w.-]+)<", (ROOT / f"{part}.xml").read_text())
        written[f"/build/{directory[1]}"] = f"/opt/ckpt/{directory[1]}"
        assert f"{part}.xml" in stage
    assert copied == written


def test_what_services_name_in_the_project_is_in_the_image():
    said = json.dumps(SERVICES) + "".join(path.read_text() for path in (ROOT / "docker").glob("*.sh"))
    named = set(re.findall(r"(?:/opt/ckpt|\$project)/([\w./-]*\w)", said))
    jars = {path.removeprefix("/opt/ckpt/") for words in COPIES if "--from=jars" in words for path in words[-1:]}
    assert jars <= named
    assert {path for path in named - jars if not is_sent(path)} == set()


def test_each_volume_is_mounted_on_a_directory_of_the_user():
    made = re.search(r"install -d -o airflow -g root (.+)", FILE)[1].split()
    mounts = [mount.split(":") for service in SERVICES.values() for mount in service.get("volumes", ())]
    assert {target for source, target, *_ in mounts if not source.startswith(".")} <= {*made}


@pytest.mark.parametrize("program", sorted({service["command"][0] for service in SERVICES.values()}))
def test_a_service_runs_a_program_of_the_image(program):
    assert program in ("airflow", "python", "sh", "spark-submit")  # of Airflow's image, and of pyspark


def test_airflow_is_the_version_that_the_tests_have():
    assert f"ARG AIRFLOW=apache/airflow:{PINS['apache-airflow-core']}-python3.11\n" in FILE


#: In place of pip: writes down what it is asked for.
PIP = """#!/bin/sh
printf '%s\\n' "$*" >> "$HOME/asked"
"""


def test_spark_is_installed_last_and_its_version_free_of_airflows_constraints(tmp_path):
    """The instruction itself, with a home that is like the image's and another pip."""
    [script] = [text for keyword, text in INSTRUCTIONS if keyword == "RUN" and "constraints.txt" in text]
    (tmp_path / "constraints.txt").write_text("a==1\npy4j==0.10.9.9\nPySpark==3.5.5\npyspark-client==4.1.0\n")
    (tmp_path / "pip").write_text(PIP)
    (tmp_path / "pip").chmod(0o755)
    environment = {"HOME": str(tmp_path), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    made = str(tmp_path / "made.txt")
    script = script.replace("/tmp/constraints.txt", made)
    subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", script], env=environment, check=True)
    assert Path(made).read_text() == "a==1\npy4j==0.10.9.9\n"
    asked = [line.split() for line in (tmp_path / "asked").read_text().splitlines()]
    assert [words[-1] for words in asked] == [
        "apache-airflow-providers-apache-spark",
        "/opt/ckpt[spark,s3,kafka]",
        f"pyspark=={PINS['pyspark']}",
    ]
    assert [words[words.index("-c") + 1] for words in asked if "-c" in words] == [made, made]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"spark", "s3", "kafka"} <= {*project["optional-dependencies"]}
