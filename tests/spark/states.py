"""The kinds of state that a test goes through: all of them in `make exhaustive`, three of five in `make test`."""

from __future__ import annotations

import pytest

from tests.spark_lab import STATE_CONFS

#: None, files of Hadoop's, and RocksDB with all that is new: changelogs, and state ids in the commit log.
SAMPLE = ("stateless", "hdfs", "rocksdb-v2")
KINDS = [pytest.param(kind, marks=() if kind in SAMPLE else pytest.mark.exhaustive) for kind in STATE_CONFS]
