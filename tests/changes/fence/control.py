"""Killed drivers without any fence: ``python -m tests.changes.fence.control [--rounds 4] [--a-round 16] [--seed 1]``.

State format 2 and a file sink: a driver that is killed after the sink's log has a batch and before the commit log has
it, leaves a checkpoint at which Spark 4.3 stops. The batch runs again, the sink skips it without computing anything,
so no operator tells the ids of its state, which the commit would have to hold (``CheckpointInfo length: 0``). It stops
at each start. The control shows that this needs no fence, that nothing else leads to it, and that a rollback to the
newest commit together with the sink's log helps.

In each round one driver runs all queries and is killed; half of the checkpoints that are not so by themselves are made
so: the newest commit is taken away, as if the kill had come before it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from airflow_provider_ckpt.storage.store import Store
from tests.changes.fence.live import SPARKS_OWN, Case, Driver, go_back, is_ahead, until, wrong_rows

#: Format 1 is there to compare.
STATES = ("rocksdb-v2", "rocksdb-v2", "rocksdb-v2", "rocksdb")
KINDS = ("sessions", "windows", "distinct")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--a-round", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began, chosen = time.monotonic(), random.Random(asked.seed)
    seen: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as root:
        for number in range(asked.rounds):
            for outcome in one_round(Path(root) / str(number), asked.a_round, chosen):
                seen[outcome] += 1
            print(f"round {number + 1} of {asked.rounds}: {sum(seen.values())} restarts", flush=True)
    for (state, left, came), count in sorted(seen.items()):
        print(f"{state:12} {left:52} {came:60} {count:4}")
    wrong = [key for key in seen if (key[0] == "rocksdb-v2" and "sink ahead" in key[1]) != (SPARKS_OWN in key[2])]
    wrong += [key for key in seen if "wrong" in key[2]]
    minutes, load = (time.monotonic() - began) / 60, os.getloadavg()[2]
    print(f"{sum(seen.values())} restarts without a fence, {minutes:.1f} min, load {load:.1f}; unexpected: {wrong}")
    return 1 if wrong else 0


def one_round(root: Path, many: int, chosen: random.Random) -> list[tuple[str, str, str]]:
    root.mkdir(parents=True)
    cases = [case_of(root, number, chosen) for number in range(many)]
    driver = Driver.start(root / "driver.log", None)
    try:
        for case in cases:
            assert driver("start", case.name, case.spec) == ""
        for case in cases:
            until(lambda case=case: case.newest("commits") >= 2, f"three batches of {case}")
        time.sleep(chosen.uniform(0, 3))
    finally:
        driver.kill()
    left = {}
    for case in cases:
        left[case.name] = "sink ahead, by the kill" if is_ahead(case) else "sink not ahead"
        if not is_ahead(case) and case.number % 2 and case.newest("offsets") == case.newest("commits"):
            last = case.newest("commits")
            for name in (str(last), f".{last}.crc"):
                (Path(case.store.root) / "commits" / name).unlink(missing_ok=True)
            assert is_ahead(case)
            left[case.name] = "sink ahead, the commit was taken away"
    driver = Driver.start(root / "driver.log", None)
    try:
        goals = {case.name: case.newest("commits") + 4 for case in cases}
        for case in cases:
            driver("start", case.name, case.spec)
        return [(case.spec["state"], left[case.name], outcome(driver, case, goals[case.name])) for case in cases]
    finally:
        driver.kill()


def outcome(driver: Driver, case: Case, goal: int) -> str:
    """What became of a query that was started again, and of one that Spark stops when it was rolled back."""
    said = ended(driver, case, goal)
    if SPARKS_OWN not in said:
        return said[:300] or judged(driver, case, "went on")
    driver("start", case.name, case.spec)
    again = "and again" if SPARKS_OWN in ended(driver, case, goal) else "but not again"
    go_back(case)
    goal = case.newest("commits") + 4
    driver("start", case.name, case.spec)
    return f"{SPARKS_OWN}, {again}; {ended(driver, case, goal)[:300] or judged(driver, case, 'right after a rollback')}"


def judged(driver: Driver, case: Case, fine: str) -> str:
    """Stop a query, and look at its rows."""
    driver("stop", case.name)
    return "; ".join(f"wrong: {problem}" for problem in wrong_rows(case)) or fine


def ended(driver: Driver, case: Case, goal: int) -> str:
    """Why a query stopped before its goal; empty when it got there."""

    def told() -> str:
        status = driver("status", case.name)
        if not status["active"]:
            return str(status["said"]) or "it ended"
        return "on" if case.newest("commits") >= goal else ""

    said = until(told, f"three batches more of {case}")
    return "" if said == "on" else said


def case_of(root: Path, number: int, chosen: random.Random) -> Case:
    name = f"q{number}"
    store = Store.open(str(root / "checkpoints" / name))
    spec = {
        "kind": KINDS[number % len(KINDS)],
        "state": chosen.choice(STATES),
        "sink": str(root / "output" / name),
        "checkpoint": store.location,
        "every_ms": 0,
        "slow_ms": 0,
    }
    return Case(number, spec["kind"], "disk", "killed", spec, store, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
