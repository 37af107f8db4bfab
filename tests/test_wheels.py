"""The two wheels that are published: the command alone, and the provider, which needs it."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

import pytest

from airflow_provider_ckpt import __version__

TREE = Path(__file__).parents[1]
PACKAGE = TREE / "airflow_provider_ckpt"
WHOLE = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
COMMAND, PROVIDER = "spark-ckpt", "airflow-provider-ckpt"
AIRFLOW = re.compile(r"^\s*(from|import) airflow[. ]", re.MULTILINE)


@dataclass(frozen=True)
class Wheel:
    """What is in a wheel: the files of the package, and what is said of it."""

    files: Mapping[str, bytes]
    metadata: Message
    entry_points: str

    def needs(self, extra: str | None = None) -> set[str]:
        """Its requirements; those of one extra."""
        found = (item.partition(" ; ") if " ; " in item else item.partition("; ") for item in self._requirements)
        return {need for need, _, marker in found if marker == (f"extra == '{extra}'" if extra else "")}

    @property
    def _requirements(self) -> list[str]:
        return [str(item) for item in self.metadata.get_all("Requires-Dist", [])]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Wheel]:
    built = tmp_path_factory.mktemp("wheels")
    return {name: _build(name, built / name) for name in (COMMAND, PROVIDER)}


def _build(name: str, target: Path) -> Wheel:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=TREE / "packaging" / name, check=True, capture_output=True)
    (path,) = target.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        content = {entry: archive.read(entry) for entry in archive.namelist()}
    (about,) = {entry.partition("/")[0] for entry in content if ".dist-info/" in entry}
    assert f"{about}/licenses/LICENSE" in content
    files = {entry: data for entry, data in content.items() if not entry.startswith(about)}
    metadata = email.message_from_bytes(content[f"{about}/METADATA"])
    return Wheel(files, metadata, content[f"{about}/entry_points.txt"].decode())


def test_both_together_are_the_package_and_share_no_file(wheels):
    files = {str(path.relative_to(TREE)) for path in PACKAGE.rglob("*") if path.is_file()}
    pages = {f"{PACKAGE.name}/explain/pages/{path.name}" for path in (TREE / "docs/runbook").iterdir()}
    ours = {name for name in files if "__pycache__" not in name} | pages
    command, provider = set(wheels[COMMAND].files), set(wheels[PROVIDER].files)
    assert command | provider == ours
    assert command & provider == set()


def test_what_imports_airflow_is_the_providers(wheels):
    """So are its helpers and the description that Airflow asks for; nothing else is."""
    knows = {name for wheel in wheels.values() for name, data in wheel.files.items() if AIRFLOW.search(data.decode())}
    rooms = {name.split("/")[1] for name in knows}
    provider = set(wheels[PROVIDER].files)
    assert rooms == {"dags", "hooks", "lineage", "notifications", "operators", "plugin", "sensors", "triggers"}
    assert knows <= provider
    assert {name.split("/")[1] for name in provider} == rooms | {"get_provider_info.py"}


def test_one_version_and_one_need_of_each_other(wheels):
    assert {wheel.metadata["Version"] for wheel in wheels.values()} == {__version__}
    assert wheels[PROVIDER].needs() == {item for item in _of_tree() if "airflow" in item} | {
        f"spark-ckpt=={__version__}"
    }
    assert wheels[COMMAND].needs() == {item for item in _of_tree() if "airflow" not in item}


def _of_tree() -> set[str]:
    return {"apache-airflow<4,>=3.1" if item == "apache-airflow>=3.1,<4" else item for item in WHOLE["dependencies"]}


@pytest.mark.parametrize("extra", sorted(WHOLE["optional-dependencies"]))
def test_the_provider_passes_each_extra_on(wheels, extra):
    assert wheels[PROVIDER].needs(extra) == {f"spark-ckpt[{extra}]=={__version__}"}
    assert {re.split("[<>=]", item)[0] for item in wheels[COMMAND].needs(extra)} == {
        re.split("[<>=]", item)[0] for item in WHOLE["optional-dependencies"][extra]
    }


def test_the_command_is_in_one_and_the_provider_in_the_other(wheels):
    assert wheels[COMMAND].entry_points.split("\n", 1)[0] == "[console_scripts]"
    assert "airflow" not in wheels[COMMAND].entry_points.replace("airflow_provider_ckpt", "")
    sections = [line for line in wheels[PROVIDER].entry_points.splitlines() if line.startswith("[")]
    assert sections == ["[airflow.plugins]", "[apache_airflow_provider]"]
    assert "console_scripts" not in wheels[PROVIDER].entry_points


def test_the_two_can_be_published_and_the_whole_cannot(wheels):
    private = "Private :: Do Not Upload"
    assert private in WHOLE["classifiers"]
    assert [name for name, wheel in wheels.items() if private in wheel.metadata.get_all("Classifier")] == []


def test_two_small_wheels_need_a_small_environment():
    """``make wheels`` installs neither Airflow nor Spark: pip makes what builds a wheel an environment of its own."""
    shown = ["make", "--dry-run", "--always-make", "PYTHON=python3", "VENV=not-there", "wheels"]
    said = subprocess.run(shown, cwd=TREE, check=True, capture_output=True, text=True).stdout
    assert ".venv-wheels/bin/pip wheel" in said
    assert "not-there" not in said and "apache-airflow" not in said


@pytest.mark.parametrize("target", ["compose", "browser"])
def test_what_is_silent_for_minutes_is_announced(target):
    """The rule that says what comes is the first of all."""
    (line,) = re.findall(rf"^{target}: (\S+)", (TREE / "Makefile").read_text(), re.MULTILINE)
    (says,) = re.findall(rf"^{line}:\n\t@echo \"(First .*)\"", (TREE / "Makefile").read_text(), re.MULTILINE)
    assert "minute" in says
