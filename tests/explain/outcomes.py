"""What the tests show of each symptom, as the table of the runbook.

python -m tests.explain.outcomes writes the table into docs/runbook/index.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from airflow_provider_ckpt.explain.read_index import read_pages

ROOT = Path(__file__).parents[2]
#: What real Spark printed, by version; ``lakes`` is Spark 4.1 with Delta and Iceberg.
RECORDED = ROOT / "tests" / "data" / "symptoms"
INDEX = ROOT / "docs" / "runbook" / "index.md"
VERSIONS: Mapping[str, str] = {"4.3": "Spark 4.3", "3.5": "Spark 3.5", "lakes": "Spark 4.1"}
#: Why nothing was recorded of a symptom.
NOT_PRODUCED: Mapping[int, str] = {
    18: "no: it needs an Azure Event Hub",
    19: "no: it needs Amazon Kinesis",
    29: "no: it needs Paimon's sink for Spark",
}
#: What lets the query go on today, and what becomes of the rows, as the tests of tests/explain/produced assert it.
REPAIRED: Mapping[int, str] = {
    1: "`ckpt sources`: exact; the earlier deploy: exact",
    2: "`ckpt sources`: exact; the conf switched off: exact",
    3: "created again: `ckpt reset-offsets`; a topic gone: one start with `failOnDataLoss=false`",
    4: "`ckpt salvage`, `ckpt rollback`: exact",
    5: "`ckpt rollback`: exact",
    6: "`ckpt fence`, `ckpt rollback`: exact; the checksum file or directory removed: exact",
    7: "`ckpt salvage`: exact; `ckpt rollback`: the state is right",
    8: "the earlier deploy: exact",
    9: "the earlier deploy: exact",
    10: "`ckpt repartition`: exact",
    11: "`ckpt repair`: exact; `ckpt rollback --trim-sink-log`: exact",
    12: "another output directory: exact; `ckpt seed` for Kafka and tables",
    13: "the option `retention` of the sink: exact",
    14: "`ckpt seed`: all of the new table",
    15: "`ckpt reset-offsets --skip-version`",
    16: "`ckpt reset-offsets --skip-version`: skipped, that version alone",
    17: "`ckpt reset-offsets`",
    20: "`ckpt rollback --to-backup`: exact",
    21: "`ckpt salvage`, `ckpt rollback`: exact",
    22: "`minBatchesToRetain`: exact",
    23: "`ckpt restore --rewrite-paths`: exact",
    24: "`ckpt export`, `ckpt seed`: exact",
    25: "`ckpt rollback --to-backup`: exact",
    26: "the earlier trigger: exact",
    27: "the later Spark: exact",
    28: "rows of every source in one run: exact",
}
#: What has no command yet.
LATER: Mapping[int, str] = {
    13: "the growth of the log, as a finding",
    22: "a report of the costs by kind",
}
_TABLE = re.compile(r"\| symptom \| page .*\n\|[-|]+\|\n(?:\|.*\n)+")


def produced() -> dict[int, list[str]]:
    """The Sparks in which each symptom was produced, by its number."""
    found: dict[int, list[str]] = {}
    for version, name in VERSIONS.items():
        for number in sorted({int(log.name[:2]) for log in (RECORDED / version).glob("*.log")}):
            found.setdefault(number, []).append(name)
    return found


def table() -> str:
    """A row for each page."""
    heads = ("symptom", "page", "error conditions", "produced and explained", "repaired today", "comes later")
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    shown = produced()
    for page in read_pages():
        number = page.number
        where = ", ".join(shown[number]) if number in shown else NOT_PRODUCED[number]
        conditions = ", ".join(f"`{name}`" for name in page.conditions)
        link = f"[{_heading(page.name)}]({page.name}.md)"
        cells = (link, conditions, where, REPAIRED.get(number, "in words"), LATER.get(number))
        lines.append("| " + " | ".join([str(number), *(cell or "-" for cell in cells)]) + " |")
    return "\n".join(lines) + "\n"


def _heading(name: str) -> str:
    found = re.search(r"^# (.+)$", (INDEX.parent / f"{name}.md").read_text(), re.MULTILINE)
    assert found is not None
    return found[1].replace("|", r"\|")


def main() -> None:
    """Write the table."""
    INDEX.write_text(_TABLE.sub(lambda _: table(), INDEX.read_text()))


if __name__ == "__main__":
    main()
