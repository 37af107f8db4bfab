"""The changes of a walk: what is drawn, what damage comes first, and what the model makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.walk.model import OPERATORS, Reader
from tests.walk.tree import newest, read_output
from tests.walk.walk import DONE, Walk, WrongError

#: How many origins there are at most.
ORIGINS = 3


def rollback(walk: Walk) -> None:
    """To a batch of the last six."""
    batch_id = max(0, walk.committed() - walk.random.randint(0, 5))
    words = ["--to-batch", str(batch_id), *walk.sink, *walk.trim]
    walk.change("rollback", words, lambda: walk.world.cut(batch_id))


def before_deploy(walk: Walk) -> None:
    """A bookmark, a run of the new version, and the rollback to before it."""
    bookmark, batch_id = walk.home / f"bookmark{len(walk.log)}.json", walk.committed()
    walk.gate("--bookmark", str(bookmark))
    walk.write(2)
    walk.run()
    words = ["--to-before-deploy", str(bookmark), *walk.sink, *walk.trim]
    walk.change("rollback", words, lambda: walk.world.cut(batch_id))


def fence(walk: Walk) -> None:
    """Of a query that does not run."""
    walk.change("fence", ["--wait-for-batch", "1"], lambda: None)


def crash(walk: Walk) -> None:
    """The driver dies after its sink has the newest batch and before the commit log has it."""
    batch_id = walk.committed()
    if batch_id != newest(walk.checkpoint, "offsets"):
        return
    for name in (f".{batch_id}.crc", str(batch_id)):
        (walk.checkpoint / "commits" / name).unlink(missing_ok=True)
    walk.undoable.clear()
    walk.note(f"batch {batch_id} is in flight")


def sources(walk: Walk) -> None:
    """Names come or go, a source is added, dropped, or changes its place."""
    readers = walk.world.readers
    kind = walk.random.choice(("names", "add", "drop", "swap"))
    if walk.shape in ("join", "window"):
        kind = "names"
    new, words = list(readers), []
    if kind == "names":
        new = [
            replace(reader, source_id=str(place) if walk.named else f"n{reader.origin}")
            for place, reader in enumerate(readers)
        ]
    if kind == "add" and len(readers) < ORIGINS:
        origin = next(each for each in range(ORIGINS) if each not in {reader.origin for reader in readers})
        new.append(walk.new_reader(origin, f"n{origin}" if walk.named else str(len(readers))))
    if kind == "drop" and len(readers) > 1:
        gone = new.pop(walk.random.randrange(len(new)))
        words += ["--drop", gone.source_id]
        new = _numbered(walk, new)
    if kind == "swap" and len(readers) > 1:
        new = _numbered(walk, new[::-1])
    if kind != "names" and [reader.reader for reader in new] == [reader.reader for reader in readers]:
        return
    old = {reader.reader: reader.source_id for reader in readers}
    for reader in new:
        words += ["--as", f"{reader.source_id}={old.get(reader.reader, 'new')}"]
    for name in OPERATORS[walk.shape]:
        words += ["--operator", name]

    def then() -> None:
        walk.world.readers = tuple(new)
        walk.write(1)

    walk.change("sources", [*words, *walk.sink], then)


def _numbered(walk: Walk, readers: list[Reader]) -> list[Reader]:
    return readers if walk.named else [replace(reader, source_id=str(place)) for place, reader in enumerate(readers)]


def salvage(walk: Walk) -> None:
    """A file of the newest batches is cut, emptied or lost; then the checkpoint is salvaged."""
    kept = walk.home / f"kept{len(walk.log)}"
    shutil.copytree(walk.checkpoint, kept)
    torn = _tear(walk)
    walk.note(f"torn: {torn}")

    def then() -> None:
        walk.world.cut(newest(walk.checkpoint, "offsets"))

    def heal() -> None:
        shutil.rmtree(walk.checkpoint)
        shutil.copytree(kept, walk.checkpoint)
        walk.undoable.clear()

    walk.change("salvage", [*walk.sink, *walk.trim], then, heal=heal)


def _tear(walk: Walk) -> str:
    last = walk.committed()
    state = [
        path for path in walk.checkpoint.glob("state/*/*/*") if path.name.startswith((f"{last + 1}.", f"{last + 1}_"))
    ]
    logs = [walk.checkpoint / log / str(last) for log in ("offsets", "commits")]
    entries = [path for path in walk.checkpoint.glob("sources/*/*") if path.name.isdigit()]
    path = walk.random.choice([*logs, *state, *sorted(entries)[-1:]])
    data = path.read_bytes()
    match walk.random.choice(("lost", "cut", "emptied")):
        case "lost":
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
            return f"{path.name} lost"
        case "cut":
            path.write_bytes(data[: len(data) // 2])
            return f"{path.relative_to(walk.checkpoint)} cut"
    path.write_bytes(b"")
    return f"{path.relative_to(walk.checkpoint)} emptied"


def repair(walk: Walk) -> None:
    """An entry of the log of the file sink is lost, and completed."""
    if walk.output is None:
        return
    entries = sorted(path for path in walk.output.glob("_spark_metadata/*") if path.name.isdigit())
    if not entries:
        return
    entry, rows = walk.random.choice(entries), read_output(walk.output)
    data, checksum = entry.read_bytes(), entry.with_name(f".{entry.name}.crc")
    kept = checksum.read_bytes() if checksum.exists() else None
    entry.unlink()
    checksum.unlink(missing_ok=True)
    walk.note(f"entry {entry.name} of the sink is lost")

    def heal() -> None:
        entry.write_bytes(data)
        if kept is not None:
            checksum.write_bytes(kept)

    if walk.change("repair", walk.sink, lambda: None, heal=heal) and read_output(walk.output) != rows:
        raise WrongError(f"the repair of entry {entry.name} gives readers other rows than before")


def repartition(walk: Walk) -> None:
    """The state in another number of partitions, by Spark itself."""
    if walk.shape != "stateless":
        partitions = str(walk.random.randint(1, 4))
        walk.change("repartition", ["--partitions", partitions, *walk.sink], lambda: None)


def backup_and_restore(walk: Walk) -> None:
    """The query goes on elsewhere from a backup."""
    root, target = walk.home / "backups", walk.home / f"restored{len(walk.log)}"
    taken = walk.ckpt("backup", str(walk.checkpoint), "--to", str(root), "--json", "--commit-wait", "1s")
    if taken.code != DONE:
        walk.counts[f"refused: backup: {' '.join(taken.err.split()[:18])}"] += 1
        return
    batch_id = taken.document["batch_id"]
    words = ["restore", str(root), taken.document["backup_id"], "--to", str(target), *walk.sink, "--execute"]
    answer = walk.ckpt(*words, "--accept-sink", "unknown", "--accept-sink", "duplicated", "--json")
    walk.note(f"restore of batch {batch_id}: {answer.code}")
    walk.counts[f"restore: {'made' if answer.code == DONE else 'refused'}"] += 1
    if answer.code not in (DONE, 4):
        raise WrongError(f"restore: exit code {answer.code}: {answer.err or answer.out}")
    if answer.code == DONE:
        walk.world.location = target
        walk.world.cut(batch_id)
        walk.undoable.clear()


def undo(walk: Walk) -> None:
    """Of the newest change."""
    walk.undo()


CHANGES: dict[Callable[[Walk], None], int] = {
    rollback: 8,
    undo: 8,
    sources: 5,
    before_deploy: 3,
    fence: 3,
    salvage: 4,
    repair: 3,
    crash: 3,
    backup_and_restore: 2,
    repartition: 1,
}


def go(walk: Walk, changes: int) -> None:
    """So many changes, with the query started before, between and after them."""
    for files in (2, 3):
        walk.write(files)
        walk.run()
    for _ in range(changes):
        (change,) = walk.random.choices([*CHANGES], [*CHANGES.values()])
        change(walk)
        if walk.random.random() < 0.6:
            walk.write(walk.random.choice((1, 1, 2, 3)))
            walk.run()
    walk.write(1)
    walk.run()


def home_of(root: Path, number: int) -> Path:
    """A new directory for a walk."""
    home = root / f"walk{number}"
    (home / "commands").mkdir(parents=True)
    return home
