"""Divide the tree into the two wheels that are published: the command, and what Airflow needs besides it.

The ``pyproject.toml`` of the tree describes the whole. Each of the two takes from it what is its own: files,
dependencies, extras, the command or the entry point. Nothing is said twice; what is not Airflow's is the command's.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

TREE = Path(__file__).parents[1]
PACKAGE = "airflow_provider_ckpt"
COMMAND, PROVIDER = "spark-ckpt", "airflow-provider-ckpt"
#: What of the package is the provider's.
AIRFLOW_ROOMS = frozenset(
    {"dags", "get_provider_info.py", "hooks", "lineage", "notifications", "operators", "plugin", "sensors", "triggers"}
)
#: Keeps the whole, in which both have the same files, off every index.
_PRIVATE = "Private :: Do Not Upload"
_LISTS = ("classifiers", "dependencies", "keywords")


def files_of(distribution: str) -> dict[str, str]:
    """The files of one of the two wheels: where each is, and its path in the wheel."""
    of_provider = distribution == PROVIDER
    found = {}
    folders = os.walk(TREE / PACKAGE, followlinks=True)  # the pages of the runbook are a link
    for path in sorted(Path(folder, name) for folder, _, names in folders for name in names):
        within = path.relative_to(TREE)
        if "__pycache__" not in within.parts and (within.parts[1] in AIRFLOW_ROOMS) == of_provider:
            found[str(path)] = within.as_posix()
    return found


def metadata_of(distribution: str, version: str) -> dict[str, Any]:
    """What the tree's ``[project]`` says of one of the two."""
    whole = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
    extras = whole["optional-dependencies"]
    shared = {key: whole[key] for key in ("license", "requires-python")}
    if distribution == COMMAND:
        without = {key: [item for item in whole[key] if "airflow" not in item.lower()] for key in _LISTS}
        without["classifiers"].remove(_PRIVATE)
        return shared | without | {"optional-dependencies": extras, "scripts": whole["scripts"]}
    return shared | {
        "classifiers": [item for item in whole["classifiers"] if item != _PRIVATE],
        "keywords": whole["keywords"],
        "dependencies": [*(item for item in whole["dependencies"] if "airflow" in item), f"{COMMAND}=={version}"],
        "optional-dependencies": {extra: [f"{COMMAND}[{extra}]=={version}"] for extra in extras},
        "entry-points": whole["entry-points"],
    }


class Metadata(MetadataHookInterface):
    """Fills in what a wheel's own ``pyproject.toml`` leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        metadata.update(metadata_of(metadata["name"], metadata["version"]))
        metadata["readme"] = {"content-type": "text/markdown", "text": (TREE / "README.md").read_text()}


class Files(BuildHookInterface[Any]):
    """Puts the files of one of the two into its wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling."""
        build_data["force_include"] |= files_of(self.metadata.name)
