"""The pages stop-on-yarn.md and stop-on-standalone.md as a reader follows them, on real clusters."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.engines.real.lab import Lab, compile_jar, standalone_lab, yarn_lab
from tests.engines.real.standalone_cluster import StandaloneCluster
from tests.engines.real.yarn_cluster import YarnCluster

ROOT = Path(__file__).parents[3]


def follow(page: str, lab: Lab, environment: dict[str, str]) -> None:
    """Write the query file of a page with the places of a lab, and type its commands."""
    text = (ROOT / "docs" / "how-to" / page).read_text()
    said = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0])
    query = said["queries"]["orders"]
    own = {key: list(value) if isinstance(value, tuple) else value for key, value in lab.declared.application.items()}
    query["checkpoint"] = lab.stores[0].location
    query["application"] |= {**own, "submit": [*query["application"]["submit"], *own["submit"]]}
    (lab.root / "ckpt.yaml").write_text(yaml.safe_dump(said))
    for line in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[0].splitlines():
        if line.startswith("export "):
            environment |= {line.split()[1].partition("=")[0]: lab.url}
            continue
        words = [str(Path(sys.executable).parent / "ckpt"), *line.split()[1:]]
        done = subprocess.run(words, cwd=lab.root, env=environment, capture_output=True, text=True, timeout=400)
        print(line, done.stdout, done.stderr, sep="\n")
        assert done.returncode == 0, line


def environment_of(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def test_the_page_of_yarn(tmp_path):
    cluster = YarnCluster(tmp_path / "yarn")
    try:
        lab = yarn_lab(tmp_path / "orders", cluster.url, [("foreachBatch", 300, 0)])
        follow("stop-on-yarn.md", lab, environment_of(HADOOP_CONF_DIR=str(cluster.confs)))
    finally:
        cluster.close()


def test_the_page_of_standalone(tmp_path):
    cluster = StandaloneCluster(tmp_path / "cluster")
    try:
        lab = standalone_lab(tmp_path / "orders", cluster.url, [("foreachBatch", 300, 0)], compile_jar(tmp_path))
        follow("stop-on-standalone.md", lab, environment_of())
    finally:
        cluster.close()
