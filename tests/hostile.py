"""Checkpoints and backup roots with one hostile thing each, and a child process that measures what a command costs."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import resource
import signal
import struct
import time
import traceback
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

#: What a command may cost, whatever it is given: memory, and seconds of CPU, which a busy machine does not lengthen.
MOST_BYTES, MOST_SECONDS = 200 << 20, 20
#: A child that needs so much more is killed, so that a fault does not take the machine with it.
_KILL_BYTES, _KILL_SECONDS = 1 << 30, 30
#: One that waits for something that never comes is killed after so many seconds by the clock.
_HANGS_S = 600


@dataclass(frozen=True)
class Cost:
    """What one command answered, and what that took: seconds of CPU of all its threads, and memory at most."""

    code: int | None
    seconds: float
    rss_bytes: int
    out: str
    err: str
    crash: str


def measure(arguments: list[str], answer: Connection) -> None:
    """Run a command in this process, which has imported it and done nothing else, and send its :class:`Cost`."""
    resource.setrlimit(resource.RLIMIT_AS, (_KILL_BYTES, _KILL_BYTES))
    signal.setitimer(signal.ITIMER_PROF, _KILL_SECONDS)
    signal.alarm(_HANGS_S)
    from airflow_provider_ckpt.cli import run

    out, err, crash, code = io.StringIO(), io.StringIO(), "", None
    started = time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(arguments)
        except BaseException:
            crash = traceback.format_exc()[-1500:]
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    answer.send(Cost(code, time.process_time() - started, rss, out.getvalue()[:200_000], err.getvalue()[:5000], crash))


# --- what can be wrong ---------------------------------------------------------------------------------------------


def text(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    """Rewrite a text file, without its checksum file; ``{N}`` is the newest batch."""

    def apply(home: Path) -> None:
        path = home / "checkpoint" / name.replace("{N}", str(newest(home)))
        _write(path, change(path.read_text()).encode())

    return apply


def newest(home: Path) -> int:
    return max(int(path.name) for path in (home / "checkpoint" / "offsets").iterdir() if path.name.isdecimal())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for sidecar in (path.with_name(f".{path.name}.crc"), path.with_name(f"{path.name}.crc")):
        sidecar.unlink(missing_ok=True)
    path.write_bytes(data)


def last_line(line: str, name: str = "offsets/{N}") -> Callable[[Path], None]:
    """Another offset of the last source."""
    return text(name, lambda old: "\n".join([*old.splitlines()[:-1], line]))


def meta(**fields: object) -> Callable[[Path], None]:
    """Other fields in the line with watermark and confs."""

    def change(old: str) -> str:
        version, line, *offsets = old.splitlines()
        return "\n".join([version, json.dumps({**json.loads(line), **fields}), *offsets])

    return text("offsets/{N}", change)


def conf(key: str, value: str) -> Callable[[Path], None]:
    """Another once-only conf."""

    def change(old: str) -> str:
        version, line, *offsets = old.splitlines()
        fields = json.loads(line)
        fields["conf"][key] = value
        return "\n".join([version, json.dumps(fields), *offsets])

    return text("offsets/{N}", change)


def sparse(name: str, size: int = 10 << 30) -> Callable[[Path], None]:
    """A file of zeros that takes no disk."""

    def apply(home: Path) -> None:
        path = home / name.replace("{N}", str(newest(home))).replace("{V}", str(newest(home) + 1))
        _write(path, b"")
        os.truncate(path, size)

    return apply


def starts(name: str, head: bytes, size: int = 10 << 30) -> Callable[[Path], None]:
    """A file that begins well and goes on with zeros."""

    def apply(home: Path) -> None:
        sparse(name, size)(home)
        path = home / name.replace("{N}", str(newest(home))).replace("{V}", str(newest(home) + 1))
        with path.open("r+b") as file:
            file.write(head)

    return apply


def file(name: str, data: bytes | Callable[[], bytes]) -> Callable[[Path], None]:
    """Another file."""

    def apply(home: Path) -> None:
        place = name.replace("{N}", str(newest(home))).replace("{V}", str(newest(home) + 1))
        _write(home / place, data() if callable(data) else data)

    return apply


def both(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    def apply(home: Path) -> None:
        for change in changes:
            change(home)

    return apply


def copy(name: str, to: str) -> Callable[[Path], None]:
    def apply(home: Path) -> None:
        source = home / "checkpoint" / name.replace("{N}", str(newest(home)))
        _write(home / "checkpoint" / to, source.read_bytes())

    return apply


def many(directory: str, count: int, name: Callable[[int], str] = str) -> Callable[[Path], None]:
    def apply(home: Path) -> None:
        place = home / directory
        place.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            with contextlib.suppress(FileExistsError):
                os.close(os.open(place / name(number), os.O_CREAT | os.O_EXCL))

    return apply


def dated(at_s: int) -> Callable[[Path], None]:
    """Every file written at another time."""

    def apply(home: Path) -> None:
        for path in home.rglob("*"):
            os.utime(path, (at_s, at_s))

    return apply


def zip_of(entry: bytes, *, name: str = "metadata", stated: int | None = None) -> bytes:
    """A zip with one entry; ``stated`` is the size that it claims to have."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, entry)
    out = bytearray(data.getvalue())
    if stated is not None:
        at = out.rindex(b"PK\x01\x02")
        struct.pack_into("<I", out, at + 24, stated)
        struct.pack_into("<I", out, 22, stated)
    return bytes(out)


def _zip_bomb() -> bytes:
    data = io.BytesIO()
    with (
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("metadata", "w", force_zip64=True) as entry,
    ):
        for _ in range(300):
            entry.write(bytes(1 << 20))
    return data.getvalue()


def lz4_bomb() -> bytes:
    """A block that claims 2 GiB of plain bytes, and whose bytes repeat one byte without end."""
    block = b"\x1f\0\1\0" + b"\xff" * (8 << 20) + b"\0"
    return struct.pack("<8sBiii", b"LZ4Block", 0x26, len(block), 0x7FFFFFFF, 0) + block


def snappy_bomb() -> bytes:
    chunk = b"\xff\xff\xff\xff\x0f" + b"\0a" + b"\xfe\1\0" * 3_000_000
    return b"\x82SNAPPY\0" + bytes(8) + struct.pack(">I", len(chunk)) + chunk


def zstd_bomb() -> bytes:
    """A frame of 1 GiB in 32 KiB, with a window of 1 MiB: each block repeats one byte 128 KiB times."""
    header, block = b"\x28\xb5\x2f\xfd\0\x50", 128 << 10
    repeated, last = (((block << 3) | 1 << 1 | end).to_bytes(3, "little") + b"\xff" for end in (0, 1))
    return header + repeated * ((1 << 30) // block - 1) + last


FILE, HDFS, ROCKS = "file-to-parquet-5", "agg-hdfs", "agg-rocksdb-changelog-v2"
LONG = 2**63 - 1
SHUFFLE = "spark.sql.shuffle.partitions"
DEEP = 10**6

#: What is hostile, the golden that it is done to, and how.
HOSTILE: Mapping[str, tuple[str, Callable[[Path], None]]] = {
    "nothing": (FILE, lambda home: None),
    "nothing, state": (ROCKS, lambda home: None),
    # numbers
    "log offset 3000000000": (FILE, last_line('{"logOffset":3000000000}')),
    "log offset 2^63-1": (FILE, last_line(json.dumps({"logOffset": LONG}))),
    "log offset of 10^30": (FILE, last_line('{"logOffset":1' + "0" * 30 + "}")),
    "log offset of 1,000,000 digits": (FILE, last_line('{"logOffset":' + "9" * 10**6 + "}")),
    "log offset 1e999999": (FILE, last_line('{"logOffset":1e999999}')),
    "log offset NaN": (FILE, last_line('{"logOffset":NaN}')),
    "log offset -2^63": (FILE, last_line(json.dumps({"logOffset": -(2**63)}))),
    "bare log offset of 5,000 digits": (FILE, last_line("9" * 5000)),
    "source log entry 2^63-1": (FILE, copy("sources/0/{N}", f"sources/0/{LONG}")),
    "source log entry 3000000000.compact": (FILE, copy("sources/0/{N}", "sources/0/3000000000.compact")),
    "source log entry -2^63": (FILE, copy("sources/0/{N}", f"sources/0/{-(2**63)}")),
    "partitions 2000000000": (HDFS, conf(SHUFFLE, "2000000000")),
    "partitions 2000000000, RocksDB": (ROCKS, conf(SHUFFLE, "2000000000")),
    "partitions of 10,000 digits": (HDFS, conf(SHUFFLE, "9" * 10_000)),
    "partitions x": (HDFS, conf(SHUFFLE, "x")),
    "partitions -1": (HDFS, conf(SHUFFLE, "-1")),
    "batch 3000000000": (FILE, both(copy("offsets/{N}", "offsets/3000000000"))),
    "batch 3000000000 committed": (FILE, both(copy("commits/{N}", "commits/3000000000"), copy("offsets/{N}", "offsets/3000000000"))),
    "batch 2^63-1 committed": (FILE, both(copy("commits/{N}", f"commits/{LONG}"), copy("offsets/{N}", f"offsets/{LONG}"))),
    "batch 2^63-1 committed, state": (HDFS, both(copy("commits/{N}", f"commits/{LONG}"), copy("offsets/{N}", f"offsets/{LONG}"))),
    "batch -2^63": (FILE, both(copy("commits/{N}", f"commits/{-(2**63)}"), copy("offsets/{N}", f"offsets/{-(2**63)}"))),
    "sink entry 3000000000": (FILE, file("output/_spark_metadata/3000000000", b"v1")),
    "sink entry 2^63-1": (FILE, file(f"output/_spark_metadata/{LONG}", b"v1")),
    "sink entry 3000000000.compact": (FILE, file("output/_spark_metadata/3000000000.compact", b"v1")),
    "state version 3000000000": (HDFS, file("checkpoint/state/0/0/3000000000.delta", b"x")),
    "state version of 200 digits": (HDFS, file(f"checkpoint/state/0/0/{'9' * 200}.snapshot", b"x")),
    "state partition 2^63-1": (HDFS, file(f"checkpoint/state/0/{LONG}/1.delta", b"x")),
    "state operator 2^63-1": (HDFS, file(f"checkpoint/state/{LONG}/0/1.delta", b"x")),
    "lineage to version 2^63-1": (ROCKS, both(copy("commits/{N}", f"commits/{LONG - 1}"), copy("offsets/{N}", f"offsets/{LONG - 1}"))),
    # times
    "batch in the year 292278994": (FILE, meta(batchTimestampMs=LONG, batchWatermarkMs=LONG)),
    "batch before all years": (FILE, meta(batchTimestampMs=-(2**63), batchWatermarkMs=-(2**63))),
    "batch in the year 10000": (FILE, meta(batchTimestampMs=253402300800000, batchWatermarkMs=253402300800000)),
    "files of 1970": (HDFS, dated(0)),
    "files of 1901": (HDFS, dated(-(2**31))),
    "files of 2446": (HDFS, dated(15_032_385_535)),
    # JSON
    "metadata line 1,000,000 deep": (FILE, text("offsets/{N}", lambda old: "v1\n" + '{"a":' * DEEP + "\n0")),
    "metadata line with 1,000,000 keys": (FILE, lambda home: meta(conf={f"k{i}": "v" for i in range(10**6)})(home)),
    "metadata line with 300,000 keys, each twice": (FILE, text("offsets/{N}", lambda old: 'v1\n{"conf":{' + ",".join(f'"k{i}":"v"' for i in [*range(300_000)] * 2) + "}}\n0")),
    "offset 1,000,000 deep": (FILE, lambda home: last_line("[" * DEEP)(home)),
    "offset with 1,000,000 partitions": (FILE, lambda home: last_line(json.dumps({"t": {str(i): i for i in range(10**6)}}))(home)),
    "offset of 20 MB": (FILE, lambda home: last_line('"' + "x" * (20 << 20) + '"')(home)),
    "10,000 sources": (FILE, text("offsets/{N}", lambda old: old + "\n{\"logOffset\":3000000000}" * 9_000)),
    "1,000,000 sources": (FILE, text("offsets/{N}", lambda old: old + "\n-" * 10**6)),
    "query id of 1 MB": (FILE, file("checkpoint/metadata", json.dumps({"id": "x" * 10**6}).encode())),
    "query id with escapes": (FILE, file("checkpoint/metadata", json.dumps({"id": "\x1b[31m\n::error::x"}).encode())),
    "operator with 2^31 partitions": (HDFS, text("state/0/_metadata/metadata", lambda old: old.replace('"numPartitions":', '"numPartitions":2147483647,"old":'))),
    "operator with 200,000 stores": (HDFS, file("checkpoint/state/0/_metadata/metadata", lambda: b"v1\n" + json.dumps({"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": [{"storeName": str(i), "numColsPrefixKey": 0, "numPartitions": 2} for i in range(200_000)]}).encode())),
    "commit with 1,000,000 state ids": (ROCKS, file("checkpoint/commits/{N}", lambda: b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":' + json.dumps([["x"]] * 10**6).encode() + b"}}")),
    # bytes
    **{f"10 GB {name}": (HDFS, sparse(f"checkpoint/{name}")) for name in ("offsets/{N}", "commits/{N}", "metadata", "state/0/_metadata/metadata", "state/0/0/_metadata/schema", "offsets/.{N}.crc")},
    "10 GB file that nobody knows": (HDFS, sparse("checkpoint/state/0/_metadata/schema")),
    "500 MB of zeros in a delta": (HDFS, sparse("checkpoint/state/0/0/{V}.delta", 500 << 20)),
    "10 GB state checksum file": (ROCKS, sparse("checkpoint/state/0/0/.1.zip.crc")),
    "10 GB source log entry": (FILE, sparse("checkpoint/sources/0/{N}")),
    "10 GB source log entry that begins well": (FILE, starts("checkpoint/sources/0/{N}", b"v1\n")),
    "10 GB offset entry that begins well": (FILE, starts("checkpoint/offsets/{N}", b"v1\n{}\n0\n")),
    "1 GB of lines in a commit": (FILE, starts("checkpoint/commits/{N}", b"v1\n{}\n", 1 << 30)),
    "10 GB of zeros in every zip": ("agg-rocksdb", lambda home: [os.truncate(path, 10 << 30) for path in (home / "checkpoint/state").rglob("*.zip")] and None),
    "10 GB of zeros in every changelog": (ROCKS, lambda home: [os.truncate(path, 10 << 30) for path in (home / "checkpoint/state").rglob("*.changelog")] and None),
    "zip bomb": ("agg-rocksdb", lambda home: _replace_all(home, "*.zip", _zip_bomb())),
    "zip that lies about its size": ("agg-rocksdb", lambda home: _replace_all(home, "*.zip", zip_of(b"v1\n{}", stated=0xFFFFFFF0))),
    "lz4 bomb": (ROCKS, lambda home: _replace_all(home, "*.changelog", lz4_bomb())),
    "snappy bomb": (ROCKS + "-snappy", lambda home: _replace_all(home, "*.changelog", snappy_bomb())),
    "zstd bomb": (ROCKS + "-zstd", lambda home: _replace_all(home, "*.changelog", zstd_bomb())),
    # names
    "100,000 batches": (FILE, many("checkpoint/offsets", 100_000)),
    "100,000 files of one store": (HDFS, many("checkpoint/state/0/0", 100_000, lambda i: f"{i + 100}.delta")),
    "3,000 operators": (HDFS, lambda home: [many(f"checkpoint/state/{i}/0", 1, lambda _: "8.delta")(home) for i in range(3_000)] and None),
    "names of 1,000 characters": (HDFS, many("checkpoint/" + "/".join(["x" * 240] * 4), 2)),
    # backups, records, and files that are given
    "manifest of 10 GB": (FILE, lambda home: _manifest(home, None)),
    "manifest of lists": (FILE, lambda home: _manifest(home, b'{"format_version":1,"objects":[' + b"[]," * (15 << 20))),
    "manifest with lists beside its objects": (FILE, lambda home: _manifest(home, b'{"facts":[' + b"[]," * (15 << 20))),
    "manifest with an object of lists": (FILE, lambda home: _manifest(home, b'{"objects":[{"name":[' + b"[]," * (15 << 20))),
    "manifest of 15,000,000 keys": (FILE, lambda home: _manifest(home, b"{" + b'"":0,' * (9 << 20))),
    "manifest 1,000,000 deep": (FILE, lambda home: _manifest(home, b'{"objects":' + b"[" * DEEP)),
    "manifest of 100,000 objects": (FILE, lambda home: _manifest(home, _objects(home, 100_000))),
    "record of lists": (FILE, lambda home: _record(home, b'{"actions":[{"name":[' + b"[]," * (15 << 20))),
    "record of keys": (FILE, lambda home: _record(home, b"{" + b'"":0,' * (9 << 20))),
    "record of 10 GB": (FILE, sparse("_ckpt_undo/checkpoint/0123456789abcdef/plan.json")),
    "record that is no JSON": (FILE, lambda home: _record(home, b"\xff" * (40 << 20))),
    "lock of 10 GB": (FILE, sparse("_ckpt_undo/checkpoint/lock.json")),
    "lock 1,000,000 deep": (FILE, file("_ckpt_undo/checkpoint/lock.json", b"[" * DEEP)),
    "lock since the year 292278994": (FILE, file("_ckpt_undo/checkpoint/lock.json", json.dumps({"token": "x", "by": "y", "plan_id": "z", "machine": "m", "pid": 1, "life": "", "since_ms": LONG}).encode())),
    "memory of a sink 1,000,000 deep": (FILE, file("_ckpt_undo/checkpoint/sink.json", b"[" * DEEP)),
    "baseline of 10 GB": (FILE, sparse("given.json")),
    "baseline of lists": (FILE, file("given.json", lambda: b"[" + b"[]," * (4 << 20))),
    "baseline 1,000,000 deep": (FILE, file("given.json", b"[" * DEEP)),
    "plan file of 10 GB": (FILE, sparse("given.json")),
    "plan file of lists": (FILE, file("given.json", lambda: b"[" + b"[]," * (7 << 20))),
    "plan file of keys": (FILE, file("given.json", lambda: b"{" + b'"":0,' * (4 << 20))),
    "plan file 1,000,000 deep": (FILE, file("given.json", b"[" * DEEP)),
    "names with escapes": (HDFS, many("checkpoint/state/0/0", 1, lambda _: "\x1b]0;x\x07\n::error::\u202ex")),
}  # fmt: skip


def _manifest(home: Path, data: bytes | None) -> None:
    """Another manifest of the newest backup; None is 10 GB of zeros."""
    path = max((home.parent / "backups").glob("*/manifest.json"))
    if data is None:
        os.truncate(path, 10 << 30)
    else:
        path.write_bytes(data)


def _objects(home: Path, count: int) -> bytes:
    """The manifest of the newest backup with so many objects more, none of which is there."""
    path = max((home.parent / "backups").glob("*/manifest.json"))
    fields = json.loads(path.read_bytes())
    one = fields["objects"][0]
    names = [f"state/0/{number}/{number}.changelog" for number in range(count)]
    more = [{**one, "name": name, "stored_at": f"{fields['backup_id']}/checkpoint/{name}"} for name in names]
    return json.dumps({**fields, "objects": [*fields["objects"], *more]}).encode()


def _record(home: Path, data: bytes) -> None:
    """A record of a change, whose directory has the digest of its plan."""
    directory = home / "_ckpt_undo/checkpoint" / hashlib.sha256(data).hexdigest()[:16]
    directory.mkdir(parents=True)
    (directory / "plan.json").write_bytes(data)


def _replace_all(home: Path, pattern: str, data: bytes) -> None:
    paths = list((home / "checkpoint" / "state").rglob(pattern))
    assert paths, f"the golden has no {pattern}"
    for path in paths:
        _write(path, data)
