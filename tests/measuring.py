"""A plugin of pytest that ``make unit`` loads: which branches of the modules that do no IO its tests reach.

The tracer makes all of Python slower by half or more, also what it does not measure. It runs while those modules are
imported and while tests are called, not while tests are found and set up, nor in the process that hands them out.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

from tests.purity import PACKAGE, purity
from tests.tiers import TESTS

#: Types alone, what needs more than the environment of ``make unit`` has, and what is tested over real storage.
LEFT_OUT = (
    *("documents.", "batches.arrow", "operators.", "triggers.", "lineage.", "cli.", "get_provider_info", "hooks.extra"),
    *("plugin.fleet_table", "plugin.render", "report.openmetrics", "storage.concurrency", "storage.driver_errors"),
    *("storage.opening", "storage.s3", "storage.stored_object"),
)


def measured() -> list[str]:
    """The modules that do no IO."""
    pure = sorted(name for name, is_pure in purity().items() if is_pure and not name.startswith(LEFT_OUT))
    return [f"{PACKAGE}.{name}" for name in pure]


def room_of(test: Path) -> str:
    """The room, or the flat module, that a test file is about."""
    return test.relative_to(TESTS).parts[0].removeprefix("test_").removesuffix(".py")


class Measuring:
    """Measures one process; ``coverage combine`` puts together what several have found."""

    def __init__(self) -> None:
        names = measured()
        self.rooms = {name.split(".")[1] for name in names}
        self.coverage = Coverage(source=names, data_suffix=True)
        self.coverage.start()
        for name in names:
            importlib.import_module(name)
        self.coverage.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Trace a test whose room has modules that do no IO."""
        if room_of(item.path) not in self.rooms:
            return (yield)
        self.coverage.start()
        try:
            return (yield)
        finally:
            self.coverage.stop()

    def pytest_sessionfinish(self) -> None:
        """Write what was found."""
        self.coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    """Where tests run: in the workers, or here when there are none."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Measuring())
