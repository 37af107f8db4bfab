"""What real Spark printed, by its version; ``record_traces.py`` writes it."""

from __future__ import annotations

from pathlib import Path

TRACES = Path(__file__).parent
#: Cases of the oracle that are recorded, by the name of their files.
TRACED = {
    "sources-changed": "file | deploy copy-two",
    "source-evolution-switched-on": "two | deploy copy-named | streaming.queryEvolution.enableSourceEvolution=true",
    "predecessor-missing": "file | drop offsets/{N-1}",
    "predecessor-missing-uncommitted": "file | drop offsets/{N-1} | drop commits/{N}",
    "async-progress-switched-off": "async | deploy copy-noop",
    "source-log-short": "file | drop sources/0/{N}",
    "source-log-hole": "file | drop sources/0/{N-2}",
    "incomplete-offset-entry": "file | empty offsets/{N}",
    "truncated-offset-entry": "file | truncate offsets/{N}",
    "commit-ahead": "file | drop offsets/{N}",
    "checksum-left": "file | bare-drop commits/{N} | bare-drop offsets/{N}",
    "directory-in-the-way": "file | folder offsets/{N+1}",
    "state-delta-missing": "agg-hdfs | drop state/0/0/{V}.delta",
    "state-missing": "agg-hdfs | drop state",
    "value-schema": "agg-hdfs | conf offsets/{N} spark.sql.streaming.aggregation.stateFormatVersion '\"1\"'",
    "key-schema": "agg-hdfs | deploy count-by-value",
    "operators-changed": "agg-hdfs | deploy dedupe",
    "metadata-missing": "file | drop metadata",
    "later-log-version": "file | version offsets/{N} v9",
    "malformed-log": "file | version offsets/{N} vX",
    "query-id": 'file | text metadata \'{"id":"hello"}\'',
    "other-source-type": "file | deploy copy-rate",
    "sink-log-hole": "repartitioned-v2 | conf offsets/{N} spark.sql.shuffle.partitions absent",
    "unfinished-repartition": "agg-hdfs | conf offsets/{N} spark.sql.shuffle.partitions '\"4\"' | drop commits/{N}",
    "commit-without-state-ids": "agg-changelog-v2 | version commits/{N} v1",
}
#: Checkpoints that an earlier Spark has written, for the same cases there.
EARLIER = {"file": "file-by-3.5", "agg-hdfs": "by-3.5"}
#: What Spark 3.5 does not know, or what the checkpoint of it does not have.
LATER = {
    "source-evolution-switched-on",
    "async-progress-switched-off",
    "state-delta-missing",
    "sink-log-hole",
    "unfinished-repartition",
    "commit-without-state-ids",
}
