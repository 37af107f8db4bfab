"""The gate on the sweep: where it passes what Spark does not start, and where it blocks what Spark runs."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.query.spark_version import SPARK_MAX
from airflow_provider_ckpt.restart.forecast import Forecast

from .case import BASES, Case
from .judge import foretell
from .mutations import mutate
from .prepared import prepare
from .sweep import CRASHED, is_crashed


@dataclass(frozen=True)
class Listed:
    """Where the forecast is not what Spark did, and why that stays so.

    Args:
        problem: What it is, as in ``Judged``.
        query: Pattern of the golden.
        damage: Pattern of the whole line that damages the one file; the place of a bit is left out.
        codes: What the gate blocks with, when it blocks: another code is another fault.
        why: The reason.
        crashed: Whether it is so of a query that was killed before its commit alone.
    """

    problem: str
    query: str
    damage: str
    codes: frozenset[str]
    why: str
    crashed: bool = False

    def excuses(self, case: Case) -> tuple[str, ...]:
        """The damages of a case that it is about."""
        if not re.fullmatch(self.query, case.base) or (self.crashed and not is_crashed(case)):
            return ()
        return tuple(line for line in case.mutations if re.fullmatch(self.damage, _BIT.sub(r"\1", line)))


_BIT = re.compile(r"^(bit \S+) .*")

LISTED: tuple[Listed, ...] = (
    Listed(
        "ONLY A WARNING",
        r"file(-12)?",
        r"bit sources/0/\d+",
        frozenset(),
        "a changed path in the newest entry; Spark stops when it leads out of the directory, which the log does not name",
    ),
    Listed(
        "FALSE BLOCK",
        r"agg-\S+|join",
        r"foreign (sources/\d)/\d+ \1/\d+",
        frozenset({"CKPT127"}),
        "files are read again, and by chance every row of them is too late for the watermark",
    ),
    Listed(
        "FALSE PASS",
        r"\S+",
        r"foreign state/\S+\.(snapshot|delta|changelog|zip) state/\S+\.\1",
        frozenset(),
        "state: a whole file of another version or partition without a checksum file; only its rows would tell",
    ),
    Listed(
        "FALSE PASS",
        r"agg-rocksdb",
        r"foreign (state/0/\d/SSTs/)\S+\.sst \1\S+\.sst",
        frozenset(),
        "state: another whole table of the same length without a checksum file; only RocksDB reads what is in it",
    ),
    Listed(
        "FALSE BLOCK",
        r"agg-changelog-v2",
        r"folder state/0/\d/3_\S+\.zip",
        frozenset({"CKPT130"}),
        "state: a directory in the place of a snapshot; by chance Spark gets along with the changelogs since the first",
    ),
    Listed(
        "FALSE BLOCK",
        r"agg-rocksdb",
        # and the tables that 7.zip names and 8.zip does not
        r"(empty|truncate|bit|folder|drop) state/0/(\d/7\.zip|0/SSTs/00001[01]-\S+\.sst|1/SSTs/0000(08|09|12)-\S+\.sst)",
        frozenset({"CKPT122", "CKPT130", "CKPT205"}),
        "the sink holds batch 7 and skips it, so the state before it is not read; no rollback and no backup is without it",
        crashed=True,
    ),
    Listed(
        "OTHER ERROR",
        r"agg-changelog-v2",
        r"bit state/0/\d/8_\S+\.changelog",
        frozenset({"CKPT122", "CKPT130"}),
        "state: blocked, under the name of a file that is not there; Spark finds that it is not what its checksum says",
    ),
    Listed(
        "OTHER ERROR",
        r"file",
        r"line offsets/\{N(-1)?\} 1 null",
        frozenset({"CKPT105"}),
        "JSON null for watermark and confs: Spark stops a step later than at an empty line",
        crashed=True,
    ),
    Listed(
        "FALSE BLOCK",
        r"agg-hdfs",
        r"folder (sources/0/\{N\+[12]\}|\.\./output/_spark_metadata/\{N\+2\})",
        frozenset({"CKPT115"}),
        "the batch that fails comes after those that were run",
    ),
)

#: The deploy asks for a conf that Spark ignores: the gate stops it so that nobody believes that it took effect.
ON_PURPOSE = frozenset({"CKPT201", "CKPT222"})
#: Goldens of which not every case was put to Spark yet: ``python -m tests.oracle.sweeping record --new`` goes on.
PENDING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Excuse:
    """Why a difference stays, and the case without the damage that it is about, of which the gate has to be right."""

    why: str
    rest: Case

    @property
    def is_all(self) -> bool:
        """Whether nothing else was done to the checkpoint."""
        return not self.rest.confs and not [line for line in self.rest.mutations if not _is_crash(line)]


def excuse(case: Case, judged: Judged) -> Excuse | None:
    """What is listed of a difference: of its damage alone, and of the codes that this damage is blocked with."""
    for listed in LISTED:
        damages = listed.excuses(case)
        if damages and listed.problem == judged.problem and judged.errors - ON_PURPOSE <= listed.codes:
            return Excuse(listed.why, replace(case, mutations=tuple(x for x in case.mutations if x not in damages)))
    return None


def parts(case: Case) -> Iterator[Case]:
    """A case of several damages as cases of one each: what Spark may meet before what the gate names."""
    crash = tuple(filter(_is_crash, case.mutations))
    damages = [line for line in case.mutations if line not in crash]
    if len(damages) + bool(case.confs) > 1:
        yield from (replace(case, mutations=(*crash, line)) for line in damages)


def _is_crash(line: str) -> bool:
    return line == CRASHED


RECORDED = Path(__file__).resolve().parent / f"sweep-{'.'.join(map(str, SPARK_MAX))}.json"


@dataclass(frozen=True)
class Seen:
    """What Spark did, compared with the same query undamaged.

    Args:
        error: As in ``Replayed``.
        batches: How many batches ran to their end.
        rows: ``same`` or ``other`` than of the undamaged query; None with an error.
        table: What a reader of the sink's log sees: ``same``, ``other`` or an error; None without such a log, and with
            an error: how far the other tasks of the failed batch have come by then is not determined.
    """

    error: str | None
    batches: int
    rows: str | None
    table: str | None

    @classmethod
    def of(cls, answer: Any, undamaged: Any) -> Seen:
        """Compare two ``Replayed``."""
        rows = None if answer.rows is None else "same" if answer.rows == undamaged.rows else "other"
        table = None if answer.error else answer.table
        if table is not None and re.fullmatch("[0-9a-f]{12}", table):
            table = "same" if table == undamaged.table else "other"
        return cls(answer.error, len(answer.batches), rows, table)

    def fields(self) -> list[Any]:
        """As it is recorded."""
        return [self.error, self.batches, self.rows, self.table]

    @property
    def ended_well(self) -> bool:
        """Whether nobody could tell it from the undamaged query."""
        return self.error is None and self.rows == "same" and (self.table in (None, "same"))


def read_recorded() -> dict[str, Seen]:
    """What is recorded of the sweep."""
    if not RECORDED.exists():
        return {}
    return {name: Seen(*fields) for name, fields in json.loads(RECORDED.read_text()).items()}


@dataclass(frozen=True)
class Judged:
    """A case: what is wrong with the forecast (None when it is right), what it said, and the codes of its errors."""

    problem: str | None
    said: str
    errors: frozenset[str] = frozenset()


def judge(case: Case, foretold: Forecast, seen: Seen) -> Judged:
    """Hold a forecast against what Spark did."""
    said = f"{foretold.found} {foretold.spark_error} " + "; ".join(
        f"{finding.severity} {finding.code} {finding.message}" for finding in foretold.findings
    )
    problem = _problem(foretold, seen)
    errors = frozenset(finding.code for finding in foretold.findings if finding.severity == "error")
    return Judged(None if problem == "FALSE BLOCK" and errors <= ON_PURPOSE else problem, said, errors)


def _problem(foretold: Forecast, seen: Seen) -> str | None:
    verdict = foretold.found
    if not seen.ended_well and verdict == "pass":
        return "FALSE PASS"
    if seen.ended_well and verdict == "block":
        return "FALSE BLOCK"
    if seen.error and not seen.batches and verdict != "block":
        return "ONLY A WARNING"
    if seen.error and not seen.batches and foretold.spark_error != seen.error:
        return "OTHER ERROR"
    if foretold.spark_error and not seen.error:
        return "FORETOLD ERROR"
    return None


@dataclass
class Report:
    """Counts."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case, seen: Seen, judged: Judged, listed: str | None = None) -> None:
        """Count a case; ``listed`` is the reason why its difference stays."""
        self.counts["cases"] += 1
        did = "Spark ran" if seen.ended_well else "Spark failed" if seen.error else "other rows"
        self.counts[did] += 1
        if judged.problem:
            self.counts[f"listed {judged.problem}" if listed else judged.problem] += 1

    @property
    def problems(self) -> int:
        """Cases in which the forecast is wrong."""
        return sum(count for what, count in self.counts.items() if what.isupper())

    def __str__(self) -> str:
        return ", ".join(f"{count} {what}" for what, count in self.counts.items())


class Workshop:
    """Directories in which goldens are damaged and mended again: unpacked once each."""

    def __enter__(self) -> Workshop:
        self._scratch = tempfile.TemporaryDirectory(prefix="shop-")
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def foretell(self, case: Case) -> Forecast:
        """What the gate says of a case."""
        home = self._damaged(case)
        return foretell(case, SPARK_MAX, home)

    def _damaged(self, case: Case) -> Path:
        place = Path(self._scratch.name) / f"{[*BASES].index(case.base):03}"
        whole, home = place / "whole00", place / "damaged"  # as long as those of Replay: logs hold paths
        if not whole.exists():
            home.mkdir(parents=True)
            prepare(Case(case.base), home)
            shutil.copytree(home, whole)  # with its times
        _mend(whole, home)
        mutate(home / "checkpoint", case.mutations)
        return home


def _mend(whole: Path, home: Path) -> None:
    """Make a directory what another is, by names, sizes and times."""
    right, now = _tree(whole), _tree(home)
    for name in sorted(now.keys() - right.keys(), reverse=True) + [n for n in right if now.get(n) != right[n]]:
        path = home / name
        if path.is_dir() and right.get(name) is not None:
            shutil.rmtree(path)
        elif path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    for name, stat in sorted(right.items()):
        if stat is None:
            (home / name).mkdir(exist_ok=True)
        elif now.get(name) != stat:
            shutil.copy2(whole / name, home / name)


def _tree(root: Path) -> dict[str, tuple[int, int] | None]:
    """Files with size and time, directories with None."""
    found: dict[str, tuple[int, int] | None] = {}
    for path in root.rglob("*"):
        stat = path.stat()
        found[str(path.relative_to(root))] = None if path.is_dir() else (stat.st_size, stat.st_mtime_ns)
    return found
