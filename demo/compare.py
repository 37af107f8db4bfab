"""Compare what is in Kafka with what the streaming job has written: every order once, with its amount.

    python demo/compare.py BOOTSTRAP TOPIC OUTPUT

Reads the files that the log of Spark's file sink names, and prints a line of JSON: how many orders and rows there
are, and how many of them are wrong, doubled or missing. Exits with 1 when one is.
"""

from __future__ import annotations

import json
import sys
from collections import Counter

import fsspec
import pyarrow.parquet
from producer import SHOPS, cents, length  # beside this file

from airflow_provider_ckpt import api


def rows(output: str) -> list[tuple[int, int]]:
    """Order and amount of every row that a reader of the sink sees."""
    files, root = fsspec.url_to_fs(output)
    found = []
    for path in sink_files(files, root):
        table = pyarrow.parquet.read_table(path, filesystem=files, columns=["order", "amount"])
        found += [(row["order"], row["amount"]) for row in table.to_pylist()]
    return found


def sink_files(files: fsspec.AbstractFileSystem, root: str) -> set[str]:
    """Files that the file sink's log names."""
    files.invalidate_cache()
    logs = [path for path in files.ls(f"{root}/_spark_metadata", detail=False) if not path.endswith("/")]
    entries = [api.decode(f"_spark_metadata/{path.rpartition('/')[2]}", files.cat_file(path)) for path in logs]
    return {item.path.partition("://")[2] for entry in entries for item in entry.entries}


def compare(orders: int, found: list[tuple[int, int]]) -> dict[str, int]:
    """How many of what there are, and how many are not right: missing is what is below the last of its shop."""
    times = Counter(order for order, _ in found)
    ends = [max((order for order in times if order % len(SHOPS) == shop), default=0) for shop in range(len(SHOPS))]
    return {
        "orders": orders,
        "rows": len(found),
        "wrong": sum(amount != cents(order) for order, amount in found),
        "doubled": len(found) - len(times),
        "missing": sum(order not in times for shop, end in enumerate(ends) for order in range(shop, end, len(SHOPS))),
    }


if __name__ == "__main__":
    bootstrap, topic, output = sys.argv[1:]
    written = rows(output)  # before the orders are counted: more of them come
    result = compare(length(bootstrap, topic), written)
    print(json.dumps(result))
    sys.exit(any(result[what] for what in ("wrong", "doubled", "missing")))
