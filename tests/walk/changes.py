"""The changes of a walk: what is drawn, what damage comes first, and what the model makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tests.walk.model import BEGAN_S, MINUTE_S, OPERATORS, Reader
from tests.walk.tree import batches_of, newest, read_output
from tests.walk.walk import ACCEPTED, ORIGINS, SKIPPED, Walk, WrongError
from tests.walk.ways import BESIDE, DONE, KILLED, TWICE, Change


def rollback(walk: Walk) -> None:
    """To a batch of the last six, mostly one that the checkpoint has: what was restored begins with a later one."""
    oldest = min(batches_of(walk.checkpoint, "commits")) if walk.random.random() < 0.9 else 0
    batch_id = max(oldest, walk.committed() - walk.random.randint(0, 5))
    roll_back(walk, "rollback", batch_id, ("--to-batch", str(batch_id)))


def before_deploy(walk: Walk) -> None:
    """A bookmark, a run of the new version, and the rollback to before it."""
    bookmark, batch_id = walk.home / f"bookmark{len(walk.log)}.json", walk.committed()
    walk.gate("--bookmark", str(bookmark))
    walk.write(2)
    walk.run()
    roll_back(walk, "before-deploy", batch_id, ("--to-before-deploy", str(bookmark)))


def roll_back(walk: Walk, name: str, batch_id: int, words: tuple[str, ...]) -> None:
    """To after a batch, which the words of the command name."""
    place = ("rollback", str(walk.checkpoint))
    walk.change(name, Change(place, (*words, *walk.sink, *walk.trim), ACCEPTED), lambda: walk.world.cut(batch_id))


def fence(walk: Walk) -> None:
    """Of a query that may run."""
    words = ("--wait-for-batch", "60")
    walk.change("fence", Change(("fence", str(walk.checkpoint)), words, stopped=(), fenced=()), lambda: None)


def crash(walk: Walk) -> None:
    """The driver dies after its sink has the newest batch and before the commit log has it."""
    batch_id = walk.committed()
    if batch_id != newest(walk.checkpoint, "offsets") or batch_id - 1 not in batches_of(walk.checkpoint, "commits"):
        return
    if not walk.world.batches[batch_id]:  # perhaps that of a repartition, which Spark does not run again
        return
    if any(reset.batch_id == batch_id for reset in walk.world.resets):  # its entry is not the one that it ran with
        return
    for name in (f".{batch_id}.crc", str(batch_id)):
        (walk.checkpoint / "commits" / name).unlink(missing_ok=True)
    walk.undoable.clear()
    walk.world.in_flight = batch_id
    walk.note(f"batch {batch_id} is in flight")


def reset_offsets(walk: Walk) -> None:
    """A source of Kafka goes to offsets, a time, an end, or a number of records further."""
    reader = walk.random.choice([each for each in walk.world.readers if each.origin in walk.topics])
    way, there = walk.next_way("reset-offsets"), walk.written(reader.origin)
    world = walk.world.copy()
    world.cut(world.committed())
    number = walk.random.randint(0, there)
    aims: dict[str, tuple[tuple[str, ...], int | None]] = {
        "earliest": (("--to-earliest",), 0),
        "latest": (("--to-latest",), there),
        "current": (("--to-current",), None),
        "time": (("--to-datetime", _time_of(number)), number),
        "offsets": (("--to-offsets", str(3 * number)), number),
    }
    if way not in (KILLED, TWICE, BESIDE):  # a shift is from where the query is
        aims["shift"] = (("--shift-by", str(3 * (number - world.position(reader)))), number)
    aim = walk.random.choice([*aims])
    words, number_then = aims[aim]
    state = ("--state-will-see-rows-again",) if OPERATORS[walk.shape] else ()
    consent = ACCEPTED if newest(walk.checkpoint, "offsets") != walk.committed() else SKIPPED
    change = Change(
        ("reset-offsets", str(walk.checkpoint)),
        ("--source", walk.declared(reader), *words, *walk.sink, *state),
        consent,
    )

    def then() -> None:
        walk.world.reset(reader, walk.written(reader.origin) if aim == "latest" else number_then)

    walk.change("reset-offsets", change, then, way=way)


def _time_of(number: int) -> str:
    return datetime.fromtimestamp(BEGAN_S + MINUTE_S * number - 10, UTC).isoformat()


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
        walk.earlier = (walk.world.committed(), walk.world.readers)
        walk.world.readers = tuple(new)
        walk.write(1)

    walk.change("sources", Change(("sources", str(walk.checkpoint)), (*words, *walk.sink), ACCEPTED), then)


def _numbered(walk: Walk, readers: list[Reader]) -> list[Reader]:
    return readers if walk.named else [replace(reader, source_id=str(place)) for place, reader in enumerate(readers)]


def salvage(walk: Walk) -> None:
    """A file of the newest batches is cut, emptied or lost; then the checkpoint is salvaged."""
    kept = walk.home / f"kept{len(walk.log)}"
    shutil.copytree(walk.checkpoint, kept)
    last, torn = walk.committed(), _tear(walk)
    walk.note(f"torn: {torn}")
    if walk.random.random() < 0.4:
        walk.probe()

    def then() -> None:
        walk.world.cut(newest(walk.checkpoint, "offsets"))
        if walk.committed() < walk.world.committed():  # the commit alone was given up
            walk.world.in_flight = walk.world.committed()
        if walk.earlier and newest(walk.checkpoint, "offsets") < walk.earlier[0]:
            walk.world.readers, walk.earlier = walk.earlier[1], None
        if walk.committed() < last - 3:  # the newest file of a source may be older by batches without data
            raise WrongError(f"batch {last} is torn alone, and what was salvaged ends with {walk.committed()}")

    def heal() -> None:
        shutil.rmtree(walk.checkpoint)
        shutil.copytree(kept, walk.checkpoint)
        walk.undoable.clear()

    change = Change(("salvage", str(walk.checkpoint)), (*walk.sink, *walk.trim), ACCEPTED)
    walk.change("salvage", change, then, heal=heal)


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
    assert walk.output is not None
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

    change = Change(("repair", str(walk.checkpoint)), tuple(walk.sink), ACCEPTED)
    if walk.change("repair", change, lambda: None, heal=heal) and read_output(walk.output) != rows:
        raise WrongError(f"the repair of entry {entry.name} gives readers other rows than before")


def repartition(walk: Walk) -> None:
    """The state in another number of partitions, by Spark itself."""
    words = ("--partitions", str(walk.random.randint(1, 4)), *walk.sink)
    newest_batch = walk.committed() + 1

    def then() -> None:
        if walk.committed() == newest_batch:
            walk.world.batches[newest_batch] = ()

    walk.change("repartition", Change(("repartition", str(walk.checkpoint)), words, ACCEPTED), then)


def backup(walk: Walk) -> None:
    """The query is backed up, perhaps while it runs, and mostly goes on elsewhere from the backup."""
    root = walk.home / "backups"
    place = ("backup", str(walk.checkpoint), "--to", str(root), "--commit-wait", "1s")
    answer, told = walk.carry_out("backup", walk.next_way("backup"), Change(place, (), (), (), (), ()))
    if told is not None:
        walk.absorb(told)
        for change in walk.undoable:
            change.spark_ran = True
    if answer.code == DONE and walk.random.random() < 0.8:
        _restore(walk, root, answer.document["backup_id"], answer.document["batch_id"])


def _restore(walk: Walk, root: Path, backup_id: str, batch_id: int) -> None:
    target = walk.home / f"restored{len(walk.log)}"
    place = ("restore", str(root), "--to", str(target))
    change = Change(place, (backup_id, *walk.sink), ACCEPTED, stopped=(), again=())
    answer, _ = walk.carry_out("restore", walk.next_way("restore"), change)
    if answer.code == DONE:
        walk.world.location = target
        walk.world.cut(batch_id)
        walk.undoable.clear()


def undo(walk: Walk) -> None:
    """Of the newest change."""
    walk.undo()


CHANGES: dict[Callable[[Walk], None], int] = {
    rollback: 7,
    undo: 8,
    sources: 5,
    before_deploy: 4,
    reset_offsets: 5,
    fence: 4,
    salvage: 4,
    repair: 5,
    crash: 3,
    backup: 5,
    repartition: 5,
}


def applicable(walk: Walk) -> list[Callable[[Walk], None]]:
    """The changes that the query of a walk allows now."""
    no = set()
    if not walk.undoable:
        no.add(undo)
    if not any(reader.origin in walk.topics for reader in walk.world.readers):
        no.add(reset_offsets)
    if walk.output is None:
        no.add(repair)
    if not walk.store.startswith("rocksdb"):
        no.add(repartition)
    return [change for change in CHANGES if change not in no]


def go(walk: Walk, changes: int) -> None:
    """So many changes, with the query started before, between and after them."""
    for files in (2, 3):
        walk.write(files)
        walk.run()
    for _ in range(changes):
        can = applicable(walk)
        (change,) = walk.random.choices(can, [CHANGES[each] for each in can])
        change(walk)
        if walk.random.random() < 0.2:
            walk.undo()
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
