"""The Python API: the lines of the how-tos run as they are written, and the DAGs import nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

from airflow_provider_ckpt import api
from tests import api_page
from tests.package import loaded_by

ROOT = Path(__file__).parents[1]
#: What a DAG may import of the package: the API, and the modules that Airflow's documentation names.
PUBLIC = re.compile(
    r"airflow_provider_ckpt(\.api|\.(hooks|operators|sensors|triggers)\.checkpoint|\.spark\.(audit|package))"
)


def test_the_lines_of_the_how_to_run(golden):
    block = next(
        text
        for text in re.findall(r"```python\n(.*?)```", (ROOT / "docs/how-to/gate.md").read_text(), re.DOTALL)
        if ".api" in text
    )
    confs = [{"key": "spark.sql.shuffle.partitions", "value": "2"}]
    spark = SimpleNamespace(version="4.3.0", sql=lambda _: SimpleNamespace(collect=lambda: confs))
    names = {"location": str(golden("agg-hdfs")), "spark": spark}
    exec(block.replace('["kafka"]', '["file"]'), names)
    assert names["foretold"].resumes_at_batch == 8 and names["foretold"].unknown == (
        *("operators", "sink"),
        "data loss of source 0",
    )


def test_every_name_is_there_and_explained():
    for name in api.__all__:
        assert getattr(api, name) is not None and (name.isupper() or getattr(api, name).__doc__), name


def test_it_loads_neither_airflow_nor_pyspark():
    assert not loaded_by("import airflow_provider_ckpt.api") & {"airflow", "pyspark", "pandas", "rich", "click"}


def test_dags_import_public_names_alone():
    for path in (ROOT / "dags").glob("*.py"):
        for line in re.findall(r"^\s*(?:from|import) (airflow_provider_ckpt.*)", path.read_text(), re.MULTILINE):
            module = line.replace("airflow_provider_ckpt import api", "airflow_provider_ckpt.api").split()[0]
            assert PUBLIC.fullmatch(module), f"{path.name}: {line}"


def test_the_page_is_what_the_code_says():
    assert api_page.PAGE.read_text() == api_page.page(), "run: python -m tests.api_page"


def test_the_page_has_the_members_of_classes_and_refers_to_no_entry_that_it_lacks():
    page = api_page.page()
    store, view = (page.partition(f"## {name}\n")[2].partition("\n## ")[0] for name in ("Store", "CheckpointView"))
    assert "* `open(location, " in store and "* `in_flight`: " in view and "* `latest_committed`: " in view
    poll = page.partition("## poll_progress\n")[2].partition("\n## ")[0]
    assert "Raises as" not in poll and "Returns:" in poll and "`batch_id`" in poll
