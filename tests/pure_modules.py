"""The modules that do no IO, as pyproject.toml's contract lists them; prints what makes ``pytest`` measure them."""

from __future__ import annotations

import tomllib

from tests.package import PACKAGE

CONTRACT = "Modules named by a noun do no IO"


def pure_modules() -> list[str]:
    """Their names; of a room that of the room."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    (contract,) = [item for item in settings["tool"]["importlinter"]["contracts"] if item["name"] == CONTRACT]
    modules: list[str] = contract["source_modules"]
    return modules


if __name__ == "__main__":
    print(*(f"--cov={module}" for module in pure_modules()))
