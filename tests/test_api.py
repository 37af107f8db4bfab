"""The Python API: the lines of the how-tos run as they are written, and the DAGs import nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow_provider_ckpt import api
from tests import api_page
from tests.changes.repair.fake_table import FakeTable
from tests.changes.reset.kafka_query import KafkaQuery
from tests.package import loaded_by

ROOT = Path(__file__).parents[1]
#: What a DAG may import of the package: the API, and the modules that Airflow's documentation names.
PUBLIC = re.compile(
    r"airflow_provider_ckpt(\.api|\.dags|\.(hooks|operators|sensors|triggers)\.checkpoint|\.spark\.(audit|package))"
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


def test_a_query_of_the_file_is_used_in_python(golden, tmp_path, monkeypatch):
    page = (ROOT / "docs/how-to/declare-queries.md").read_text()
    block = next(text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if ".api" in text)
    (tmp_path / "spark.conf").write_text("spark.sql.shuffle.partitions 9\n")
    (tmp_path / "ckpt.yaml").write_text(
        f"format_version: 1\nqueries: {{orders: {{checkpoint: {golden('agg-hdfs')}, confs_file: spark.conf}}}}"
    )
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["foretold"].decision == "block"
    file, query = names["file"], names["query"]
    plan = api.with_declared(api.make_rollback(api.Stores.of(query.checkpoint, api.Store.open), api.ToBatch(6)), query)
    api.require_same_declared(plan, file, query)


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


def test_the_page_has_the_members_of_classes_and_refers_to_no_entry_that_it_lacks():
    page = api_page.page()
    store, view = (page.partition(f"## {name}\n")[2].partition("\n## ")[0] for name in ("Store", "CheckpointView"))
    assert "* `open(location, " in store and "* `in_flight`: " in view and "* `latest_committed`: " in view
    poll = page.partition("## poll_progress\n")[2].partition("\n## ")[0]
    assert "Raises as" not in poll and "Returns:" in poll and "`batch_id`" in poll


def test_a_script_plans_and_applies_each_kind_of_change(tmp_path):
    word = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
    place = str(tmp_path / "orders")
    query = KafkaQuery(api.Store.open(place), sources=2)
    for batch_id in range(4):
        query.commit(batch_id)
    stores = api.Stores.of(place, api.Store.open)
    (tmp_path / "orders/commits/3").write_bytes(b"v1")
    table = FakeTable(tmp_path / "files").run(24)
    table.forget("21")
    sink = api.parse_sink(f"file:{table.output}")
    files = api.Stores.of(str(table.checkpoint), api.Store.open, sink=sink)
    decisions = api.parse_decisions(["21"], [])
    swapped = api.parse_source_change(["0=1", "1=0"], [])
    makers: dict[Any, tuple[api.Stores, Callable[[], api.Plan]]] = {
        "salvage": (stores, lambda: api.make_salvage(stores)),
        "sources": (stores, lambda: api.make_source_change(stores, swapped)),
        "undo": (stores, lambda: api.make_undo(stores)),
        "repair": (files, lambda: api.make_repair(files, sink, decisions)),
    }
    for kind, (where, make) in makers.items():
        plan = api.decode_plan(api.encode_plan(make()), kind)
        assert (plan.kind, api.apply(plan, where, **word).status) == (kind, "applied")
    fence, receipt = api.put_fence(files, settle_s=0.0)
    assert (fence.kind, receipt.status) == ("fence", "applied")
    target, types = api.Store.open(str(tmp_path / "new")), {"0": "kafka", "1": "kafka"}
    for given in (
        api.positions_of(stores.checkpoint),
        api.parse_positions({"0": {"a": {"0": 5}}, "1": {"b": {"0": 5}}}),
    ):
        plan = api.make_seed(target, given, types)
        assert api.write_seed(plan, target, accept_sink="unknown").status == "applied"
        target = api.Store.open(str(tmp_path / "newer"))
