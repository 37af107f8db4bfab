"""Every file of eight golden checkpoints, damaged in six ways, and random pairs and triples of damage and deploy change.

What real Spark 4.3 did with each case of the first kind is recorded in ``sweep-4.3.json``; cases of the second kind are
put to it anew under another seed each time (``make oracle``).

Left out of the sweep are files whose structure repeats:

* log entries before the third newest, but for the first and the last before a compacted one; in ``file`` the source and
  sink logs are swept whole, in the last five goldens only the newest offsets and commits;
* state files before the third newest of their kind, but for the first; in ``agg-hdfs`` partition 0 is swept whole; in
  other partitions those before the second newest; the stores of the join that are as its others; in ``processor`` all
  but state of partition 0;
* checksum files other than those of the newest file of each directory and kind, and those of logs but in ``file``.
"""

from __future__ import annotations

import json
import random
import re
import shlex
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

from .case import BASES, CHANGELOG, CODEC, HDFS, POLICY, PROVIDER, ROCKSDB, SHUFFLE, STATE_FORMAT, Case
from .prepared import GOLDEN

#: Stateless, stateless with compacted logs, keyed state in three forms, one-partition state, a join, transformWithState.
SWEPT = ("file", "file-12", "agg-hdfs", "agg-rocksdb", "agg-changelog-v2", "totals-changelog", "join", "processor")

#: What a crash leaves; the restart runs the newest batch again.
CRASHED = "drop commits/{N}"
#: Another query's id, which is what another checkpoint would have in its ``metadata``.
_OTHER_ID = 'text metadata \'{"id":"8f1b2a6e-0f0e-4c39-9a52-6d0a3c6e1f77"}\''
_NUMBER = re.compile(r"(\.?)(\d+)(.*)")


@cache
def files(base: str) -> tuple[str, ...]:
    """Names of all files of a golden, relative to its checkpoint; those of the file sink begin with ``../output``."""
    version, _, name = BASES[base][0].partition("/")
    with tarfile.open(GOLDEN / f"spark-{version}" / f"{name}.tar.gz") as archive:
        members = [member.name.removeprefix("./") for member in archive if member.isfile()]
    return tuple(sorted(_from_checkpoint(name) for name in members))


def _from_checkpoint(name: str) -> str:
    return name.removeprefix("checkpoint/") if name.startswith("checkpoint/") else f"../{name}"


def swept_files(base: str) -> tuple[str, ...]:
    """The files of a golden that are damaged one by one."""
    return tuple(name for name in files(base) if _is_swept(name, base))


def _is_swept(name: str, base: str) -> bool:
    directory, _, last = name.rpartition("/")
    names, number = files(base), _number_of(last)
    state, other_partition = name.startswith("state/"), bool(re.match(r"state/\d+/[1-9]", name))
    if (base == "processor" and (not state or other_partition)) or (base == "join" and re.search(_ALIKE, name)):
        return False
    if last.endswith(".crc"):
        looked_at = base == "file" or (state and base.startswith(("agg", "processor", "totals")))
        return looked_at and not other_partition and _is_newest_of_kind(name, names)
    if number is None:
        return True
    alike = sorted(_number_of(other.rpartition("/")[2]) or 0 for other in names if _kind(other) == _kind(name))
    if state:
        kept = (
            alike if base == "agg-hdfs" and not other_partition else (alike[0], *alike[-2 if other_partition else -3 :])
        )
        return number in kept
    if base not in ("file", "file-12", "agg-hdfs"):
        return directory in ("offsets", "commits") and number == alike[-1]
    if base == "file" and directory not in ("offsets", "commits"):
        return True
    compacted = max(
        (
            _number_of(other.rpartition("/")[2]) or 0
            for other in names
            if other.startswith(f"{directory}/") and other.endswith(".compact")
        ),
        default=0,
    )
    return last.endswith(".compact") or number in (alike[0], compacted - 1, *alike[-3:])


#: The stores of the right side of a join are as those of the left, and partition 1 is as partition 0.
_ALIKE = r"state/0/1/(?!left-keyToNumValues)|state/0/0/right-(?!keyToNumValues/5)"


def _number_of(base: str) -> int | None:
    match = _NUMBER.match(base)
    return int(match[2]) if match else None


def _kind(name: str) -> tuple[str, str]:
    """Where a file is and what it is beside its number."""
    directory, _, base = name.rpartition("/")
    match = _NUMBER.match(base)
    ending = "".join(PurePosixPath(base.removeprefix(".")).suffixes)
    return (directory, (match[1] + ending) if match else base)


def _is_newest_of_kind(name: str, names: tuple[str, ...]) -> bool:
    alike = [other for other in names if _kind(other) == _kind(name)]
    return name == max(alike, key=lambda other: _number_of(other.rpartition("/")[2]) or 0)


def _neighbour(name: str, names: tuple[str, ...]) -> str | None:
    """A file of another batch, or of another store, with the same part."""
    number = _number_of(name.rpartition("/")[2])
    alike = [other for other in names if _kind(other) == _kind(name) and other != name]
    if number is not None and not alike and name.endswith(".compact"):
        alike = [
            other for other in names if other.rpartition("/")[0] == name.rpartition("/")[0] and "." not in other[3:]
        ]
    if not alike:
        pattern = re.sub(r"\d+", "#", name)
        base = name.rpartition("/")[2]
        alike = [
            other
            for other in names
            if other != name
            and (
                re.sub(r"\d+", "#", other) == pattern
                or (base in ("schema", ".schema.crc") and other.endswith(f"/{base}"))
            )
        ]
    return min(
        alike, key=lambda other: (abs((_number_of(other.rpartition("/")[2]) or 0) - (number or 0)), other), default=None
    )


def is_crashed(case: Case) -> bool:
    """Whether the query of a case was killed before its newest commit, so that the restart runs that batch again."""
    newest = max(_number_of(name.rpartition("/")[2]) or 0 for name in files(case.base) if name.startswith("commits/"))
    return not {CRASHED, f"drop commits/{newest}"}.isdisjoint(case.mutations)


def damages(base: str, name: str) -> Iterator[str]:
    """The lines for ``mutations.mutate`` that damage one file: six, five where no other batch has such a file."""
    hidden = name.rpartition("/")[2].startswith(".")
    yield f"{'bare-drop' if hidden else 'drop'} {name}"
    for verb in ("empty", "truncate", "bit", "folder"):
        yield f"{verb} {name}"
    other = _neighbour(name, files(base))
    if name == "metadata":
        yield _OTHER_ID
    elif other is not None:
        yield f"foreign {name} {other}"


def next_places(base: str) -> Iterator[str]:
    """A directory where the next entry of each log goes."""
    yield from ("folder offsets/{N+1}", "folder commits/{N+1}")
    logs = {
        name.rpartition("/")[0] for name in files(base) if name.startswith(("sources/", "../output/_spark_metadata"))
    }
    for log in sorted(logs):
        numbers = [_number_of(name.rpartition("/")[2]) for name in files(base) if name.rpartition("/")[0] == log]
        yield f"folder {log}/{max(number for number in numbers if number is not None) + 1}"


_AGGREGATIONS = ("agg-hdfs", "agg-rocksdb", "agg-changelog-v2")
#: Texts for the line of the one source of an entry, or for the line with watermark and confs, or for a whole commit.
_OFFSETS = ("4", "5", "4.0", '{"logOffset":4.0}', '{"logOffset":4.7}', '{"logOffset":4} x', '{"logOffset":"4"}', "null",
            '{"logOffset":null}', '{"logOffset":4,"x":1}', "[4]", '"4"', "4x", "+4", "04", "NaN", "{}",
            '{"logOffset":4,"logOffset":3}', '{"logOffset":99999999999999999999}')  # fmt: skip
_METADATA = ("null", "NaN", "[]", '""', "5", "{} x", '{"batchWatermarkMs":NaN}', '{"batchWatermarkMs":"5"}',
             '{"batchWatermarkMs":1,"batchWatermarkMs":2}', '{"conf":{"a":"1","a":"2"}}', '{"conf":null}',
             '{"conf":[]}', '{"conf":{"a":{}}}', '{"conf":{"a":true}}', '{"batchTimestampMs":null}')  # fmt: skip
_COMMITS = ("v1 []", "v1 null", "v1 5", "v1 NaN", 'v1 \'{"nextBatchWatermarkMs":"5"}\'', 'v1 \'{"nextBatchWatermarkMs":1.5}\'',
            "v2", "v2 {}", 'v2 \'{"stateUniqueIds":null}\'', 'v2 \'{"stateUniqueIds":[]}\'', "v3", "v3 {}",
            'v3 \'{"nextBatchWatermarkMs":0,"sinkMetadataMap":{}}\'', "'v1 ' {}", "v01 {}", "v1 {} junk")  # fmt: skip


def edits() -> Iterator[Case]:
    """Damage that no rule of the sweep makes: what a hand, a script or another program leaves."""
    for place in ("{N}", "{N-1}"):
        yield from _edits_of_offsets(f"offsets/{place}")
        yield from _edits_of_source_log(f"sources/0/{place}")
    yield from _edits_of_small_files()
    for name in (*_NEXT, *(f"../output/_spark_metadata/{{N+{ahead}}}" for ahead in (1, 2))):
        yield from _twice("file", f"folder {name}")
        yield from _twice("agg-hdfs", f"folder {name}")
    for base in ("file", "agg-hdfs"):
        yield from _edits_of_confs(base)
    seven = f"conf offsets/{{N}} {SHUFFLE} '\"7\"'"
    gone = "drop offsets/{N}"
    for lines in ((), (seven,), (seven, gone), (gone,), (gone, "drop offsets/{N-1}")):
        yield from (Case(base, lines) for base in ("agg-update-v2", "agg-update"))
    for key in (CODEC, PROVIDER):
        yield from (Case(base, (f"conf offsets/{{N}} {key} '\"bogus\"'",)) for base in _AGGREGATIONS[1:])
    for base in _AGGREGATIONS:
        yield from _twice(base, "drop sources/0/5")
        yield from _twice(base, "bare-drop sources/0/5")
        yield from _twice(base, "drop sources/0/5", "drop sources/0/4")
    for number in (0, 1):
        yield from _twice("join", f"foreign sources/1/{1 - number} sources/1/{number}")
    yield from (Case("agg-rocksdb", (CRASHED, f"{verb} state/0/1/7.zip")) for verb in ("empty", "drop"))
    yield from _edits_of_next_state()


def _edits_of_next_state() -> Iterator[Case]:
    """What stands where the next batch writes its state: what a batch in flight has left, or a directory."""
    for base, kind in (("totals", "delta"), ("totals-changelog", "changelog")):
        yield from (Case(base, (CRASHED, f"{verb} state/0/0/{{V}}.{kind}")) for verb in ("empty", "truncate", "folder"))
    for base, kind in (("totals", "delta"), ("totals-changelog", "changelog"), ("agg-rocksdb", "zip")):
        yield from (Case(base, (f"folder state/0/0/{{V+{ahead}}}.{kind}",)) for ahead in (1, 2))


_NEXT = ("offsets/{N+1}", "offsets/{N+2}", "commits/{N+1}", "sources/0/{N+1}", "sources/0/{N+2}")


def _twice(base: str, *lines: str) -> Iterator[Case]:
    """Of a query that was stopped, and of one that was killed before its commit."""
    yield Case(base, lines)
    yield Case(base, (CRASHED, *lines))


def _edits_of_offsets(name: str) -> Iterator[Case]:
    for text in (*_OFFSETS, "hello", "-"):
        yield from _twice("file", f"line {name} 2 {shlex.quote(text)}")
    for text in (*_METADATA, "", "hello"):
        yield from _twice("file", f"line {name} 1 {shlex.quote(text)}")
    for line in (f"version {name} v2", f"prefix {name} efbbbf", f"prefix {name} fffe"):
        yield from _twice("file", line)
    yield from _twice("file", f"version {name} v9", f"prefix {name} efbbbf")


def _edits_of_source_log(name: str) -> Iterator[Case]:
    for text in ("v1 {}", "v1", "v1 {} {}", "v1 []", "v1 null", "v1 5", "v1 hello"):
        yield from _twice("file", f"text {name} {text}")


def _edits_of_small_files() -> Iterator[Case]:
    lines = [f"text commits/{{N}} {text}" for text in _COMMITS]
    for log in ("offsets", "commits"):
        lines += [f"copy {log}/{{N}} {log}/{2**63 - 1}", f"prefix {log}/{{N}} efbbbf", f"prefix {log}/{{N-1}} ff"]
    for text in ("null", "[]", '{"id":null}', '{"id":5}', '{"id":"8f1b2a6e-0f0e-4c39-9a52-6d0a3c6e1f77"} x', "NaN"):
        lines.append(f"text metadata {shlex.quote(text)}")
    lines += [f"prefix metadata {text}" for text in ("efbbbf", "fffe", "20")]
    yield from (Case("file", (line,)) for line in lines)


def _edits_of_confs(base: str) -> Iterator[Case]:
    for text in ("0", "-1", "", "7", "1", "x", "2.0", "1e3", " 2", "+2"):
        yield from _twice(base, f"conf offsets/{{N}} {SHUFFLE} {shlex.quote(json.dumps(text))}")
    for key in (POLICY, CODEC, PROVIDER):
        yield from _twice(base, f"conf offsets/{{N}} {key} '\"bogus\"'")
    yield from _twice(base, f"conf offsets/{{N}} {POLICY} '\"MAX\"'")
    yield Case(base, ("drop offsets/{N}",))
    yield Case(base, ("drop offsets/{N}", "drop offsets/{N-1}"))
    yield Case(base, (f"conf offsets/{{N-1}} {SHUFFLE} '\"7\"'", "drop offsets/{N}"))


def sweep() -> Iterator[Case]:
    """Every case of the systematic sweep; the undamaged golden first."""
    for base in SWEPT:
        yield Case(base)
        for name in swept_files(base):
            yield from (Case(base, (line,)) for line in damages(base, name))
        if base != "processor":
            yield from (Case(base, (line,)) for line in next_places(base))


SWEEP: Mapping[str, Case] = {case.name: case for case in (*sweep(), *edits())}

_CONFS: tuple[Mapping[str, str | None], ...] = (
    {SHUFFLE: "5"},
    {CODEC: "zstd"},
    {POLICY: "max"},
    {PROVIDER: ROCKSDB},
    {PROVIDER: HDFS},
    {STATE_FORMAT: "2"},
    {STATE_FORMAT: None},
    {CHANGELOG: "false"},
)


def random_cases(seed: int, count: int) -> Iterator[Case]:
    """Pairs and triples: damage of any files, at any byte, of a committed or a crashed query, and a deploy change."""
    chance = random.Random(seed)
    for number in range(count):
        base = SWEPT[number % len(SWEPT)]
        yield _random_case(chance, base)


def _random_case(chance: random.Random, base: str) -> Case:
    steps = chance.choice((2, 2, 3))
    lines: list[str] = []
    confs: Mapping[str, str | None] = {}
    if chance.random() < 0.35:
        lines.append(CRASHED)
        steps -= 1
    if chance.random() < 0.3:
        confs = chance.choice(_CONFS)
        steps -= 1
    while steps > 0:
        name = chance.choice(_likely(base, chance))
        line = chance.choice([*damages(base, name)])
        verb, *names = shlex.split(line)
        touched = {word for earlier in lines for word in shlex.split(earlier)}
        if touched & {name, *names} or (CRASHED in lines and name.startswith("commits/")):
            continue
        lines.append(f"bit {name} {chance.randrange(4096)} {chance.randrange(7)}" if verb == "bit" else line)
        steps -= 1
    return Case(base, tuple(lines), None, confs)


def _likely(base: str, chance: random.Random) -> tuple[str, ...]:
    """Files to choose from: half of the time those that a restart reads."""
    names = tuple(name for name in files(base) if not name.rpartition("/")[2].startswith("."))
    state = [name for name in names if name.startswith("state/")]
    logs = tuple(name for name in names if name not in state)
    return tuple(state) if state and chance.random() < 0.35 else logs
