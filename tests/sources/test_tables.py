"""Where Delta and Iceberg tables end, by the offsets that queries of real Spark wrote while they read them.

The tables are those that were recorded; `make sinks` has Spark write and read them anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.query.source import parse_asked
from airflow_provider_ckpt.sources.open_end import Access, open_table_end
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import Condition
from tests.goldens import unpack
from tests.sinks.worker import Worker
from tests.sources.judging import Judged, judge
from tests.sources.record import record

RECORDED = Path(__file__).parents[1] / "data" / "sources"
KINDS = ("delta", "iceberg")
WHILE_WRITTEN, AFTERWARDS = ("whole", "one-file", "seldom"), ("late", "late-one-file")


@dataclass(frozen=True, slots=True)
class Table:
    """A recorded table, and what was read of it."""

    kind: str
    home: Path
    story: dict[str, Any]

    @property
    def steps(self) -> list[dict[str, Any]]:
        return self.story["steps"]

    def batches(self, *queries: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        return ((name, self.story["queries"][name]) for name in queries)

    def ends_with_a_delete(self, step: int) -> bool:
        """Whether the last thing to read is one: Delta has a batch for it, in which a change feed has rows."""
        does = [state["does"].split()[0] for state in self.steps[: step + 1]]
        data = [word for word in does if word in ("INSERT", "DELETE")]
        return self.kind == "delta" and data[-1:] == ["DELETE"]

    def as_of(self, step: int) -> str:
        """The table as it was after a step, declared."""
        newest = self.steps[step]["end"]
        if self.kind == "iceberg":
            return f"iceberg:{self.home}/table/metadata/{newest}"
        log = self.home / f"as-of-{step}" / "_delta_log"
        if not log.exists():
            log.mkdir(parents=True)
            for path in (self.home / "table" / "_delta_log").iterdir():
                if path.name <= newest:
                    (log / path.name).symlink_to(path)
        return f"delta:{log.parent}"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    recorded, found = RECORDED, {}
    if os.environ.get("CKPT_SINKS"):
        recorded = tmp_path_factory.mktemp("recorded")
        worker = Worker("lakes", recorded / "warehouse")
        for kind in KINDS:
            record(kind, recorded / kind, worker, recorded / f"{kind}.tar.gz")
        worker.stop()
    for kind in KINDS:
        home = unpack(recorded / f"{kind}.tar.gz", tmp_path_factory.mktemp(kind))
        found[kind] = Table(kind, home, json.loads((home / "story.json").read_text()))
    return found


@pytest.fixture(params=KINDS)
def table(request, tables) -> Table:
    return tables[request.param]


def at(offset: str | None) -> Progress:
    """A query that stands there."""
    return Progress(None) if offset is None else Progress(0, OffsetSeq(1, None, (("0", SourceOffset(offset)),)))


def test_the_end_is_reached_by_the_batch_that_read_the_last_row_of_it(table, end):
    for step, state in enumerate(table.steps):
        fine = {Judged.RIGHT, Judged.LATE} if table.ends_with_a_delete(step) else {Judged.RIGHT}
        for name, batches in table.batches(*WHILE_WRITTEN):
            by_then = sum(batch["step"] <= step for batch in batches)
            for committed in range(by_then + 1):  # so many batches of the query are committed when it is asked for
                condition = end(table.as_of(step), batches[committed - 1]["offset"] if committed else None)
                for batch in batches[max(0, committed - 1) :]:
                    assert judge(condition, batch, state["rows"]) in fine, (state, name, committed, batch, condition)
                assert condition.reached(at(batches[-1]["offset"]))


def test_a_query_that_begins_late_is_there_when_it_has_read_all_that_the_table_holds(table, end):
    for step in range(len(table.steps)):
        condition = end(table.as_of(step))
        for name, batches in table.batches(*AFTERWARDS):
            if table.kind == "delta":
                reached = [condition.reached(at(batch["offset"])) for batch in batches]
                assert reached == [False] * (len(batches) - 1) + [True], (name, condition)
            else:
                rows = table.steps[step]["rows"]
                assert {judge(condition, batch, rows) for batch in batches} == {Judged.RIGHT}


def test_at_a_time_it_is_as_it_was_then(table, end):
    times = times_ms(table)
    for step, state in enumerate(table.steps):
        if step in times:
            assert end(table.as_of(-1), at_ms=times[step]) == end(table.as_of(step)), state
            later = end(table.as_of(-1), at_ms=times[step] - 1)
            assert step == 0 or later == end(table.as_of(step - 1)), state


@pytest.mark.s3
def test_a_table_in_s3_ends_where_it_does_on_disk(table, end, s3_store):
    there, here = s3_store("table"), table.home / "table"
    for path in here.rglob("*.json"):
        there.create(str(path.relative_to(here)), path.read_bytes())
    assert end(f"{table.kind}:{there.location}", open_store=lambda location: there) == end(table.as_of(-1))


def times_ms(table: Table) -> dict[int, int]:
    """When the table was changed, by step."""
    if table.kind == "iceberg":
        states = [json.loads(Path(table.as_of(step).partition(":")[2]).read_text()) for step in range(len(table.steps))]
        newest = [max(state["snapshots"], key=lambda of: of["sequence-number"], default=None) for state in states]
        return {step: of["timestamp-ms"] for step, of in enumerate(newest) if of and of not in newest[:step]}
    logs = [table.home / "table" / "_delta_log" / state["end"] for state in table.steps]
    infos = [
        next(json.loads(line)["commitInfo"] for line in log.read_text().splitlines() if "commitInfo" in line)
        for log in logs
    ]
    return {step: info["timestamp"] for step, info in enumerate(infos)}


def test_a_delta_table_that_was_created_anew_is_refused(tables, end):
    other = json.loads(tables["delta"].story["queries"]["whole"][0]["offset"]) | {"reservoirId": "another"}
    with pytest.raises(StoreError, match="it was created again, or is not the one"):
        end(tables["delta"].as_of(3), json.dumps(other))


def test_a_delta_table_that_has_lost_versions_is_no_end_that_the_query_has_passed(tables, end):
    stands = tables["delta"].story["queries"]["whole"][-1]["offset"]
    declared, lost = tables["delta"].as_of(3), "is at version 14, but the newest version is 3"
    with pytest.raises(StoreError, match=lost):
        end(declared, stands)
    with pytest.raises(StoreError, match=lost):
        open_table_end(parse_asked(declared), "0", Access(Store.open)).unread_now(SourceOffset(stands))


def test_a_delta_version_that_its_catalog_alone_knows_is_refused(tables, end, tmp_path):
    declared = tables["delta"].as_of(2)
    staged = Path(declared.partition(":")[2]) / "_delta_log" / "_staged_commits"
    staged.mkdir()
    (staged / "00000000000000000003.6c8c.json").write_text("{}")
    with pytest.raises(StoreError, match="version 3 is only staged"):
        end(declared)
    (staged / "00000000000000000003.6c8c.json").rename(staged / "00000000000000000002.6c8c.json")
    assert end(declared)


def test_a_delta_log_that_was_cleaned_is_read_as_far_as_it_goes(tables, end, tmp_path):
    table = tables["delta"]
    shutil.copytree(table.home / "table" / "_delta_log", tmp_path / "_delta_log")
    DeltaTable(tmp_path).create_checkpoint()
    for path in sorted((tmp_path / "_delta_log").glob("*.json"))[:-1]:
        path.unlink()
    batches = table.story["queries"]["whole"]
    condition = end(f"delta:{tmp_path}")
    assert [condition.reached(at(batch["offset"])) for batch in batches[-2:]] == [True, True], "the newest has no data"
    assert not condition.reached(at(batches[-3]["offset"]))


def test_an_iceberg_snapshot_that_has_expired_is_no_end_that_the_query_has_passed(tables, end):
    stands = '{"version":1,"snapshot_id":42,"position":1,"scan_all_files":false}'
    with pytest.raises(StoreError, match="is at snapshot 42, which is not an ancestor of the current snapshot"):
        end(tables["iceberg"].as_of(5), stands)


def test_a_query_that_is_reset_while_it_waits_for_a_snapshot_is_not_there(tables, end):
    batches = tables["iceberg"].story["queries"]["whole"]
    condition = end(tables["iceberg"].as_of(-1), batches[-2]["offset"])
    reached = [condition.reached(at(batch["offset"])) for batch in batches]
    assert reached == [False] * (len(batches) - 1) + [True]


def test_snapshots_are_not_counted(tables, end):
    with pytest.raises(CheckpointError, match="cannot be counted in records"):
        end(tables["iceberg"].as_of(5), slack=3)


def test_versions_are_counted(tables, end):
    table = tables["delta"]
    offset = next(batch["offset"] for batch in table.story["queries"]["whole"] if batch["step"] == 1)
    condition: Callable[[int], Condition] = lambda slack: end(table.as_of(4), offset, slack=slack)  # noqa: E731
    assert [condition(slack).reached(at(offset)) for slack in (2, 3)] == [False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_an_offset_of_another_source_is_refused(tables, end, kind):
    with pytest.raises(StoreError, match=f"source 0 is not an? {kind.title()} source"):
        end(tables[kind].as_of(1), '{"logOffset":3}')
