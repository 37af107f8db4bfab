"""A plugin of pytest that ``make unit`` loads: which branches of the modules that do no IO its tests reach.

Those modules are instrumented when they are imported, each branch until it was reached: a tracer would make all of
Python slower by half or more, also what it does not measure.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from slipcover import ImportManager, Slipcover

from tests.purity import PACKAGE, purity
from tests.tiers import TESTS

#: Types alone, what needs more than the environment of ``make unit`` has, and what is tested over real storage.
LEFT_OUT = (
    *(
        "documents.",
        "batches.arrow",
        "dags.",
        "operators.",
        "triggers.",
        "lineage.",
        "notifications.",
        "cli.",
        "get_provider_info",
        "hooks.extra",
    ),
    *("plugin.fleet_table", "plugin.render", "report.openmetrics", "storage.concurrency", "storage.driver_errors"),
    *("storage.opening", "storage.s3", "storage.stored_object"),
)


def measured() -> list[str]:
    """The modules that do no IO."""
    pure = sorted(name for name, is_pure in purity().items() if is_pure and not name.startswith(LEFT_OUT))
    return [f"{PACKAGE}.{name}" for name in pure]


class Measuring:
    """Measures one process; ``slipcover --merge`` puts together what both have found."""

    def __init__(self) -> None:
        names = measured()
        files = {str(TESTS.parent / f"{name.replace('.', '/')}.py") for name in names}
        self.found = Slipcover(branch=True, immediate=True)
        with ImportManager(self.found, SimpleNamespace(matches=files.__contains__)):
            for name in names:
                importlib.import_module(name)

    def pytest_sessionfinish(self) -> None:
        """Write what was found."""
        Path(f".coverage.{os.environ['CKPT_HALF']}").write_text(json.dumps(self.found.get_coverage()))


def pytest_configure(config: pytest.Config) -> None:
    """Before a test module imports what is measured."""
    config.pluginmanager.register(Measuring())
