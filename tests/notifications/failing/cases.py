"""Tasks that fail: what is done to the checkpoint or the query, which operator runs it, and what is right to say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.explain.produced.lab import Query, Spark, forget, write

#: A query that is damaged, and runs as it is returned.
Damage = Callable[[Query], Query]


@dataclass(frozen=True, slots=True)
class Case:
    """One failed task.

    Args:
        name: Of the task.
        base: The query that ran before: ``files`` or ``sum``.
        damage: What happens to it before it runs again.
        runs: ``submit``, ``pyspark``, ``python``, ``bash`` (spark-submit in a shell), or ``pod`` (the log of a driver is
            printed, as Airflow does for a pod).
        shown: Rule whose finding is the evidence; empty where the text alone says it, ``possible`` where nothing proves
            it any more; ``nobody`` where Airflow calls no callback; None where the checkpoint has nothing to do with it.
        what: What the application does (``start_query.py``); of a failure of the user's own not ``query``.
    """

    name: str
    base: str
    damage: Damage
    runs: str
    shown: str | None
    what: str = "query"


def whole(query: Query) -> Query:
    """Nothing is done to it."""
    return query


def without_delta(query: Query) -> Query:
    for path in (query.checkpoint / "state" / "0" / "0").iterdir():
        if path.name.startswith(("2.", ".2.", "3.", ".3.")):
            path.unlink()
    return query


def without_predecessor(query: Query) -> Query:
    forget(query.checkpoint / "offsets", 2)
    return query


def cut_offsets(query: Query) -> Query:
    write(query.checkpoint / "offsets" / "3", b'v1\n{"batchW')
    return query


def empty_commit(query: Query) -> Query:
    write(query.checkpoint / "commits" / "3", b"")
    return query


def empty_offsets(query: Query) -> Query:
    write(query.checkpoint / "offsets" / "3", b"")
    return query


def commit_ahead(query: Query) -> Query:
    forget(query.checkpoint / "offsets", 3)
    return query


def short_source_log(query: Query) -> Query:
    forget(query.checkpoint / "sources" / "0", 3)
    return query


def directory_in_the_way(query: Query) -> Query:
    (query.checkpoint / "offsets" / "4").mkdir()
    return query


def checksum_alone(query: Query) -> Query:
    (query.checkpoint / "offsets" / ".4.crc").write_bytes(b"crc\x00\x00\x00\x02\x00\x00\x00\x00")
    return query


def without_state(query: Query) -> Query:
    shutil.rmtree(query.checkpoint / "state" / "0")
    return query


def other_keys(query: Query) -> Query:
    return replace(query, does="sum by key and day")


def other_values(query: Query) -> Query:
    return replace(query, does="sum of text by key")


def other_operator(query: Query) -> Query:
    return replace(query, does="distinct", mode="append")


def two_sources(query: Query) -> Query:
    query.add([0], "payments")
    return replace(query, inputs=("orders", "payments"))


def later_version(query: Query) -> Query:
    text = (query.checkpoint / "offsets" / "3").read_bytes()
    write(query.checkpoint / "offsets" / "3", text.replace(b"v1", b"v9", 1).replace(b"v2", b"v9", 1))
    return query


def no_input(query: Query) -> Query:
    return replace(query, inputs=("nowhere",))


CASES = (
    Case("delta_gone", "sum", without_delta, "submit", "CKPT130"),
    Case("predecessor_gone", "files", without_predecessor, "submit", "CKPT110"),
    Case("offsets_cut", "files", cut_offsets, "pyspark", "CKPT102"),
    Case("offsets_empty", "files", empty_offsets, "pod", "CKPT101"),
    Case("commit_empty", "files", empty_commit, "python", "CKPT101"),
    Case("commit_ahead", "files", commit_ahead, "submit", "CKPT112"),
    Case("source_log_short", "files", short_source_log, "pyspark", "CKPT123"),
    Case("directory", "files", directory_in_the_way, "submit", "CKPT115"),
    Case("checksum_alone", "files", checksum_alone, "bash", "possible"),
    Case("state_gone", "sum", without_state, "submit", "CKPT13"),
    Case("keys_changed", "sum", other_keys, "submit", ""),
    Case("values_changed", "sum", other_values, "python", ""),
    Case("operator_changed", "sum", other_operator, "pod", ""),
    Case("sources_changed", "files", two_sources, "submit", ""),
    Case("later_version", "files", later_version, "pyspark", "CKPT103"),
    Case("own_sink", "files", whole, "submit", None, "sink"),
    Case("own_udf", "files", whole, "pyspark", None, "udf"),
    Case("own_cast", "files", whole, "submit", None, "cast"),
    Case("no_input", "files", no_input, "python", None),
    Case("no_application", "files", whole, "submit", None, "missing"),
    Case("killed", "files", whole, "python", "nobody", "killed"),
)


def prepare(spark: Spark, root: Path, chosen: Sequence[Case]) -> list[dict[str, Any]]:
    """Run the queries of before, damage copies of them, and return what the DAG needs of each case."""
    before = {
        "files": Query(root / "files", to=("parquet", str(root / "files" / "out"))),
        "sum": Query(root / "sum", does="sum by key", mode="complete"),
    }
    for query in before.values():
        query.add(range(4))
        ran = spark.run(query)
        assert ran.error is None, ran.log[-2000:]
    return [_prepared(spark, case, before, root) for case in chosen]


def _prepared(spark: Spark, case: Case, before: Mapping[str, Query], root: Path) -> dict[str, Any]:
    home = root / "cases" / case.name
    query = before[case.base].copied(home)
    query.add([4])
    query = case.damage(query)
    (home / "query.json").write_text(json.dumps(query.described(query.checkpoint)))
    if case.runs == "pod":
        ran = spark.run(query)
        assert ran.error is not None, case.name
        (home / "driver.log").write_text(ran.log)
    return {
        "name": case.name,
        "home": str(home),
        "checkpoint": str(query.checkpoint),
        "sink": f"file:{query.to[1]}" if query.to else None,
        "runs": case.runs,
        "what": case.what,
    }
