"""What happens to a table while queries read it, step by step, and how many rows a query has to have read by then.

The truth is counted, not read from any log: every step says what it appends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.sinks.worker import Worker

Story = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One statement; `{t}` is the table. It appends `rows`; what a query has to read does not shrink by deletes."""

    does: str
    rows: int = 0


def append(first: int, files: int = 1) -> Step:
    """Two rows a file."""
    rows = ", ".join(f"('{first + number}', {first + number})" for number in range(2 * files))
    hint = f"/*+ REPARTITION({files}) */"
    return Step(f"INSERT INTO {{t}} SELECT {hint} * FROM VALUES {rows} AS new(key, value)", 2 * files)


STEPS: Mapping[str, tuple[Step, ...]] = {
    "delta": (
        Step("CREATE TABLE {t} (key string, value bigint) USING delta"),
        append(10),
        append(20, files=3),
        append(30),
        append(40),
        Step("OPTIMIZE {t}"),
        append(60),
        Step("ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')"),
        Step("DELETE FROM {t} WHERE value >= 60 AND value < 62"),
        append(90),
        Step("DELETE FROM {t} WHERE value = 30"),
        Step("ALTER TABLE {t} ADD COLUMN extra string"),
        append(120),
        Step("OPTIMIZE {t}"),
    ),
    "iceberg": (
        Step("CREATE TABLE {t} (key string, value bigint) USING iceberg TBLPROPERTIES ('format-version' = '2')"),
        append(10),
        append(20, files=3),
        append(30),
        append(40),
        Step("CALL lake.system.rewrite_data_files(table => 'db.orders', options => map('rewrite-all', 'true'))"),
        append(60),
        Step("DELETE FROM {t} WHERE value >= 60 AND value < 62"),
        append(80),
        Step("DELETE FROM {t} WHERE value = 20"),
        append(90, files=2),
        Step("ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')"),
        Step("CALL lake.system.rewrite_data_files(table => 'db.orders', options => map('rewrite-all', 'true'))"),
    ),
}
#: Appends of Delta name their columns once the table has one more.
_NAMED = "INSERT INTO {t} (key, value)"
OPTIONS = {
    "delta": {"skipChangeCommits": "true"},
    "iceberg": {"streaming-skip-delete-snapshots": "true", "streaming-skip-overwrite-snapshots": "true"},
}
ONE_FILE = {"delta": {"maxFilesPerTrigger": "1"}, "iceberg": {"streaming-max-files-per-micro-batch": "1"}}


@dataclass(slots=True)
class Query:
    """A query that reads the table until it is used up, again after each step of `after`."""

    name: str
    after: range
    options: Mapping[str, str]
    batches: list[dict[str, Any]] = field(default_factory=list)


def play(kind: str, root: Path, worker: Worker) -> Story:
    """Carry the steps out while queries read; where the table stood after each, and what each batch had read."""
    steps = STEPS[kind]
    location = worker.warehouse / "db" / "orders" if kind == "iceberg" else root / "table"
    table = "lake.db.orders" if kind == "iceberg" else f"delta.`{location}`"
    every, late = range(len(steps)), range(len(steps) - 1, len(steps))
    queries = [
        Query("whole", every, {}),
        Query("one-file", every, ONE_FILE[kind]),
        Query("seldom", range(3, len(steps), 3), ONE_FILE[kind]),
        Query("late", late, {}),
        Query("late-one-file", late, ONE_FILE[kind]),
    ]
    story: Story = {"steps": [], "queries": {}}
    rows = 0
    for number, step in enumerate(steps):
        does = step.does.replace("INSERT INTO {t}", _NAMED) if kind == "delta" else step.does
        worker.sql(does.format(t=table))
        rows += step.rows
        story["steps"].append({"does": step.does.split("(")[0].strip(), "rows": rows, "end": newest(kind, location)})
        for query in queries:
            if number in query.after:
                read(query, number, kind, str(location) if kind == "delta" else table, root, worker)
    story["queries"] = {query.name: query.batches for query in queries}
    return story


def newest(kind: str, location: Path) -> str:
    """Name of the newest file of the table's log."""
    if kind == "delta":
        return max(path.name for path in location.glob("_delta_log/*.json"))
    return max((path.name for path in location.glob("metadata/v*.metadata.json")), key=lambda name: (len(name), name))


def read(query: Query, step: int, kind: str, table: str, root: Path, worker: Worker) -> None:
    """Run a query until the table is used up."""
    checkpoint = root / query.name
    command = {"source": kind, "from": table, "options": {**OPTIONS[kind], **query.options}}
    counts = worker.ask(do="stream", checkpoint=str(checkpoint), **command)
    total = query.batches[-1]["rows"] if query.batches else 0
    for batch_id, count in counts:
        total += count
        offset = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()[-1]
        query.batches.append({"step": step, "offset": offset, "rows": total})
