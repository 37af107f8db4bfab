"""A hook of mkdocs: writes the pages that are made from the code, before it reads those of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.pages import MADE


def on_pre_build(config: Any, **_: Any) -> None:
    """Called by mkdocs before the files are listed."""
    for page, make in MADE.items():
        (Path(config["docs_dir"]) / page.name).write_text(make())
