"""Histories made by hand, to put questions to the statements of the audit: one fleet, a checkpoint for each story."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_ckpt.batches.audit import TABLES, VIEWS, Measure, statement
from airflow_provider_ckpt.batches.columns import BATCHES, ddl
from airflow_provider_ckpt.batches.rows import PURGED

START = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
#: When the fleet is judged, seconds after START; each story is moved so that it ends there.
NOW_S = 4_080
CONFS = {"spark.sql.shuffle.partitions": "20", "spark.sql.streaming.join.stateFormatVersion": "2"}
TIMES = ("batch_time", "committed_at", "watermark")
NAMES = [column.name for column in BATCHES]


def at(second: float) -> datetime:
    """A moment."""
    return START + timedelta(seconds=second)


def row(batch_id: int, second: float, **known: Any) -> dict[str, Any]:
    """A batch of one source: planned at a second, committed two seconds later, with ten records."""
    confs = known.pop("confs", CONFS)
    found: dict[str, Any] = dict.fromkeys(NAMES)
    found |= {"query_id": "q", "timeline": 0, "batch_id": batch_id, "planned": True, "committed": True}
    found |= {
        "offset_log_version": 1,
        "commit_log_version": 1,
        "batch_time": at(second),
        "committed_at": at(second + 2),
    }
    found |= {"confs": confs, "confs_digest": str(sorted(confs.items())), "source_id": "0", "source_type": "kafka"}
    found |= {"start_offset": f"{10 * batch_id}", "end_offset": f"{10 * batch_id + 10}", "unit": "records"}
    return found | {"advanced": 10, "partitions": [], **known}


def lost(batch_id: int, problem: str = PURGED) -> dict[str, Any]:
    """A batch that was gone before the stream read it."""
    return dict.fromkeys(NAMES) | {"query_id": "q", "timeline": 0, "batch_id": batch_id, "problem": problem}


@dataclass(frozen=True)
class Story:
    """What one checkpoint has lived through.

    Args:
        rows: Its history, times as if it began at START.
        now_s: When it is judged, seconds after START, whole minutes.
        operators: Stateful operators.
    """

    rows: list[dict[str, Any]]
    now_s: int
    operators: int | None = None

    def moved(self, location: str) -> list[tuple[Any, ...]]:
        """The rows as those of a location, so that the story ends when the fleet is judged."""
        later = timedelta(seconds=NOW_S - self.now_s)
        times = [
            {name: found[name] + later for name in TIMES if found[name] and found[name].year == START.year}
            for found in self.rows
        ]
        told = [found | moved | {"location": location} for found, moved in zip(self.rows, times, strict=True)]
        return [tuple(found[name] for name in NAMES) for found in told]


def judged(session: Any, stories: Mapping[str, Story]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Every table of the fleet by story: rows as dictionaries."""
    polled_ms = int(at(NOW_S).timestamp() * 1000)
    now_ms = polled_ms + 600_000  # so long did it take to read them all, and nobody was silent for that
    measure = Measure(now_ms, polled_ms, window_s=60, tiny=5, stall_times=10, stall_ms=60_000)
    rows = [found for location, story in stories.items() for found in story.moved(location)]
    session.createDataFrame(rows, ddl(BATCHES)).createOrReplaceTempView("history")
    operators = [(location, story.operators) for location, story in stories.items()]
    session.createDataFrame(operators, "location string, operators long").createOrReplaceTempView("operators")
    told: dict[str, dict[str, list[dict[str, Any]]]] = {name: {table: [] for table in TABLES} for name in stories}
    for name, sql in {**VIEWS, **TABLES}.items():
        view = session.sql(statement(sql, measure)).cache()
        view.createOrReplaceTempView(name)
        for found in view.collect() if name in TABLES else ():
            told[found["location"]][name].append(found.asDict())
    return told
