"""Cases about the form of files: what editors, copies and other programs do to them, and what they leave beside them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from .case import CODEC, PROVIDER, Case
from .tools import TOOLS

#: What ends up at the end of a text file.
ENDS = ("0a", "0a0a", "0a0a0a", "0d0a", "0d0a0d0a", "20", "0a20", "200a", "0a200a", "09", "00", "0a00", "1a", "0d")
#: The small text files of a checkpoint, by base.
TEXTS = {
    "file": ("offsets/{N}", "offsets/{N-1}", "commits/{N}", "metadata", "sources/0/{N}", "../output/_spark_metadata/{N}"),
    "file-12": ("sources/0/9.compact",),
    "agg-hdfs": ("state/0/_metadata/metadata",),
    "agg-v2": ("commits/{N}",),
    "join-v4": ("state/0/_metadata/v2/0",),
    "commit-v3": ("commits/{N}",),
    "two": ("offsets/{N}", "offsets/{N-1}"),
    "offset-v2": ("offsets/{N}", "offsets/{N-1}"),
    "named": ("offsets/{N}",),
    "rate": ("offsets/{N}",),
}  # fmt: skip
#: How many lines the offset entries of a base have.
LINES = {"file": 3, "two": 4, "offset-v2": 3, "named": 4, "rate": 3, "agg-hdfs": 3}
#: A text file that was written by another program.
RECODED = ("prefix {} efbbbf", "gzip {}", "recode {} utf-16", "recode {} utf-16-le", "zeros {}", "crlf {}")
#: How else a version may be spelt.
VERSIONS = ("'v1 '", "' v1'", "V1", "v01", "v+1", "v1.0", "1", "'v1\t'", "v１", "v-1", "v", "''")
#: JSON that other programs write.
OFFSETS = (
    '{"logOffset":4,"logOffset":4}', '{"logOffset":3,"logOffset":4}', '{"logOffset":"4"}', '{"logOffset":4.0}',
    '{"logOffset":4e0}', '{"logOffset":null}', '{"logOffset":true}', '{"logoffset":4}', '[4]', '"4"', '4', ' 4', '4 ',
    '{"logOffset":4} ', ' {"logOffset":4}', '{"logOffset": 4}', '{"logOffset":4},', '{"logOffset":4}x', '{"logOffset":+4}',
    '{"logOffset":04}', "{'logOffset':4}", '{"logOffset":4,}', '{"logOffset":NaN}', '{"logOffset":[4]}', 'null', '{}',
    '{"logOffset":9223372036854775808}', '{"logOffset":4,"x":{"y":[1]}}', '\t', ' ',
)  # fmt: skip
METADATA = (
    '{"batchWatermarkMs":"0","batchTimestampMs":0,"conf":{}}', '{"batchWatermarkMs":0,"batchWatermarkMs":0,"conf":{}}',
    '{"batchWatermarkMs":0,"conf":[]}', '{"batchWatermarkMs":0,"conf":null}', '{"batchWatermarkMs":null}',
    '{"batchWatermarkMs":0,"conf":"x"}', '[]', 'null', '0', '"x"', ' ', '{"batchWatermarkMs":1.5}',
)  # fmt: skip
COMMITS = (
    '{"nextBatchWatermarkMs":"0"}', '{"nextBatchWatermarkMs":0,"nextBatchWatermarkMs":0}', '{"nextBatchWatermarkMs":null}',
    '[]', 'null', '0', ' ', '{"nextBatchWatermarkMs":1.5}', '{"nextBatchWatermarkMs":0}x',
)  # fmt: skip
IDS = (
    '{"id":"0b7ac0b9-0000-0000-0000-000000000000","id":"0b7ac0b9-0000-0000-0000-000000000000"}', '{"id":5}', '[]', 'null',
    '{"id":null}', '{"ID":"0b7ac0b9-0000-0000-0000-000000000000"}', '{"id":"0B7AC0B9-0000-0000-0000-000000000000"}',
    '{"id":"1-1-1-1-1"}', '{"id":" 0b7ac0b9-0000-0000-0000-000000000000"}', '{"id":"0b7ac0b9-0000-0000-0000-000000000000"}x',
)  # fmt: skip

#: What programs make of the name of a file that has an ending: Finder, Windows, browsers, people.
STEMS = ("{} copy", "{} 2", "{} (1)", "{}(1)", "{} - Copy", "Copy of {}", "._{}", ".#{}", "{}_1", "{}_old", "{}_", "_{}", "x", "",
         ".", "0{}", "+{}", "-1", "{}a", "٨", "{}.old", ".{}")  # fmt: skip
#: The endings of the state files of each base.
ENDINGS = {
    "agg-hdfs": ("snapshot",),
    "agg-rocksdb": ("zip",),
    "agg-v2": ("zip",),
    "processor": ("zip",),
}
#: The same of a file whose name has an id.
STEMS_WITH_ID = ("._{V}_0b1f", "{V}_0b1f copy", "Copy of {V}_0b1f", "{V}_0b1f (1)", ".#{V}_0b1f", "x_y", "a_b_c", "{V}_0b1f_",
                 "0{V}_0b1f", "_", "__")  # fmt: skip
#: Directories that somebody has copied, and the names that the copies got.
TREES = {
    "file": ("offsets", "commits", "sources", "sources/0"),
    "agg-hdfs": ("state", "state/0", "state/0/0", "state/0/_metadata", "offsets"),
    "agg-changelog-v2": ("state", "state/0", "state/0/0", "state/0/0/SSTs"),
    "join-v4": ("state/0", "state/0/_stateSchema", "state/0/_metadata"),
}
#: A file of each directory whose copies are laid beside it.
COPIED = {
    "file": ("offsets/{N}", "commits/{N}", "metadata", "sources/0/{N}", "../output/_spark_metadata/{N}"),
    "agg-hdfs": ("state/0/0/{V}.delta", "state/0/0/_metadata/schema", "state/0/_metadata/metadata"),
    "agg-rocksdb": ("state/0/0/{V}.zip",),
    "agg-changelog": ("state/0/0/{V}.changelog",),
    "join-v4": ("state/0/_metadata/v2/0",),
}  # fmt: skip


def form_cases() -> Iterator[Case]:
    """Every case of this module."""
    yield from _classes()
    for base, names in TEXTS.items():
        for name in names:
            ends = ENDS if base in ("file", "offset-v2") and name.startswith(("offsets", "sources")) else ENDS[:4]
            yield from (_asked(base, (f"append {name} {end}",)) for end in ends)
    for base, name in (("file", "offsets/{N}"), ("offset-v2", "offsets/{N}"), ("two", "offsets/{N}")):
        for end in ENDS[:5]:
            yield _asked(base, (f"append {name} {end}", "drop commits/{N}"))
    for name, verb in itertools.product(TEXTS["file"], RECODED):
        yield _asked("file", (verb.format(name),))
    for name, version in itertools.product(("offsets/{N}", "commits/{N}", "sources/0/{N}"), VERSIONS):
        yield _asked("file", (f"version {name} {version}",))
    for at, texts in ((2, OFFSETS), (1, METADATA)):
        yield from (_asked("file", (f"line offsets/{{N}} {at} {_quoted(text)}",)) for text in texts)
    yield from (_asked("file", (f"line commits/{{N}} 1 {_quoted(text)}",)) for text in COMMITS)
    yield from (_asked("file", (f"text metadata {_quoted(text)}",)) for text in IDS)
    yield from _names_of_errors()
    yield from _lines_between()


def _asked(base: str, lines: Iterable[str], **more: str) -> Case:
    return Case(base, tuple(lines), newest_spark_only=True, **more)  # type: ignore[arg-type]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _classes() -> Iterator[Case]:
    providers = ("com.databricks.sql.streaming.state.RocksDBStateStoreProvider", "org.example.Store",
                 "org.apache.spark.sql.execution.streaming.state.MemoryStateStoreProvider", "RocksDBStateStoreProvider",
                 "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider ")  # fmt: skip
    for base, provider in itertools.product(("agg-hdfs", "agg-changelog-v2", "file"), providers):
        yield _asked(base, (f"conf offsets/{{N}} {PROVIDER} '\"{provider}\"'",))
        if base != "agg-changelog-v2":  # its sink skips the batch, and Spark does not get so far
            yield _asked(base, (f"conf offsets/{{N}} {PROVIDER} '\"{provider}\"'", "drop commits/{N}"))
    for name in ("com.databricks.Codec", "org.apache.spark.io.NoCodec", "org.apache.spark.io.LZ4CompressionCodec"):
        yield _asked("agg-hdfs", (f"conf offsets/{{N}} {CODEC} '\"{name}\"'",))
    for key in ("checkpointFileManagerClass", "commitProtocolClass"):
        for base in ("file", "agg-hdfs"):
            yield Case(base, (), confs={f"spark.sql.streaming.{key}": "com.databricks.Other"}, newest_spark_only=True)


def _lines_between() -> Iterator[Case]:
    """Lines that are empty, or of blanks alone, before the last one of a file."""
    for base, lines in LINES.items():
        for name, at, text in itertools.product(("offsets/{N}", "offsets/{N-1}"), range(lines), ("", " ", "\t")):
            line = f"insert {name} {at} '{text}'"
            yield _asked(base, (line,))
            if not text:
                yield _asked(base, (line, "drop commits/{N}"))
    for at in (0, 1):
        for base, name in (("file", "commits/{N}"), ("agg-hdfs", "commits/{N}"), ("agg-v2", "commits/{N}"),
                           ("file", "sources/0/{N}"), ("file-12", "sources/0/9.compact"), ("file", "metadata"),
                           ("file", "../output/_spark_metadata/{N}")):  # fmt: skip
            yield from (_asked(base, (f"insert {name} {at} '{text}'",)) for text in ("", " "))
            if name.startswith("sources"):
                yield _asked(base, (f"insert {name} {at} ''", "drop commits/{N}"))
    twice = "insert offsets/{N} 2 ''"
    yield _asked("two", (twice, twice))
    yield _asked("two", (twice, "append offsets/{N} 0a0a"))
    yield _asked("two", (twice, "insert offsets/{N-1} 2 ''"))
    yield _asked("file", (twice, "insert offsets/{N-1} 2 ''", "drop commits/{N}"))
    yield _asked("file", (twice,), query="copy-file-and-rate")
    yield _asked("file", (twice,), query="copy-two")
    yield _asked("file", (twice, "drop commits/{N}"), query="copy-two")


def _names_of_errors() -> Iterator[Case]:
    for base in ("file", "agg-hdfs", "two", "offset-v2", "agg-v2"):
        for line in ("line offsets/{N-1} 1 ''", "line offsets/{N-1} 1 {}", "line offsets/{N-1} 1 null"):
            yield _asked(base, (line,))
            yield _asked(base, (line, "drop commits/{N}"))
    for base in ("agg-v2", "agg-changelog-v2", "agg-update-v2", "totals-v2", "agg-commit-v3"):
        ahead = "copy commits/{N} commits/{N+1}"
        for lines in ((ahead,), (ahead, "drop commits/{N}"), ("copy commits/{N-1} commits/{N+1}",),
                      ("drop offsets/{N}",), ("drop offsets/{N}", "drop offsets/{N-1}"), ("copy commits/{N} commits/{N+2}",)):  # fmt: skip
            yield _asked(base, lines)
            if base in ("agg-v2", "agg-changelog-v2"):
                yield _asked(base, lines, query="count-noop")


def junk_cases() -> Iterator[Case]:
    """Foreign files beside those of Spark."""
    for base in ("file", "agg-hdfs", "agg-changelog", "agg-changelog-v2", "join-v4", "processor"):
        yield _asked(base, ("litter ** junk",))
        yield _asked(base, ("junk ** '4913' 6a",))
    yield _asked("agg-hdfs", ("junk ** '.snapshot/1' 6a",))
    yield from (_asked(base, (f"litter {name} copies",)) for base, names in COPIED.items() for name in names)
    yield from _named_as_state()
    yield from _copied_trees()
    yield from _beside_operators()


def tool_cases() -> Iterator[Case]:
    """Checkpoints as tools leave them."""
    bases = ("file", "file-12", "named", "offset-v2", "agg-hdfs", "agg-rocksdb", "agg-changelog", "agg-v2",
             "agg-changelog-v2", "join", "join-v4", "processor")  # fmt: skip
    for base, tool in itertools.product(bases, TOOLS):
        yield _asked(base, (f"tool . {tool}",))
    yield from (_asked("agg-hdfs", (f"tool . {tool}", "drop commits/{N}")) for tool in TOOLS)
    for lines in (("copy sources/0/9.compact sources/0/9",), ("copy sources/0/8 sources/0/9",),
                  ("copy sources/0/10 sources/0/11",), ("copy ../output/_spark_metadata/9.compact ../output/_spark_metadata/9",)):  # fmt: skip
        yield _asked("file-12", lines)  # a copy over an older one, which removes nothing


def _named_as_state() -> Iterator[Case]:
    for base, endings in ENDINGS.items():
        for ending, stem in itertools.product(endings, STEMS):
            yield _asked(base, (f"junk state/0/0 '{stem.format('{V}')}.{ending}' 6a",))
    for base, stem in itertools.product(("agg-v2", "agg-changelog-v2"), STEMS_WITH_ID):
        yield _asked(base, (f"junk state/0/0 '{stem}.zip' 6a",))


def _copied_trees() -> Iterator[Case]:
    for base, names in TREES.items():
        for name, copy in itertools.product(names, ("{} copy", "{}.bak", "_{}", ".{}")):
            directory, _, last = name.rpartition("/")
            yield _asked(base, (f"copy-tree {name} '{directory or '.'}/{copy.format(last)}'",))


def _beside_operators() -> Iterator[Case]:
    for junk in (".DS_Store", "_temporary/0/x", "desktop.ini"):
        for query in ("dedupe", "copy", "count-deduplicated"):
            yield _asked("agg-hdfs", (f"junk state '{junk}' 6a",), query=query)
        yield _asked("file", (f"junk state '{junk}' 6a", f"junk sources '{junk}' 6a"), query="copy-noop")
        yield _asked("file", ("folder state", f"junk state '{junk}' 6a"))
        yield _asked("file", ("folder state", f"junk state '{junk}' 6a"), query="count")
        yield _asked("file", ("folder state/x", f"junk state/x '{junk}' 6a"))
