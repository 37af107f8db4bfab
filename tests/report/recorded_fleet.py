"""The tables of the audit of a real fleet, recorded: ``python -m tests.report.recorded_fleet ROOT NOW_MS``.

ROOT is where ``tests.spark.real_fleet`` has had its fleet, NOW_MS when the second audit judged it. Of the tables over time
those of the three queries are kept to which something happened.
"""

from __future__ import annotations

import gzip
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("recorded_fleet.json.gz")
TABLES = ("queries", "events", "stalls", "conf_changes", "restarts", "gaps", "throughput", "delay", "watermark_lag")
OVER_TIME = ("throughput", "delay", "watermark_lag")


def record(root: Path, now_ms: int) -> None:
    """Write the record; locations become those of a lake."""
    import pyarrow.parquet as parquet

    tables = {name: parquet.read_table(root / "audit" / "tables" / name).to_pylist() for name in TABLES}
    told = {row["location"] for row in tables["events"]}
    kept = {
        name: [row for row in rows if name not in OVER_TIME or row["location"] in told] for name, rows in tables.items()
    }
    text = json.dumps({"now_ms": now_ms, "tables": kept}, default=_to_ms)
    with gzip.GzipFile(RECORD, "wb", mtime=0) as file:
        file.write(text.replace(str(root / "checkpoints"), "s3://lake/checkpoints").encode())


def _to_ms(moment: datetime) -> dict[str, int]:
    return {"ms": round(moment.replace(tzinfo=UTC).timestamp() * 1000)}


def recorded() -> tuple[dict[str, list[dict[str, Any]]], int]:
    """The tables, and when they were made, epoch milliseconds."""

    def moment(fields: dict[str, Any]) -> Any:
        return datetime.fromtimestamp(fields["ms"] / 1000, UTC) if set(fields) == {"ms"} else fields

    read = json.loads(gzip.decompress(RECORD.read_bytes()), object_hook=moment)
    return read["tables"], read["now_ms"]


if __name__ == "__main__":
    record(Path(sys.argv[1]), int(sys.argv[2]))
