"""The test files that a change reaches by imports: ``make near``, or ``make near SINCE=main`` for all since a commit.

A test reaches what it imports, by way of any other module; of the command, what belongs to the subcommands that it names.
What is loaded by a name that is put together as the program runs is listed in ``LOADED``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import grimp

from airflow_provider_ckpt.change.plan.kinds import KINDS
from airflow_provider_ckpt.cli import MODULES
from airflow_provider_ckpt.dags import WHERE
from tests.purity import PACKAGE

ROOT = Path(__file__).parents[1]
TESTS = "tests"
#: Files that any test may depend on.
EVERYTHING = {"pyproject.toml", "constraints.txt", "tests/conftest.py", "tests/tiers.py", "tests/sharing.py"}
#: What reads the pages, the DAGs and the files beside the package.
OF_FILES = {
    "docs": ("test_docs.py", "test_words.py", "test_api.py", "test_json_documents.py", "docs", "cli/test_reference.py"),
    "dags": ("airflow", "docs", "test_words.py"),
    "docker": ("test_compose.py", "test_dockerfile.py", "compose"),
    "packaging": ("test_wheels.py", "docs/test_site.py"),
}
#: Modules that others load by a name, or run in a process of their own.
LOADED = {
    "changes.restore.rehearse": ["spark.rehearse"],
    "change.executor": [rules.executor for rules in KINDS.values() if rules.executor],
    "sources.judge_tables": [f"sources.{kind}.judge" for kind in ("delta", "iceberg", "file")],
    "changes.repartition.ask_spark": ["spark.repartition"],
    "sinks.read_marker": [f"sinks.{kind}" for kind in ("file", "delta", "iceberg", "hudi", "history")],
    "sources.open_end": [f"sources.{kind}.end" for kind in ("kafka", "delta", "iceberg", "file")],
}
#: Tests of every command, whatever commands they name.
_ALL = re.compile(r"\bMODULES\b|\bcli\.commands\b")


@cache
def graph() -> grimp.ImportGraph:
    """Who imports whom in the package and in its tests."""
    found = grimp.build_graph(PACKAGE, TESTS, cache_dir=None)
    for module, loaded in LOADED.items():
        for other in loaded:
            found.add_import(importer=f"{PACKAGE}.{module}", imported=f"{PACKAGE}.{other}")
    for name in sorted(found.modules):
        if name.startswith(f"{TESTS}."):
            for other in _by_name(name, found):
                found.add_import(importer=name, imported=other)
    return found


def _by_name(name: str, found: grimp.ImportGraph) -> Iterator[str]:
    """What a module of the tests reaches and does not import: commands and blocks of DAGs by names, fixtures of its rooms."""
    path = ROOT / f"{name.replace('.', '/')}.py"
    if not path.exists():
        return
    text = path.read_text()
    if f"{PACKAGE}.cli" in found.find_modules_directly_imported_by(name):
        named = MODULES if _ALL.search(text) else [word for word in MODULES if re.search(rf"[\"' ]{word}[\"' ]", text)]
        yield from {f"{PACKAGE}.cli.{MODULES[command]}" for command in named}
    if f"{PACKAGE}.dags" in found.find_modules_directly_imported_by(name):
        yield from {f"{PACKAGE}.dags.{module}" for block, module in WHERE.items() if re.search(rf"\b{block}\b", text)}
    for room in path.relative_to(ROOT).parents:
        conftest = ".".join((*room.parts, "conftest"))
        if len(room.parts) > 1 and conftest in found.modules and conftest != name:
            yield conftest


def reached(files: Iterable[str]) -> set[str]:
    """The test files, below the root, that are reached from files of the project."""
    found: set[str] = set()
    for file in files:
        found |= _reached(file)
    return {test for test in found if (ROOT / test).exists()}


def _reached(file: str) -> set[str]:
    first, *rest = Path(file).parts
    if file in EVERYTHING:
        return {str(path.relative_to(ROOT)) for path in ROOT.glob(f"{TESTS}/**/test_*.py")}
    if first in OF_FILES:
        return {found for test in OF_FILES[first] for found in _files_of(f"{TESTS}/{test}")}
    if not file.endswith(".py"):
        return set(_files_of(f"{TESTS}/{rest[0]}")) if first == TESTS and len(rest) > 1 else set()
    module = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    if module not in graph().modules:
        return set()
    modules = {module, *graph().find_downstream_modules(module)}
    return {f"{name.replace('.', '/')}.py" for name in modules if name.rpartition(".")[2].startswith("test_")}


def _files_of(place: str) -> Iterator[str]:
    """A test file, or those of a room."""
    path = ROOT / place
    for found in path.glob("**/test_*.py") if path.is_dir() else [path]:
        yield str(found.relative_to(ROOT))


def changed(since: str) -> list[str]:
    """The files that differ from a commit, and those that git does not know yet."""
    lists = (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"])
    return [name for words in lists for name in _git(*words)]


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> None:
    """Print the test files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", default="HEAD", help="a commit; by default the newest one")
    print(*sorted(reached(changed(parser.parse_args().since))))


if __name__ == "__main__":
    main()
