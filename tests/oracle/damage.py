"""Damage of a checkpoint, in the words of ``mutations.py``, by the part that it is done to and the kind of state."""

from __future__ import annotations

from .case import AGGREGATION, CODEC, POLICY, PROVIDER

#: Damage of the two logs and the metadata that needs no particular query.
LOGS: tuple[str | tuple[str, ...], ...] = (
    (),
    "drop commits/{N}",
    ("drop commits/{N}", "drop offsets/{N}"),
    "drop offsets/{N}",
    "drop offsets/{N-1}",
    ("drop offsets/{N-1}", "drop commits/{N}"),
    "drop offsets/{N-2}",
    "drop commits/{N-1}",
    ("drop commits/{N}", "drop commits/{N-1}"),
    "drop commits/*",
    "drop commits",
    "drop offsets/*",
    ("drop offsets/*", "drop commits/*"),
    "empty offsets/{N}",
    ("empty offsets/{N}", "drop commits/{N}"),
    "empty offsets/{N-1}",
    "empty offsets/{N-2}",
    "empty commits/{N}",
    "empty commits/{N-1}",
    "truncate offsets/{N}",
    "truncate offsets/{N-1}",
    "truncate commits/{N}",
    "text offsets/{N} v1",
    "text commits/{N} v1",
    "text commits/{N} v1 {}",
    "text commits/{N} v1 hello",
    "text commits/{N} hello",
    "version offsets/{N} v9",
    "version offsets/{N-1} v9",
    "version offsets/{N-2} v9",
    "version offsets/{N} vX",
    "version offsets/{N} v0",
    "version commits/{N} v9",
    "version commits/{N-1} v9",
    "drop metadata",
    "empty metadata",
    "text metadata hello",
    'text metadata \'{"id":"hello"}\'',
    "text metadata {}",
    "stale metadata",
    "stale offsets/{N}",
    "stale commits/{N}",
    ("bare-drop commits/{N}", "bare-drop offsets/{N}"),
    "bare-drop commits/{N}",
    "copy commits/{N} commits/{N+1}",
    ("copy commits/{N} commits/{N+1}", "copy commits/{N} commits/{N+2}"),
    "copy offsets/{N} offsets/{N+1}",
    "copy offsets/{N} offsets/{N+2}",
    "folder offsets/{N+1}",
    "folder offsets/{N+2}",
    "folder commits/{N+1}",
    "copy offsets/{N} offsets/007",
    "copy offsets/{N} offsets/+9",
    "copy offsets/{N} offsets/-1",
    "copy offsets/{N} offsets/1_0",
    "copy offsets/{N} offsets/{N}.tmp",
    "copy commits/{N} commits/007",
    "line offsets/{N} 1 ''",
    ("line offsets/{N} 1 ''", "drop commits/{N}"),
    "line offsets/{N} 1 {}",
    "line offsets/{N} 1 hello",
    "line offsets/{N} 1 absent",
    "conf offsets/{N} spark.sql.shuffle.partitions null",
    "conf offsets/{N} spark.sql.shuffle.partitions 2",
    "conf offsets/{N} spark.sql.shuffle.partitions absent",
    "conf offsets/{N} spark.sql.old.thing '\"x\"'",
    f"conf offsets/{{N}} {PROVIDER} '\"org.example.NoSuchProvider\"'",
    f"conf offsets/{{N}} {PROVIDER} absent",
    f"conf offsets/{{N}} {CODEC} '\"nocodec\"'",
    f"conf offsets/{{N}} {POLICY} '\"max\"'",
    "confs offsets/{N} none",
    ("confs offsets/{N} none", "drop commits/{N}"),
)

#: Damage of what a file source keeps.
FILE_SOURCE: tuple[str | tuple[str, ...], ...] = (
    ("drop commits/{N}", "drop offsets/{N}", "drop sources/0/{N}"),
    "drop sources/0/{N}",
    "drop sources/0/{N-2}",
    ("drop sources/0/{N}", "drop commits/{N}"),
    "drop sources",
    "empty sources/0/{N}",
    "version sources/0/{N} v9",
    "truncate sources/0/{N}",
    "line offsets/{N} 2 -",
    ("line offsets/{N} 2 -", "drop commits/{N}"),
    "line offsets/{N} 2 '{\"logOffset\":9}'",
    "line offsets/{N} 2 '{\"logOffset\":0}'",
    "line offsets/{N} 2 '{\"logOffset\":-1}'",
    "line offsets/{N} 2 hello",
    "line offsets/{N} 2 absent",
    "line offsets/{N} 3 '{\"logOffset\":1}'",
    "line offsets/{N-1} 3 '{\"logOffset\":1}'",
    ("drop ../output/_spark_metadata/{N}",),
    ("drop ../output/_spark_metadata",),
    ("drop ../output/_spark_metadata/{N}", "drop commits/{N}"),
)

#: Damage of state, by the files that a store of each kind has.
STATE_DIRECTORY = (
    "drop state",
    "drop state/0/1",
    "drop state/0/_metadata",
    "drop state/0/0/_metadata",
    ("drop offsets/*", "drop commits/*", "drop sources"),
    ("drop offsets", "drop commits"),
    "conf offsets/{N} spark.sql.shuffle.partitions '\"4\"'",
    ("conf offsets/{N} spark.sql.shuffle.partitions '\"4\"'", "drop commits/{N}"),
    f"conf offsets/{{N}} {AGGREGATION} '\"1\"'",
    f"conf offsets/{{N}} {AGGREGATION} absent",
    "watermark offsets/{N} 1",
    "watermark commits/{N} 1",
    ("watermark offsets/{N} 1", "drop commits/{N}"),
)
HDFS_STATE = ("drop state/0/0/{V}.delta", "empty state/0/0/{V}.delta", "flip state/0/0/{V}.delta",
              "rot state/0/0/{V}.delta", "empty state/0/0/*.snapshot", "rot state/0/0/*.snapshot",
              ("empty state/0/0/*.snapshot", "drop state/0/0/1.delta"),
              "drop state/0/0/*.snapshot", "drop state/0/0/{V-1}.delta", "drop state/0/0/1.delta",
              ("drop state/0/0/*.snapshot", "drop state/0/0/1.delta"),
              ("drop state/0/0/{V}.delta", "drop commits/{N}"))  # fmt: skip
ROCKSDB_STATE = ("drop state/0/0/{V}.zip", "empty state/0/0/{V}.zip", "flip state/0/0/{V}.zip",
                 "drop state/0/0/{V-1}.zip", "drop state/0/0/SSTs", "rot state/0/0/{V}.zip",
                 "empty state/0/0/SSTs/*.sst", ("drop state/0/0/{V}.zip", "drop commits/{N}"))  # fmt: skip
CHANGELOG_STATE = ("drop state/0/0/{V}.changelog", "empty state/0/0/{V}.changelog", "flip state/0/0/{V}.changelog",
                   "drop state/0/0/*.zip", "drop state/0/0/1.changelog", "drop state/0/0/SSTs",
                   "rot state/0/0/{V}.changelog", "empty state/0/0/*.zip", "rot state/0/0/*.zip",
                   ("drop state/0/0/SSTs", "drop state/0/0/1.changelog"),
                   ("drop state/0/0/*.zip", "drop state/0/0/1.changelog"))  # fmt: skip
#: The batch before the one in flight is not committed: the state that it has left is what counts.
TRAILING = ("drop commits/{N}", "drop commits/{N-1}")
TRAILING_STATE = {
    "agg-update": ((), "drop state/0/0/{V}.delta", "drop state/0/0/{V-1}.delta", "drop state/0/0/{V-2}.delta",
                   "empty state/0/0/{V-1}.delta", "rot state/0/0/{V-1}.delta", "drop state/0/1",
                   "drop commits/*", ("drop commits/*", "drop state/0/0/{V-1}.delta")),
    "agg-rocksdb": ((), "drop state/0/0/{V}.zip", "drop state/0/0/{V-1}.zip", "drop state/0/0/{V-2}.zip",
                    "empty state/0/0/{V-1}.zip", ("drop commits/*", "drop state/0/0/{V-1}.zip")),
    "agg-changelog": ((), "drop state/0/0/{V-1}.changelog", "drop state/0/0/{V-2}.changelog",
                      "empty state/0/0/{V-1}.changelog"),
}  # fmt: skip
V2_STATE = ("drop state/0/0/{V}_*", "empty state/0/0/{V}_*", "text commits/{N} v1 {}", "version commits/{N} v1",
            "drop state/0/0/*.crc", "rot state/0/0/{V}_*[gp]", "drop state/0/0/{V-1}_*", ("drop commits/{N}", "drop commits/{N-1}"),
            "text commits/{N} v2 '{\"nextBatchWatermarkMs\":0}'")  # fmt: skip

#: A checksum file that Hadoop cannot read, cut in its header or another file, or can: cut behind it, another sum.
HADOOP_SUMS = ("empty {}", "keep {} 4", "text {} hello", "keep {} 8", "keep {} 11", "rot-end {}")
#: Those that Spark verifies when it loads state: of zips and tables, where it has no checksum file of its own.
VERIFIED_SUMS = {
    "agg-rocksdb": ("state/0/0/.{V}.zip.crc", "state/0/0/SSTs/.*.sst.crc"),
    "agg-changelog": ("state/0/0/.3.zip.crc", "state/0/0/SSTs/.*.sst.crc"),
    "agg-changelog-v2": ("state/0/0/SSTs/.*.sst.crc",),
}
#: Those that it does not, as it does not those of its logs.
LOG_SUMS = {"agg-hdfs": ("offsets/.{N}.crc", "commits/.{N}.crc", "state/0/0/_metadata/.schema.crc")}
#: Nor those of deltas, snapshots and changelogs: all are opened past the checksum, unless another file manager is set.
CHANGES_SUMS = {
    "agg-hdfs": ("state/0/0/.{V}.delta.crc", "state/0/0/.*.snapshot.crc"),
    "agg-changelog": ("state/0/0/.{V}.changelog.crc",),
}
#: Other contents than that of which there is the checksum.
OTHER_CONTENTS = {
    "agg-hdfs": ("bare-append state/0/0/{V}.delta 0a", "bare-foreign state/0/0/{V}.delta state/0/1/{V}.delta",
                 "bare-foreign state/0/0/{V}.delta state/0/0/{V-1}.delta",
                 ("rot-end state/0/0/.*.snapshot.crc", "drop state/0/0/1.delta"),
                 ("drop commits/{N}", "rot-end state/0/0/.{V}.delta.crc")),
    "agg-changelog": ("bare-append state/0/0/{V}.changelog 0a",
                      "bare-foreign state/0/0/{V}.changelog state/0/1/{V}.changelog"),
}  # fmt: skip
#: What the file manager reads that verifies checksums.
VERIFIED_BY_OTHER_MANAGER = (
    (), "rot-end .metadata.crc", "rot-end offsets/.{N}.crc", "rot-end offsets/.{N-1}.crc", "rot-end offsets/.0.crc",
    "rot-end commits/.{N}.crc", "rot-end commits/.{N-1}.crc", "rot-end sources/0/.5.crc", "rot-end sources/0/.0.crc",
    "rot-end state/0/_metadata/.metadata.crc", "rot-end state/0/0/_metadata/.schema.crc", "rot-end state/0/0/.{V}.delta.crc",
    "rot-end state/0/0/.{V-1}.delta.crc", "rot-end state/0/0/.1.delta.crc", "rot-end state/0/0/.*.snapshot.crc", "keep state/0/0/.{V}.delta.crc 8", "empty state/0/0/.{V}.delta.crc",
    ("drop commits/{N}", "rot-end state/0/0/.{V}.delta.crc"),
)  # fmt: skip

#: A checksum file of what Spark writes anew because it is gone: it stops at the one that is there.
LEFT_SUMS = {
    "agg-hdfs": ("state/0/0/_metadata/schema", "state/0/_metadata/metadata"),
    "agg-changelog": ("state/0/0/_metadata/schema", "state/0/_metadata/metadata"),
    "agg-changelog-v2": ("state/0/0/_metadata/schema", "state/0/_metadata/metadata"),
    "dedupe": ("state/0/0/_metadata/schema", "state/0/_metadata/metadata"),
    "join": ("state/0/0/left-keyToNumValues/_metadata/schema", "state/0/0/right-keyWithIndexToValue/_metadata/schema",
             "state/0/_metadata/metadata"),
    "join-v3": ("state/0/_stateSchema/default/*", "state/0/_metadata/v2/0"),
    "join-v4": ("state/0/_stateSchema/default/*", "state/0/_metadata/v2/0"),
    "processor": ("state/0/_stateSchema/default/*", "state/0/_metadata/v2/0"),
    "count-count": ("state/1/0/_metadata/schema", "state/1/_metadata/metadata"),
    "file": ("metadata",),
}  # fmt: skip
#: The same for state that the next batch writes, over whatever is there.
LEFT_SUMS_OF_STATE = {
    "agg-hdfs": (("drop commits/{N}", "bare-drop state/0/0/{V}.delta"), "junk state/0/0 .{V+1}.delta.crc 637263"),
    "agg-changelog": (("drop commits/{N}", "bare-drop state/0/0/{V}.changelog"),
                      "junk state/0/0 .{V+1}.changelog.crc 637263"),
    "agg-rocksdb": (("drop commits/{N}", "bare-drop state/0/0/{V}.zip"), "junk state/0/0 .{V+1}.zip.crc 637263"),
}  # fmt: skip

#: Spark's own, which it reads before the state is used, and those of Hadoop beside these, which it does not.
SPARK_SUMS = ("empty {}", "truncate {}", "text {} hello")
SUMS_OF_SPARK = {
    "agg-v2": ("state/0/0/{V}_*.zip.crc",),
    "agg-changelog-v2": ("state/0/0/{V}_*.changelog.crc", "state/0/0/3_*.changelog.crc", "state/0/0/3_*.zip.crc"),
}
SUMS_BESIDE_SPARKS = {
    "agg-v2": ("state/0/0/.{V}_*.zip.crc", "state/0/0/.{V}_*.zip.crc.crc"),
    "agg-changelog-v2": ("state/0/0/.{V}_*.changelog.crc", "state/0/0/.3_*.zip.crc"),
}
#: Format 2 where the newest version has a snapshot and a changelog: Spark makes up for the one by the other.
ENDS_IN_SNAPSHOT = (*(f"drop {log}/[3-7]*" for log in ("offsets", "commits", "sources/0")), "drop state/0/*/[4-8]_*")
SNAPSHOT_AT_END = ((), "empty state/0/0/3_*.zip", "truncate state/0/0/3_*.zip", "rot state/0/0/3_*.zip",
                   "drop state/0/0/3_*.zip", "empty state/0/0/3_*.zip.crc", "truncate state/0/0/3_*.zip.crc",
                   "drop state/0/0/3_*.zip.crc", "empty state/0/0/3_*.changelog", "empty state/0/0/3_*.changelog.crc",
                   "drop state/0/0/SSTs", "empty state/0/0/SSTs/*.sst", "rot-end state/0/0/SSTs/.*.sst.crc",
                   ("empty state/0/0/3_*.zip", "empty state/0/0/3_*.changelog"),
                   ("empty state/0/0/3_*.zip", "drop state/0/0/3_*.changelog"),
                   ("empty state/0/0/3_*.zip.crc", "drop state/0/0/1_*"))  # fmt: skip


#: One partition: an aggregation without keys, a limit.
ONE_PARTITION = ("totals", "totals-changelog", "totals-v2", "limit")
#: Schema files, by base.
SCHEMAS = {
    **dict.fromkeys(
        ("agg-hdfs", "totals", "limit", "dedupe", "sessions", "in-pandas", "agg-changelog-v2"),
        "state/0/0/_metadata/schema",
    ),
    "join": "state/0/0/left-keyToNumValues/_metadata/schema",
    **dict.fromkeys(("join-v3", "join-v4", "processor"), "state/0/_stateSchema/default/*"),
}
OPERATOR_METADATA = {
    **dict.fromkeys(("agg-hdfs", "limit", "join", "agg-changelog-v2"), "state/0/_metadata/metadata"),
    **dict.fromkeys(("join-v3", "join-v4", "processor"), "state/0/_metadata/v2/0"),
}
CUT_STATE = {
    "agg-hdfs": ("{V}.delta", "{V-1}.delta", "*.snapshot"),
    "totals": ("{V}.delta",),
    "agg-rocksdb": ("{V}.zip",),
    "agg-changelog": ("{V}.changelog", "*.zip"),
    "totals-changelog": ("{V}.changelog",),
    "agg-changelog-v2": ("{V}_*.changelog", "{V-1}_*.changelog", "*.zip"),
    "agg-v2": ("{V}_*.zip",),
    "processor": ("{V}.changelog",),
    "join-v4": ("{V}.changelog",),
}
#: Left by the batch in flight.
LEFT = {
    "agg-hdfs": ("{V}.delta", "{V}.snapshot"),
    "agg-changelog": ("{V}.changelog", "{V}.zip"),
    "agg-rocksdb": ("{V}.zip",),
}
