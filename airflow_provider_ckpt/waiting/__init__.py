"""Waiting for a stream: what can be waited for, when it cannot come any more, how long it takes, windows of time."""

from airflow_provider_ckpt.waiting.combining import AllOf, AnyOf, all_of, any_of, means_now, says_now, target_from_dict
from airflow_provider_ckpt.waiting.positions import (
    CaughtUp,
    FilesRead,
    FilesWritten,
    FrozenEnd,
    OffsetsReached,
    SnapshotReached,
)
from airflow_provider_ckpt.waiting.start import Start, start_from_dict, take_start, why_lost
from airflow_provider_ckpt.waiting.targets import (
    BatchCommitted,
    Idle,
    Needs,
    NextBatch,
    SourceEnds,
    Stalled,
    Target,
    WatermarkPassed,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "BatchCommitted",
    "CaughtUp",
    "FilesRead",
    "FilesWritten",
    "FrozenEnd",
    "Idle",
    "Needs",
    "NextBatch",
    "OffsetsReached",
    "SnapshotReached",
    "SourceEnds",
    "Stalled",
    "Start",
    "Target",
    "WatermarkPassed",
    "all_of",
    "any_of",
    "means_now",
    "says_now",
    "start_from_dict",
    "take_start",
    "target_from_dict",
    "why_lost",
]
