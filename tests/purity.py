"""Which modules do no IO: computed from what each of them imports, by way of any other module."""

from __future__ import annotations

from functools import cache

import grimp

PACKAGE = "airflow_provider_ckpt"
#: What does IO, asks a clock, or draws lots, and whatever imports it.
IO = (
    *("airflow", "click", "fsspec", "pyspark", "rich"),
    *("os", "pathlib", "random", "time", "uuid"),
    f"{PACKAGE}.storage.store",
)


@cache
def purity() -> dict[str, bool]:
    """Whether a module does no IO, by its name below the package; packages are left out."""
    graph = grimp.build_graph(PACKAGE, include_external_packages=True, cache_dir=None)
    does_io = set[str]()
    for name in IO:
        does_io |= {name, *graph.find_downstream_modules(name)}
    own = (module for module in graph.modules if module.startswith(f"{PACKAGE}.") and not graph.find_children(module))
    return {module.removeprefix(f"{PACKAGE}."): module not in does_io for module in own}
