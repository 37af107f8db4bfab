"""Installed distributions, made for a test: a module and the entry points that a package of that name registers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from airflow_provider_ckpt.codec import registered_kinds

#: A kind of source as an author would write it: an offset such as ``{"page": 5}``.
PAGES = """
from airflow_provider_ckpt.api import SourceKind

KIND = SourceKind(
    name="acme-pages",
    fits=lambda value: isinstance(value, dict) and type(value.get("page")) is int,
    positions=lambda value: {"pages": (value["page"],)},
    unit="pages",
    origin=0,
)
"""


def install(site: Path, name: str, points: Mapping[str, str], **modules: str) -> Path:
    """A directory for ``sys.path`` in which a distribution is installed.

    Args:
        site: The directory.
        name: Of the distribution.
        points: Its entry points of the group ``ckpt.source_kinds``.
        modules: The text of its modules by name.
    """
    info = site / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = "\n".join(f"{point} = {value}" for point, value in points.items())
    (info / "entry_points.txt").write_text(f"[ckpt.source_kinds]\n{lines}\n")
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)
    return site


@contextmanager
def on_path(*sites: Path) -> Iterator[None]:
    """Let this process see what is installed in some directories."""
    before = list(sys.path)
    sys.path[:0] = map(str, sites)
    registered_kinds.forget()
    try:
        yield
    finally:
        sys.path[:] = before
        registered_kinds.forget()
