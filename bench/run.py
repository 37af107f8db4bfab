"""``make bench``: costs as ratios and counts, both sides measured in turn in one run.

``python bench/run.py backups s3`` measures some subjects alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import backups
import commands
import fleets
import object_stores
import pipeline
import polling
import rollbacks
import states
import texts
import waits
from rich.console import Console

from airflow_provider_ckpt.report.table import Table, to_rich

#: Each gives its rows, and may write to an empty directory.
SUBJECTS: dict[str, Callable[[Path], Iterator[tuple[str, ...]]]] = {
    "backups": backups.measure,
    "s3": object_stores.measure,
    "rollbacks": rollbacks.measure,
    "states": states.measure,
    "polling": polling.measure,
    "fleets": fleets.measure,
    "pipeline": pipeline.measure,
    "commands": commands.measure,
    "waits": waits.measure,
    "texts": texts.measure,
}
COLUMNS = ("what", "ours", "theirs", "ratio", "aim")
_WIDTH = 150
OWN_COLUMNS = {"waits": waits.COLUMNS}


def main(wanted: list[str]) -> None:
    """Run benchmarks, and print a table for each subject."""
    unknown = set(wanted) - SUBJECTS.keys()
    if unknown:
        raise SystemExit(f"no subject {', '.join(sorted(unknown))}; there are: {', '.join(SUBJECTS)}")
    with tempfile.TemporaryDirectory() as directory:
        for subject in wanted or SUBJECTS:
            place = Path(directory) / subject
            place.mkdir()
            busy = os.getloadavg()[0]
            rows = tuple(SUBJECTS[subject](place))
            title = (
                f"{subject}: measured side by side in this run; load {busy:.1f} before it, on {os.cpu_count()} cores"
            )
            Console(width=_WIDTH).print(to_rich(Table(title, OWN_COLUMNS.get(subject, COLUMNS), rows), _WIDTH))


if __name__ == "__main__":
    main(sys.argv[1:])
