"""The provider in an environment of Airflow alone: found by Airflow, with its connection form, and a task that runs.

    python -m tests.provider CKPT_CLI_WHEEL PROVIDER_WHEEL [OPTION OF PIP]...

The options are Airflow's constraints. Installing the wheels must change none of the versions that Airflow brought. The
files of the wheels are tested in ``test_wheels.py``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.distributions import PAGES, install
from tests.goldens import GOLDEN, unpack
from tests.light import clean_environment, say

#: What a worker and the web server ask of the provider; prints a JSON object.
ASKED = """
import importlib, json
from airflow.providers_manager import ProvidersManager
from airflow.providers.common.compat.sdk import BaseHook, BaseOperator, BaseSensorOperator
from airflow.triggers.base import BaseTrigger

manager = ProvidersManager()
hook = manager.hooks["checkpoint"]
prefix = "extra__checkpoint__"
classes = {}
modules = {"hooks.checkpoint": BaseHook, "operators.checkpoint": BaseOperator, "sensors.checkpoint": BaseSensorOperator,
           "triggers.checkpoint": BaseTrigger, "triggers.positions": BaseTrigger}
for name, base in modules.items():
    module = importlib.import_module(f"airflow_provider_ckpt.{name}")
    named = [getattr(module, name) for name in getattr(module, "__all__", vars(module)) if name.startswith("Checkpoint")]
    own = [value for value in named if isinstance(value, type) and issubclass(value, base)]
    bases = {above for value in own for above in value.__mro__[1:]}
    classes[name] = sorted(value.__name__ for value in own if value not in bases)
widgets = manager.connection_form_widgets
print(json.dumps({
    "hook": [hook.hook_name, hook.hook_class_name, hook.connection_type],
    "fields": sorted(name.removeprefix(prefix) for name in widgets if name.startswith(prefix)),
    "behaviour": manager.field_behaviours["checkpoint"],
    "classes": classes,
}))
"""
#: What an operator does with an offset of a type that a package has registered.
REGISTERED = """
from airflow_provider_ckpt.api import SourceOffset
print(SourceOffset('{"page":5}').view("acme-pages").positions)
"""
#: One task of ours; CHECKPOINT is put in.
DAG = """
from airflow.sdk import DAG
from airflow_provider_ckpt.operators.checkpoint import CheckpointCheckOperator

with DAG("provider_alone", schedule=None):
    CheckpointCheckOperator(task_id="check", checkpoint="orders", checkpoint_conn_id="lake")
"""
#: The page that has a heading for each class that users import.
REFERENCE = Path(__file__).parent.parent / "docs" / "reference.md"


class AirflowAlone:
    """An environment that has Airflow and nothing else, and a home of its own.

    Args:
        scratch: An empty directory.
        options: Options of pip, such as the constraints.
    """

    def __init__(self, scratch: Path, options: Sequence[str]) -> None:
        self.home, self._options = scratch / "airflow", tuple(options)
        self._bin = scratch / "env" / "bin"
        self.home.mkdir()
        venv.create(scratch / "env", with_pip=True)
        self.install("apache-airflow")

    def run(self, program: str, *arguments: str) -> str:
        """What a program of the environment prints; an error for any other end than success."""
        own = {"AIRFLOW_HOME": str(self.home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        lake = {"conn_type": "checkpoint", "host": str(self.home.parent / "lake")}
        environment = {**clean_environment(), **own, "AIRFLOW_CONN_LAKE": json.dumps(lake)}
        command = [str(self._bin / program), *arguments]
        done = subprocess.run(command, env=environment, cwd=self.home, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def install(self, *what: str) -> None:
        """Install something under the constraints."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self._options, *what)

    def versions(self) -> Mapping[str, str]:
        """What is installed, each with its version."""
        listed = json.loads(self.run("python", "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"))
        return {item["name"]: item["version"] for item in listed}


def install_provider(airflow: AirflowAlone, wheels: Sequence[str]) -> None:
    """The wheels bring what the command needs, and change nothing of Airflow."""
    before = airflow.versions()
    airflow.install(*wheels)
    after = airflow.versions()
    assert {name: after.get(name) for name in before} == before
    airflow.run("python", "-m", "pip", "check")
    say("distributions of Airflow, and what the wheels add", f"{len(before)}, {len(after) - len(before)}")
    say("added", ", ".join(sorted(after.keys() - before.keys())))


def require_discovered(airflow: AirflowAlone) -> None:
    """Airflow lists the provider, knows the hook of its connection type, and shows the fields of its form."""
    listed = json.loads(airflow.run("airflow", "providers", "list", "--output", "json"))
    assert "airflow-provider-ckpt" in {item["package_name"] for item in listed}, listed
    asked = json.loads(airflow.run("python", "-c", ASKED).splitlines()[-1])
    hook_class = "airflow_provider_ckpt.hooks.checkpoint.CheckpointHook"
    assert asked["hook"] == ["Spark checkpoint", hook_class, "checkpoint"], asked["hook"]
    assert asked["fields"] == ["storage_conn_id", "storage_options"], asked["fields"]
    assert asked["behaviour"]["relabeling"] == {"host": "Base location"}, asked["behaviour"]
    found = sorted(name for names in asked["classes"].values() for name in names)
    assert found == documented_classes(), found
    say("classes of ours that Airflow's are the bases of", len(found))
    say("fields of the connection form", ", ".join(["host (Base location)", *asked["fields"]]))


def require_registered_types(airflow: AirflowAlone) -> None:
    """A package that is installed beside the provider teaches it a source type."""
    site = airflow.run("python", "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    install(Path(site), "acme-ckpt", {"acme-pages": "acme_pages:KIND"}, acme_pages=PAGES)
    assert airflow.run("python", "-c", REGISTERED).splitlines()[-1] == "{'pages': (5,)}"
    say("a source type that a package registers", "known")


def documented_classes() -> list[str]:
    """The classes that users import; a test of the docs holds that these are all that there are."""
    return sorted(re.findall(r"^### (Checkpoint\w+)$", REFERENCE.read_text(), re.MULTILINE))


def run_task(airflow: AirflowAlone) -> None:
    """A DAG run of one task on a checkpoint that real Spark has written, as ``airflow dags test`` does it."""
    lake = airflow.home.parent / "lake"
    unpack(GOLDEN / "spark-4.3.0" / "agg-hdfs.tar.gz", lake / "home")
    (lake / "home" / "checkpoint").rename(lake / "orders")
    dags = airflow.home / "dags"
    dags.mkdir(exist_ok=True)
    (dags / "provider_alone.py").write_text(DAG)
    airflow.run("airflow", "db", "migrate")
    output = airflow.run("airflow", "dags", "test", "provider_alone")
    assert "state=success" in output, output[-4000:]
    say("airflow dags test with CheckpointCheckOperator", "success")


def main() -> None:
    wheels, options = [str(Path(name).resolve()) for name in sys.argv[1:3]], sys.argv[3:]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        airflow = AirflowAlone(Path(scratch), options)
        install_provider(airflow, wheels)
        require_discovered(airflow)
        require_registered_types(airflow)
        run_task(airflow)
    say("the provider works in Airflow's own environment, seconds", round(time.monotonic() - begun))


if __name__ == "__main__":
    main()
