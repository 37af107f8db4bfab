"""Every command over hostile checkpoints: bounded memory, bounded time, an exit code of the table, no traceback."""

from __future__ import annotations

import multiprocessing
import re
import shutil
from collections.abc import Callable, Iterator
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

from tests.hostile import HOSTILE, MOST_BYTES, MOST_SECONDS, Cost, measure

#: What a checkpoint is put to; the backup root of the healthy one is at hand as BACKUPS.
COMMANDS: dict[str, str] = {
    "show": "show C",
    "show --json": "show C --json",
    "log": "log C --source 0=file",
    "diff": "diff C A B --source 0=file",
    "check": "check C",
    "check --deep": "check C --deep",
    "gate": "gate C --source 0=file --sink file:T",
    "gate, SARIF": "gate C --source 0=file --sink file:T --format sarif",
    "gate, JUnit": "gate C --source 0=file --sink file:T --format junit",
    "fleet": "fleet H --deep --spark-version 4.3",
    "wait": "wait C --watermark 2030-01-01 --idle PT10M --offsets {\"0\":5} --source 0=file --timeout 1 --poll-interval 0.1",
    "wait, batch": "wait C --batch 9223372036854775807 --timeout 1 --poll-interval 0.1",
    "backup": "backup C --to NEW",
    "backup, on top": "backup C --to BACKUPS",
    "rollback": "rollback C --to-batch A --sink file:T --trim-sink-log",
    "rollback, offsets": "rollback C --to-offsets {\"0\":1} --source 0=file",
    "rollback, time": "rollback C --to-timestamp 2030-01-01",
    "rollback, backup": "rollback C --to-backup BACKUPS/latest",
    "undo": "undo C",
    "history": "history C",
    "backups": "backups BACKUPS",
    "verify": "verify BACKUPS latest",
    "restore": "restore BACKUPS latest --to FREE",
    "prune": "prune BACKUPS --keep-last 1 --keep-daily 3",
    "check, baseline": "check C --baseline GIVEN",
    "rollback, plan": "rollback C --plan GIVEN",
}  # fmt: skip

#: What looks at a checkpoint in ways of its own; the other commands look at it as one of these does.
LOOKING = (
    "show --json",
    "log",
    "diff",
    "check --deep",
    "gate",
    "fleet",
    "wait",
    "backup",
    "rollback",
    "rollback, offsets",
)
#: The commands that a case is put to, by how its name begins.
COMMANDS_OF = {
    "manifest": ("backup, on top", "rollback, backup", "backups", "verify", "restore", "prune"),
    "record": ("show", "gate", "rollback", "undo", "history", "fleet"),
    "lock": ("show", "gate", "rollback", "undo", "history"),
    "memory": ("gate", "rollback"),
    "baseline": ("check, baseline",),
    "plan file": ("rollback, plan",),
    "nothing": tuple(name for name, command in COMMANDS.items() if "GIVEN" not in command),
    "names with": tuple(name for name, command in COMMANDS.items() if "GIVEN" not in command),
}


#: State files may have any size, and what nobody knows is kept whatever its size: a backup of these takes as long as
#: their bytes, and that is no cost of ours.
OF_ANY_SIZE = ("10 GB of zeros in every changelog", "10 GB file that nobody knows")


def commands_of(case: str) -> tuple[str, ...]:
    if case in OF_ANY_SIZE:
        return tuple(name for name in LOOKING if name != "backup")
    return next((names for start, names in COMMANDS_OF.items() if case.startswith(start)), LOOKING)


@pytest.fixture(scope="session")
def forkserver() -> BaseContext:
    """Children that have the command imported and nothing else: none inherits the memory of the tests."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["airflow_provider_ckpt.cli", "tests.hostile"])
    return context


@pytest.fixture
def cost_of(forkserver: BaseContext) -> Callable[[list[str]], Cost]:
    def run(arguments: list[str]) -> Cost:
        ours, theirs = forkserver.Pipe(duplex=False)
        child = forkserver.Process(target=measure, args=(arguments, theirs))
        child.start()
        theirs.close()
        try:
            return ours.recv()
        except EOFError:
            child.join()
            return Cost(None, MOST_SECONDS * 9.0, MOST_BYTES * 9, "", "", f"killed: exit code {child.exitcode}")
        finally:
            child.join()

    return run


def arguments_of(command: str, home: Path) -> list[str]:
    places = {
        "C": home / "checkpoint",
        "T": home / "output",
        "H": home,
        "GIVEN": home / "given.json",
        "A": 1,
        "B": 2,
        "NEW": home.parent / "new",
        "FREE": home.parent / "free",
        "BACKUPS": home.parent / "backups",
    }
    words = [word.replace("file:T", f"file:{places['T']}") for word in command.split(" ")]
    words = [word.replace("BACKUPS/", f"{places['BACKUPS']}/") for word in words]
    return [str(places.get(word, word)) for word in words]


def problem_of(cost: Cost, *, usage: bool = False) -> str:
    """What is wrong with an answer; empty when nothing is."""
    if cost.crash or cost.code is None:
        return cost.crash or "no exit code"
    if cost.code not in range(6) or (cost.code == 2 and not usage):
        return f"exit code {cost.code}: {cost.err[:300]}"
    if cost.rss_bytes > MOST_BYTES:
        return f"{cost.rss_bytes >> 20} MB"
    if cost.seconds > MOST_SECONDS:
        return f"{cost.seconds:.0f} s"
    if raw := re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|^::|^section_start", cost.out + cost.err, re.MULTILINE
    ):
        return f"raw {raw[0]!r} in the output"
    return ""


@pytest.fixture
def hostile_home(goldens: dict[str, Path], tmp_path: Path, cost_of) -> Callable[[str], Path]:
    """A hostile checkpoint with its output, and a backup of it from before."""

    def make(case: str) -> Path:
        golden, spoil = HOSTILE[case]
        home = tmp_path / "home"
        shutil.copytree(goldens[f"4.3.0/{golden}"], home)
        taken = cost_of(["backup", str(home / "checkpoint"), "--to", str(tmp_path / "backups")])
        assert taken.code == 0, taken
        spoil(home)
        return home

    return make


FAST = {
    "log offset 2^63-1": ("check --deep", "gate", "backup", "rollback", "log"),
    "partitions 2000000000": ("check --deep", "backup"),
    "batch 2^63-1 committed, state": ("check --deep", "fleet", "rollback"),
    "sink entry 3000000000": ("gate", "rollback"),
    "10 GB offsets/{N}": ("show", "check", "backup"),
    "10 GB source log entry that begins well": ("check --deep", "backup"),
    "10 GB of zeros in every zip": ("check --deep", "backup"),
    "10 GB of zeros in every changelog": ("check --deep",),
    "zip bomb": ("check --deep",),
    "lz4 bomb": ("check --deep",),
    "metadata line with 300,000 keys, each twice": ("check",),
}


@pytest.mark.parametrize("case", FAST)
def test_worst_of_all(case, hostile_home, cost_of):
    home = hostile_home(case)
    problems = {name: problem_of(cost_of(arguments_of(COMMANDS[name], home))) for name in FAST[case]}
    assert not any(problems.values()), problems


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", HOSTILE)
def test_every_command(case, hostile_home, cost_of, table):
    home = hostile_home(case)
    problems = {}
    for name in commands_of(case):
        for leftover in ("new", "free"):
            shutil.rmtree(home.parent / leftover, ignore_errors=True)
        cost = cost_of(arguments_of(COMMANDS[name], home))
        table.append((name, case, cost))
        problems[name] = problem_of(cost, usage=name in ("check, baseline", "rollback, plan"))
    problems = {name: problem for name, problem in problems.items() if problem}
    assert not problems, "\n".join(f"{name}: {problem}" for name, problem in problems.items())


@pytest.fixture(scope="module")
def table(capsys_off) -> Iterator[list[tuple[str, str, Cost]]]:
    rows: list[tuple[str, str, Cost]] = []
    yield rows
    with capsys_off():
        print(f"\n| command | most memory | with | most time | with |\n|---|---|---|---|---|  ({len(rows)} runs)")
        for name in COMMANDS:
            own = [row for row in rows if row[0] == name]
            if own:
                big, slow = max(own, key=lambda row: row[2].rss_bytes), max(own, key=lambda row: row[2].seconds)
                print(f"| {name} | {big[2].rss_bytes >> 20} MB | {big[1]} | {slow[2].seconds:.1f} s | {slow[1]} |")

        print("\n| case | most memory | in | most time | in |\n|---|---|---|---|---|")
        for case in dict.fromkeys(row[1] for row in rows):
            own = [row for row in rows if row[1] == case]
            big, slow = max(own, key=lambda row: row[2].rss_bytes), max(own, key=lambda row: row[2].seconds)
            print(f"| {case} | {big[2].rss_bytes >> 20} MB | {big[0]} | {slow[2].seconds:.1f} s | {slow[0]} |")


@pytest.fixture(scope="module")
def capsys_off(request: pytest.FixtureRequest):
    return request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled
