"""The modules that do no IO, as pyproject.toml's contract lists them; prints their files for ``coverage``."""

from __future__ import annotations

import tomllib

from tests.package import PACKAGE

CONTRACT = "Modules named by a noun do no IO"


def pure_modules() -> list[str]:
    """Their files, relative to the tree; of a room all."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    (contract,) = [item for item in settings["tool"]["importlinter"]["contracts"] if item["name"] == CONTRACT]
    paths = [module.replace(".", "/") for module in contract["source_modules"]]
    return [f"{path}/*" if (PACKAGE.parent / path).is_dir() else f"{path}.py" for path in paths]


if __name__ == "__main__":
    print(",".join(pure_modules()))
