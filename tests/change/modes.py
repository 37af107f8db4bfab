"""Checkpoints that another user owns, changes of every kind to them, and what has become of each file.

``python -m tests.change.modes`` prints it as a table.
"""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import airflow_provider_ckpt
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.sources.kafka import resolve_goal
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repair.fake_table import FakeTable
from tests.changes.repartition.forged_spark import GOLDEN, Forged, before_and_batch, put_in_place
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.changes.salvage.damage import lose_rename
from tests.goldens import Goldens

#: Who runs the query, and who does not; no such users need be on the machine.
OWNER, NOBODY = 1000, 54_321
STOPPED = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")
UNDO = (*STOPPED, "--accept-sink", "duplicated", "--accept-sink", "skipped", "--accept-sink", "unknown")
_FILE, _DIRECTORY, _WRITTEN_S = 0o640, 0o750, 1_700_000_000

#: Owner, group, mode, time in nanoseconds and content of a file, and the first three of a directory.
Seen = tuple[int, int, str, int, bytes]


@dataclass(frozen=True)
class Tree:
    """A checkpoint of another user, and a change to it."""

    place: Path
    checkpoint: Path
    words: Sequence[str]


def _golden(case: str) -> Callable[..., Path]:
    def copied(place: Path, goldens: Mapping[str, Path], monkeypatch: Any) -> Path:
        for each in goldens[f"4.3.0/{case}"].iterdir():
            if each.is_dir():
                shutil.copytree(each, place / each.name)
        return place / "checkpoint"

    return copied


def _torn(place: Path, goldens: Mapping[str, Path], monkeypatch: Any) -> Path:
    checkpoint = _golden("agg-hdfs")(place, goldens, monkeypatch)
    lose_rename(checkpoint / "state/0/0/8.delta")
    return checkpoint


def _table(place: Path, goldens: Mapping[str, Path], monkeypatch: Any) -> Path:
    table = FakeTable(place).run(12)
    table.forget("10")
    return table.checkpoint


def _kafka(place: Path, goldens: Mapping[str, Path], monkeypatch: Any) -> Path:
    query = KafkaQuery(Store.open(str(place / "checkpoint")))
    for batch_id in range(4):
        query.commit(batch_id)
    broker = broker_of(query)
    broker.spans["orders"] = {0: (5, 100), 1: (5, 100)}
    monkeypatch.setattr(resolve_goal, "KafkaBroker", lambda servers, config: broker)
    return place / "checkpoint"


def _repartition(place: Path, goldens: Mapping[str, Path], monkeypatch: Any) -> Path:
    _golden(GOLDEN)(place, goldens, monkeypatch)
    checkpoint, _, batch = before_and_batch(place)
    put_in_place(monkeypatch, Forged(checkpoint, batch))
    return checkpoint


#: Of each kind of change: how its checkpoint is made, and the command, in which ``OUT`` is the output of its sink.
CHANGES: dict[str, tuple[Callable[..., Path], str]] = {
    "fence": (_golden("agg-hdfs"), "fence CK --execute"),
    "rollback": (_golden("agg-hdfs"), "rollback CK --to-batch 3 --sink kafka STOPPED --accept-sink duplicated"),
    "rollback and sink log": (
        _golden("file-to-parquet-12"),
        "rollback CK --to-batch 5 --sink file:OUT/output --trim-sink-log STOPPED",
    ),
    "sources": (_golden("two-sources"), "sources CK --as orders=0 --as payments=1 STOPPED"),
    "salvage": (_torn, "salvage CK --sink kafka STOPPED"),
    "repair": (_table, "repair CK --sink file:OUT/out STOPPED"),
    "reset-offsets": (
        _kafka,
        "reset-offsets CK --source 0=kafka:forged:9092 --sink kafka --to-earliest STOPPED --accept-sink duplicated",
    ),
    "repartition": (_repartition, "repartition CK --partitions 4 --sink file:OUT/output STOPPED"),
}


def make_tree(change: str, place: Path, goldens: Mapping[str, Path], monkeypatch: Any) -> Tree:
    """A checkpoint of ``OWNER``, whose files were written some time ago and are closed to others."""
    make, command = CHANGES[change]
    home = place / "home"
    home.mkdir()
    checkpoint = make(home, goldens, monkeypatch)
    for number, path in enumerate(sorted(home.rglob("*"))):
        os.chown(path, OWNER, OWNER)
        path.chmod(_DIRECTORY if path.is_dir() else _FILE)
        if "repair" not in change:  # which goes by the times that its query has
            os.utime(path, (_WRITTEN_S + number, _WRITTEN_S + number))
    os.chown(home, OWNER, OWNER)
    home.chmod(_DIRECTORY)
    words = [{"CK": str(checkpoint)}.get(word, word.replace("OUT", str(home))) for word in command.split()]
    at = words.index("STOPPED") if "STOPPED" in words else None
    return Tree(home, checkpoint, words if at is None else [*words[:at], *STOPPED, *words[at + 1 :]])


@contextmanager
def directory_with_modes(above: str | None = None) -> Iterator[Path]:
    """A directory that any user can enter, unlike those of pytest."""
    path = Path(tempfile.mkdtemp(prefix="modes-", dir=above))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@cache
def _load_all() -> None:
    """Load what commands load when they need it: another user may be kept out of the directories of Python."""
    for module in pkgutil.walk_packages(airflow_provider_ckpt.__path__, f"{airflow_provider_ckpt.__name__}."):
        if module.name.split(".")[1] in _ROOMS:
            importlib.import_module(module.name)
    for name in ("rich.console", "rich.table", "rich.progress", "rich.filesize", "fsspec.implementations.memory"):
        importlib.import_module(name)


_ROOMS = {"backup", "change", "changes", "checks", "report", "sources"}


@contextmanager
def acting(user: int, umask: int, *, group: int | None = None) -> Iterator[None]:
    """This process is another user for a while, with another umask."""
    _load_all()
    groups, before = os.getgroups(), os.umask(umask)
    os.setgroups([] if user else groups)
    os.setegid(user if group is None else group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
        os.umask(before)


@contextmanager
def _beside(tree: Tree) -> Iterator[list[str]]:
    yield []


@contextmanager
def _other_disk(tree: Tree) -> Iterator[list[str]]:
    with directory_with_modes("/dev/shm") as other:  # a disk of its own on every Linux
        assert other.stat().st_dev != tree.place.stat().st_dev
        other.chmod(0o777)
        yield ["--undo-to", str(other)]


@contextmanager
def _without_modes(tree: Tree) -> Iterator[list[str]]:
    yield ["--undo-to", f"memory://{uuid.uuid4()}/undo"]


#: Where the records of a change are.
PLACES: dict[str, Callable[[Tree], AbstractContextManager[list[str]]]] = {
    "records beside it": _beside,
    "records on another disk": _other_disk,
    "records in a store without modes": _without_modes,
}

#: What the undo of a repartition leaves: partitions with tables of RocksDB that no state names, which Spark removes.
_TABLES = re.compile(r"checkpoint/state/0/[23](/SSTs(/.*)?)?")


def differing(before: Mapping[str, Seen], again: Mapping[str, Seen]) -> list[str]:
    """What is not as it was, after a change and its undo."""
    names = (name for name in before.keys() | again.keys() if before.get(name) != again.get(name))
    return sorted(name for name in names if name in before or not _TABLES.fullmatch(name))


#: Who carries a change out, with the umask of Airflow's daemons, and where the records are.
CASES = [(0, place) for place in PLACES] + [(OWNER, "records beside it")]


def seen(place: Path) -> dict[str, Seen]:
    """Every file and directory, but for the records of changes."""
    found: dict[str, Seen] = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        if name.split("/")[0] == "_ckpt_undo":
            continue
        is_file = path.is_file()
        has = path.lstat()
        content, written = (path.read_bytes(), has.st_mtime_ns) if is_file else (b"", 0)
        found[name] = (has.st_uid, has.st_gid, f"{stat.S_IMODE(has.st_mode):04o}", written, content)
    return found


def strange(before: Mapping[str, Seen], after: Mapping[str, Seen]) -> dict[str, tuple[Any, ...]]:
    """What a change has left that is not as its query makes files, or was left alone and has another time."""
    return {
        name: now[:4]
        for name, now in after.items()
        if now[:3]
        != before.get(name, (OWNER, OWNER, f"{_DIRECTORY if '.' not in name and now[3] == 0 else _FILE:04o}"))[:3]
        or (name in before and now[4] == before[name][4] and now[3] != before[name][3])
    }


def main() -> None:
    """Print the table: what each change and its undo leave, by who and with records where."""
    with pytest.MonkeyPatch.context() as patch, directory_with_modes() as goldens_home:
        for change in CHANGES:
            for user, records in CASES:
                with directory_with_modes() as place:
                    tree = make_tree(change, place, Goldens(goldens_home), patch)
                    before = seen(tree.place)
                    with PLACES[records](tree) as words, acting(user, 0o077), redirect_stdout(io.StringIO()):
                        codes = [run([*tree.words, *words])]
                        after = seen(tree.place)
                        codes.append(run(["undo", str(tree.checkpoint), *UNDO, *words]))
                    again = seen(tree.place)
                    other = differing(before, again)
                    who = f"user {user}, umask 077, {records}"
                    new = len(after.keys() - before.keys())
                    print(
                        f"{change:22} {who:58} exit {codes}  new {new:2}  owner or mode lost "
                        f"{len(strange(before, after))}  not as before after the undo {len(other)} of {len(before)}"
                    )


if __name__ == "__main__":
    main()
