"""Put the sweep and random cases to real Spark, record what it did, and compare it with the forecast.

python -m tests.oracle.sweeping record [--only TEXT] [--new] [--seconds S]   write sweep-<spark version>.json
python -m tests.oracle.sweeping verify [--every N]                           compare with what is recorded
python -m tests.oracle.sweeping random [--seed N] [--count N]                compare Spark with the forecast
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.progress import Progress

from .case import Case
from .replay import Replay, Replayed
from .sweep import CRASHED, SWEEP, is_crashed, random_cases
from .sweep_judge import RECORDED, Judged, Report, Seen, Workshop, excuse, judge, parts, read_recorded


def ask(replay: Replay, cases: Iterable[Case]) -> Iterator[tuple[Case, Seen, Replayed]]:
    """What Spark did with each case, compared with what it does with the same query undamaged."""
    wanted: dict[tuple[str, bool], Replayed] = {}
    for case, answer in replay.ask_all(cases):
        key = (case.base, is_crashed(case))
        if key not in wanted:
            wanted[key] = replay.ask(Case(case.base, (CRASHED,) if key[1] else ()))
        yield case, Seen.of(answer, wanted[key]), answer


def record(replay: Replay, options: argparse.Namespace) -> int:
    """Ask about the sweep, and write what Spark did; what is recorded already stays."""
    recorded, new = read_recorded(), dict[str, Seen]()
    todo = [case for name, case in SWEEP.items() if options.only in name and not (options.new and name in recorded)]
    deadline = time.monotonic() + options.seconds
    for number, (case, seen, answer) in enumerate(ask(replay, todo), start=1):
        new[case.name] = seen
        print(f"{number}/{len(todo)} {case.name}: {seen.fields()} {answer.message or ''}", flush=True)
        if time.monotonic() > deadline:
            break
    recorded = {**read_recorded(), **new}  # another process may have recorded as well
    lines = (f"{json.dumps(name)}: {json.dumps(recorded[name].fields())}" for name in SWEEP if name in recorded)
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


def verify(replay: Replay, options: argparse.Namespace) -> int:
    """Ask anew about the sweep, and compare with what is recorded."""
    recorded, differ, count = read_recorded(), 0, 0
    cases = [case for name, case in SWEEP.items() if options.only in name and name in recorded][:: options.every]
    progress = Progress(len(cases), "cases")
    for case, seen, answer in ask(replay, cases):
        count += 1
        progress.done(count)
        if seen != recorded.get(case.name):
            differ += 1
            print(f"DIFFERS {case.name}: recorded {recorded.get(case.name)}, now {seen} {answer.message}", flush=True)
    print(f"{count} cases of the sweep, {differ} differ")
    return int(differ > 0)


def ask_random(replay: Replay, options: argparse.Namespace) -> int:
    """Pairs and triples, under a seed that is printed."""
    seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    report = Report()
    with Workshop() as workshop:
        cases = list(random_cases(seed, options.count))[options.skip :]
        deadline, progress = time.monotonic() + options.seconds, Progress(len(cases), "cases")
        for number, (case, seen, answer) in enumerate(ask(replay, cases), start=1):
            progress.done(number)
            judged = judge(case, workshop.foretell(case), seen)
            listed = _reason(replay, workshop, case, seen, judged) if judged.problem else None
            report.add(case, seen, judged, listed)
            if judged.problem:
                print(f"{'listed ' if listed else ''}{judged.problem}: {case.name} {listed or ''}")
                print(f"  Spark {seen.fields()} {answer.message}\n  {judged.said}", flush=True)
            if time.monotonic() > deadline:
                print(f"stopped after {number + options.skip} of {options.count}")
                break
    print(f"seed {seed}: {report}")
    return int(report.problems > 0)


def _reason(replay: Replay, workshop: Workshop, case: Case, seen: Seen, judged: Judged) -> str | None:
    """Why a difference stays: its damage is listed, and of the rest the gate is right when Spark is asked about it."""
    if judged.problem == "OTHER ERROR" and any(
        workshop.foretell(part).spark_error == seen.error for part in parts(case)
    ):
        return "blocked; Spark meets another of the damages first"
    excused = excuse(case, judged)
    if excused is None or excused.is_all:
        return excused and excused.why
    (rest, rest_seen, _), *_ = ask(replay, [excused.rest])
    return None if judge(rest, workshop.foretell(rest), rest_seen).problem else excused.why


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=["record", "verify", "random"])
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth case")
    parser.add_argument("--new", action="store_true", help="cases that are not recorded yet")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--seed", type=int, help="of the random cases; another each time when not given")
    parser.add_argument("--count", type=int, default=300, help="random cases")
    parser.add_argument("--skip", type=int, default=0, help="random cases of this seed to leave out")
    parser.add_argument("--at-once", type=int, default=3, help="restarts beside each other")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        replay = Replay(Path(scratch), options.at_once)
        try:
            return {"record": record, "verify": verify, "random": ask_random}[options.command](replay, options)
        finally:
            replay.spark.stop()


if __name__ == "__main__":
    sys.exit(main())
