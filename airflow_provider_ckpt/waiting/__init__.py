"""Waiting for a stream: what can be waited for, when it cannot come any more, how long it takes, windows of time."""

from airflow_provider_ckpt.waiting.combined import AllOf, AnyOf, all_of, any_of, condition_from_dict, is_relative
from airflow_provider_ckpt.waiting.conditions import (
    BatchCommitted,
    Condition,
    Idle,
    Needs,
    NextBatch,
    SourceEnds,
    Stalled,
    WatermarkPassed,
)
from airflow_provider_ckpt.waiting.positions import (
    FilesRead,
    FilesWritten,
    LagAtMost,
    OffsetsReached,
    SnapshotReached,
    SourceEndReached,
)
from airflow_provider_ckpt.waiting.wait_start import Start, start_from_dict, take_start, why_lost

__all__ = [
    "AllOf",
    "AnyOf",
    "BatchCommitted",
    "Condition",
    "FilesRead",
    "FilesWritten",
    "Idle",
    "LagAtMost",
    "Needs",
    "NextBatch",
    "OffsetsReached",
    "SnapshotReached",
    "SourceEndReached",
    "SourceEnds",
    "Stalled",
    "Start",
    "WatermarkPassed",
    "all_of",
    "any_of",
    "condition_from_dict",
    "is_relative",
    "start_from_dict",
    "take_start",
    "why_lost",
]
