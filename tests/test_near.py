"""`make near` runs the tests that a change reaches."""

from __future__ import annotations

import pytest

from tests.near import EVERYTHING, ROOT, graph, reached

#: A file of the project, a test that it reaches, and one that it does not.
REACHED = {
    "airflow_provider_ckpt/codec/commit_log.py": ("tests/codec/test_commit_log.py", "tests/storage/test_store.py"),
    "airflow_provider_ckpt/cli/changes/salvage.py": ("tests/cli/changes/test_salvage.py", "tests/codec/test_layout.py"),
    "airflow_provider_ckpt/sinks/hudi.py": ("tests/sinks/test_hudi.py", "tests/codec/test_layout.py"),
    "airflow_provider_ckpt/changes/repartition/repartition.py": (
        "tests/change/test_apply.py",
        "tests/codec/test_layout.py",
    ),
    "docs/rules.md": ("tests/test_docs.py", "tests/codec/test_layout.py"),
    "tests/oracle/outcomes-4.3.json": ("tests/oracle/test_oracle.py", "tests/codec/test_layout.py"),
}


@pytest.mark.parametrize("file", REACHED)
def test_a_file_reaches_the_tests_that_depend_on_it(file):
    near, far = REACHED[file]
    found = reached([file])
    assert near in found
    assert far not in found


def test_some_files_reach_everything():
    for file in EVERYTHING:
        assert "tests/codec/test_layout.py" in reached([file])


def test_each_module_of_the_package_reaches_a_test():
    """But for what is loaded when nothing of the project runs."""
    modules = [name for name in graph().modules if name.startswith("airflow_provider_ckpt.")]
    files = [f"{name.replace('.', '/')}.py" for name in modules]
    assert [file for file in files if (ROOT / file).exists() and not reached([file])] == []
